"""Running the real command line, as a user does."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.report import Check, Part, Report, decode_report, encode_report
from tests.endtoend.warm import run_warm

ROOT = Path(__file__).resolve().parents[2]
GRADER = Path(sys.executable).with_name("grader")
TIME_LIMIT = 300


@dataclass(frozen=True)
class Result:
    """What a run of the command left: exit code, both streams, and the report."""

    code: int
    output: str
    messages: str
    report: Report | None

    def part(self, name: str) -> Part:
        assert self.report is not None, self.messages
        return next(part for part in self.report.parts if part.id == name)

    def check(self, part: str, name: str) -> Check:
        return next(check for check in self.part(part).checks if check.id == name)


def heed_interrupts() -> None:
    """Run in a new process before its program: whoever runs the tests may ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_grader(folder: Path, *arguments: str | Path, environment: dict[str, str] | None = None):
    """Run `grader run` with `--json` in `folder`, on built-in data if nothing else is said."""
    document = folder / "report.json"
    words = [str(word) for word in arguments]
    if "--json" not in words:
        words += ["--json", str(document)]
    if "--data" not in words:
        words += ["--data", "builtin"]
    variables = {"COLUMNS": "100", **(environment or {})}
    done = run_warm(["run", *words], folder, variables, TIME_LIMIT)
    report = decode_report(document.read_bytes()) if document.exists() else None
    return Result(done.returncode, done.stdout, done.stderr, report)


def make_notebook(*sources: str, **metadata: object) -> NotebookNode:
    """Make a notebook of code cells that says which assignment it is."""
    return nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source, id=f"c{number}")
            for number, source in enumerate(sources)
        ],
        metadata={"grader": {"assignment": "e2e-conv", "version": 1}, **metadata},
    )


def write_notebook(path: Path, *sources: str, **metadata: object) -> Path:
    """Write such a notebook to a file."""
    nbformat.write(make_notebook(*sources, **metadata), path)
    return path


def without_times(report: Report) -> dict[str, object]:
    """Return a report as plain JSON without what may differ from run to run: times."""
    document = json.loads(encode_report(report))
    document.pop("graded")
    document.pop("duration")
    document.pop("timing")
    for part in document["parts"]:
        for check in part["checks"]:
            if check["id"] == "speed":
                check.clear()
                part.pop("score")
    document.pop("score")
    return document
