"""Write `given.json` of assignments: forms of what each of them gives, which is never paid for.

    python tools/make_given.py SLUG [--course DIR] [--handout FILE ...] [--check]

Read are the assignment's template, the targets of its `workload.py`, and handouts: notebooks,
scripts or Markdown that students are given besides. They are run in a sandbox as if they were
submissions. What a handout shows that computes a part is an answer where somebody hands it in under
the name asked for, since the exercise is to do it again; everything else is none under any name.

What a file says already stays in it: handouts need not be at hand again. With `--check` nothing is
written, and the exit code is 1 where something of the template or a target is not in the file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import tvm
from nbformat import NotebookNode
from rich.console import Console

from grader.assignment_files import GIVEN_FILE, GivenForms, load_given
from grader.authoring.master import find_master, has_master, read_master
from grader.authoring.template import make_template
from grader.course import CourseAssignment, load_course
from grader.errors import IRError
from grader.grading.judge import computes
from grader.grading.pipeline import compare_captures, run_notebook
from grader.grading.preparation import GradingOptions, Preparation, Settings, open_settings
from grader.ir.read import read_module
from grader.messages.kernel import Capture
from grader.progress import Silent
from grader.reading.submission import parse_content

ROOT = Path(__file__).resolve().parent.parent


def targets_of(chosen: CourseAssignment) -> list[bytes]:
    """Return the target of an assignment's `workload.py`, the course's own code, as graph JSON."""
    names: dict[str, Any] = {}
    exec(compile(chosen.workload(), "workload.py", "exec"), names)
    return [tvm.ir.save_json(names["target"]()).encode()] if "target" in names else []


def collect_given(
    root: Path,
    chosen: CourseAssignment,
    settings: Settings,
    *,
    handouts: Iterable[Path] = (),
    targets: Iterable[bytes] = (),
) -> GivenForms:
    """Return the forms of what an assignment of the course at `root` gives.

    Read are the modules of its English template, `targets` as graph JSON, and handouts: notebooks,
    scripts or Markdown. What of a handout computes a part is shown, all else is given. Raises
    GraderError for files that cannot be read.
    """
    prepared = Preparation(chosen, settings)
    given = {form for target in targets for form in forms_of(target)}
    if has_master(root, chosen.assignment.slug):
        given |= {form for each in _captures(_template(root, chosen), prepared) for form in each[1]}
    shown: set[str] = set()
    beside: set[str] = set()
    for path in handouts:
        notebook = parse_content(path.read_bytes(), path.suffix)
        for capture, forms in _captures(notebook, prepared):
            (shown if _is_answer(capture, prepared) else beside).update(forms)
    return GivenForms(frozenset(given | (beside - shown)), frozenset(shown - given))


def forms_of(document: bytes) -> frozenset[str]:
    """Return the form of a module's `main`, or of each function; none of what is damaged."""
    try:
        facts = read_module(document, ("*",))
    except IRError:
        return frozenset()
    if facts.has_main:
        return frozenset({facts.form})
    return frozenset(each.form for each in facts.functions.values())


def _template(root: Path, chosen: CourseAssignment) -> NotebookNode:
    assignment = chosen.assignment
    master = read_master(find_master(root, assignment.slug))
    return make_template(master, assignment.slug, assignment.version, "en")


def _captures(
    notebook: NotebookNode, prepared: Preparation
) -> list[tuple[Capture, frozenset[str]]]:
    found = run_notebook(notebook, prepared, Silent()).captures
    modules = [each for each in found if isinstance(each, Capture) and each.module]
    return [(each, forms_of(each.module)) for each in modules]


def _is_answer(capture: Capture, prepared: Preparation) -> bool:
    compared = compare_captures((capture,), prepared, Silent())
    return any(computes(part, graded[0]) for part, graded in compared if part.id == capture.part)


def encode_given(given: GivenForms) -> bytes:
    """Return the file's content: sorted, one form on a line."""
    lists = {"given": sorted(given.given), "shown": sorted(given.shown - given.given)}
    return msgspec.json.format(msgspec.json.encode(lists), indent=2) + b"\n"


def main() -> int:
    """Write the file or compare it; return the exit code."""
    parser = argparse.ArgumentParser(description="Write given.json of an assignment.")
    parser.add_argument("slug")
    parser.add_argument("--course", type=Path, default=ROOT)
    parser.add_argument("--handout", type=Path, action="append", default=[])
    parser.add_argument("--check", action="store_true", help="only say whether all of it is there")
    arguments = parser.parse_args()
    course = load_course(arguments.course)
    chosen = course.get(arguments.slug)
    options = GradingOptions(data="builtin", seed=0, course=arguments.course)
    with open_settings(options, course, [chosen], ()) as settings:
        found = collect_given(
            course.root,
            chosen,
            settings,
            handouts=arguments.handout,
            targets=targets_of(chosen),
        )
    known = load_given(chosen.folder)
    whole = GivenForms(known.given | found.given, known.shown | found.shown)
    if arguments.check:
        missing = found.given - known.given
        Console().print(f"{arguments.slug}: {len(missing)} of {len(found.given)} are missing")
        return 1 if missing else 0
    (chosen.folder / GIVEN_FILE).write_bytes(encode_given(whole))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
