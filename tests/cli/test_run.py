"""`grader render`: what it writes and where, and what it says of files that it cannot use."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from grader.api import REPORT_LIMIT
from grader.cli.options import Language
from grader.cli.run import RenderOptions, ReportFiles, run_render, run_submission
from grader.errors import UsageError
from grader.grading.preparation import GradingOptions
from grader.language import LANGUAGES, foreign, say
from grader.render.formats import FORMATS, render_as
from grader.report import Report, decode_report, encode_report
from tests import sample_reports
from tests.cli.test_batch import MODEL, PREPARATION
from tests.endtoend.command import ROOT, run_grader, write_notebook
from tests.endtoend.warm import run_warm
from tests.render.test_audience import LATE

HEAD = 'set -o pipefail; "$@" | head -c 1'
COMMAND = [sys.executable, "-c", "from grader.cli.app import main; main()", "render"]
NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)


def clock() -> datetime:
    return NOW


def write(folder: Path, report: Report, name: str = "report.json") -> Path:
    path = folder / name
    path.write_bytes(encode_report(report))
    return path


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return write(tmp_path, sample_reports.typical())


def rendered(options: RenderOptions) -> bytes:
    output = io.BytesIO()
    run_render(options, output.write, clock)
    return output.getvalue()


def refusal(options: RenderOptions) -> UsageError:
    """Return why nothing was rendered; nothing may have been printed."""
    output = io.BytesIO()
    with pytest.raises(UsageError) as caught:
        run_render(options, output.write, clock)
    assert b"" == output.getvalue()
    assert caught.value.hint
    return caught.value


def test_it_is_text_for_the_terminal_where_nothing_else_is_asked_for(report: Path) -> None:
    plain, named = (
        subprocess.run(
            [*COMMAND, report, "--lang", "ko", *more], capture_output=True, check=True, timeout=60
        ).stdout
        for more in ((), ("--format", "text"))
    )
    assert plain == named
    assert "점" in plain.decode()


class TestOutput:
    """What is written."""

    @pytest.mark.parametrize("written", LANGUAGES)
    @pytest.mark.parametrize("name", FORMATS)
    def test_any_report_is_said_in_any_language(
        self, tmp_path: Path, name: str, written: Language
    ) -> None:
        """Whichever language it was written in, what is said of it in Korean is the same."""
        note = say("notebook-defines-no-function-called", entry="create")
        known = replace(sample_reports.typical(), notes=(note,))
        path = write(tmp_path, replace(known, language=written))
        korean = rendered(RenderOptions(path, name, language="ko"))
        assert korean == render_as(name, replace(known, language="ko"), "student", NOW)
        if name in ("text", "json", "html", "github", "markdown"):
            assert note.in_("ko") in korean.decode()

    @pytest.mark.parametrize("name", sorted(FORMATS))
    def test_every_format_can_be_made_later(self, report: Path, name: str) -> None:
        expected = render_as(name, sample_reports.typical(), "student", NOW)
        assert expected == rendered(RenderOptions(report, name))

    def test_a_file_is_written_whole_and_nothing_is_printed(self, report: Path) -> None:
        target = report.with_name("results.xml")
        target.write_text("old")
        assert b"" == rendered(RenderOptions(report, "junit", target))
        assert render_as("junit", sample_reports.typical(), "student", NOW) == target.read_bytes()
        assert ["report.json", "results.xml"] == sorted(
            each.name for each in report.parent.iterdir()
        )

    def test_the_audience_decides_what_is_shown(self, tmp_path: Path) -> None:
        part = sample_reports.typical().parts[0]
        hidden = replace(part.checks[0], title=foreign("Kept back"), visibility="hidden")
        part = replace(part, checks=(hidden, *part.checks[1:]))
        path = write(tmp_path, replace(sample_reports.typical(), parts=(part,)))
        told = {
            audience: rendered(RenderOptions(path, "markdown", None, audience))
            for audience in ("student", "instructor")
        }
        assert (False, True) == (
            b"Kept back" in told["student"],
            b"Kept back" in told["instructor"],
        )

    def test_annotations_name_the_file_in_its_repository(self, report: Path) -> None:
        options = RenderOptions(report, "annotations", path="submissions/ada/hw.ipynb")
        first = rendered(options).decode().splitlines()[0]
        assert first.startswith("::error file=submissions/ada/hw.ipynb,title=")

    def test_the_time_decides_about_checks_that_are_shown_when_due(self, tmp_path: Path) -> None:
        base = sample_reports.typical()
        part = base.parts[0]
        later = replace(part.checks[0], title=foreign("Later"), visibility="after_due")
        part = replace(part, checks=(later, *part.checks[1:]))
        due = replace(base.assignment, due="2026-11-21T00:00:00+00:00")
        path = write(tmp_path, replace(base, parts=(part,), assignment=due))
        output = io.BytesIO()
        run_render(RenderOptions(path, "text"), output.write, lambda: NOW.replace(year=2025))
        assert b"Later" not in output.getvalue()
        assert b"Later" in rendered(RenderOptions(path, "text"))


class TestRefusals:
    """What it says where it can do nothing."""

    def test_an_unknown_format_is_answered_with_the_known_ones(self, report: Path) -> None:
        error = refusal(RenderOptions(report, "pdf"))
        assert "no format pdf" in error.message.english
        assert all(name in error.hint.english for name in FORMATS)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        assert (
            "There is no file"
            in refusal(RenderOptions(tmp_path / "a.json", "text")).message.english
        )
        assert "There is no file" in refusal(RenderOptions(tmp_path, "text")).message.english

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xff\xfe\x00",
            b"# a notebook",
            b"[]",
            b"{}",
            b'{"cells": [], "nbformat": 4}',
            b'{"schema_version": "2"}',
            b'{"schema_version": null}',
            b"[" * 100_000,
            b'{"x":' * 100_000,
            b'{"schema_version": 3, "x": ' + b"[" * 100_000,
            b'{"schema_version": 3, "\xff": 1}',
        ],
    )
    def test_a_file_that_is_no_report(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(content)
        assert "a.json is not a report" in refusal(RenderOptions(path, "text")).message.english

    @pytest.mark.parametrize(
        ("version", "said"),
        [(1, "a report of an earlier version (1); this is 5."), (6, "of a later version (6)")],
    )
    def test_a_report_of_another_version(self, report: Path, version: int, said: str) -> None:
        document = json.loads(report.read_bytes())
        document["schema_version"] = version
        del document["parts"]
        report.write_text(json.dumps(document))
        assert said in refusal(RenderOptions(report, "text")).message.english

    @pytest.mark.parametrize(
        "change", [{"score": "77"}, {"more": 1}, {"parts": None}, {"language": 5}]
    )
    def test_a_report_that_is_not_as_it_was_written(
        self, report: Path, change: dict[str, object]
    ) -> None:
        report.write_text(json.dumps(json.loads(report.read_bytes()) | change))
        error = refusal(RenderOptions(report, "text"))
        assert "report.json is not a report of version 5: " in error.message.english

    def test_a_file_larger_than_any_report(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        with path.open("wb") as file:
            file.truncate(REPORT_LIMIT + 1)
        assert "is larger than 64 MB" in refusal(RenderOptions(path, "text")).message.english

    def test_a_folder_that_is_not_there(self, report: Path) -> None:
        target = report.parent / "none" / "a.xml"
        assert "Cannot write" in refusal(RenderOptions(report, "junit", target)).message.english

    def test_a_folder_in_place_of_the_file(self, report: Path) -> None:
        target = report.parent / "folder"
        target.mkdir()
        assert "Cannot write" in refusal(RenderOptions(report, "junit", target)).message.english
        assert ["folder", "report.json"] == sorted(each.name for each in report.parent.iterdir())


class TestCommand:
    """The command itself."""

    def test_what_it_prints_is_the_bytes_of_the_format(self, report: Path) -> None:
        """In any locale: an encoding of the terminal's has no say in a file's."""
        path = write(report.parent, sample_reports.korean_and_chinese(), "wide.json")
        done = subprocess.run(
            [*COMMAND, str(path), "--format", "junit"],
            capture_output=True,
            check=True,
            env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONPATH": ":".join(sys.path)},
        )
        expected = render_as("junit", sample_reports.korean_and_chinese(), "student", NOW)
        assert (expected, b"") == (done.stdout, done.stderr)

    def test_what_it_cannot_do_ends_it_with_2_and_a_hint(self, report: Path) -> None:
        done = subprocess.run([*COMMAND, str(report), "--format", "pdf"], capture_output=True)
        assert (2, b"") == (done.returncode, done.stdout)
        assert b"grader: There is no format pdf." in done.stderr
        assert b"Name one of text, json" in done.stderr

    def test_who_reads_the_beginning_alone_is_not_told_of_a_failure(self, report: Path) -> None:
        done = subprocess.run(
            ["bash", "-c", HEAD, "-", *COMMAND, str(report), "--format", "html"],
            capture_output=True,
        )
        assert (0, 1, b"") == (done.returncode, len(done.stdout), done.stderr)

    @pytest.mark.parametrize("words", [["--format", "text"], ["--format", "text", "-o"]])
    def test_a_full_output_is_said_and_stays_a_device(self, report: Path, words: list[str]) -> None:
        words = [*words, "/dev/full"] if words[-1] == "-o" else words
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*COMMAND, str(report), *words], stdout=full, stderr=subprocess.PIPE
            )
        assert 2 == done.returncode
        assert b"No space left on device." in done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr
        assert Path("/dev/full").is_char_device()


# `grader run` prints what its audience may see, and writes all of it as JSON.


COURSE = ROOT / "tests" / "courses" / "visibility"
KEPT_BACK = "Your instructor hides some checks"
HIDDEN_TITLE = "The layer once more, looked at in secret"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """Its model is built as it should be, and computes something else: 7 of 39 points."""
    cells = (PREPARATION, MODEL.format(function="topi.tanh"))
    grader = {"assignment": "visibility", "version": 1}
    return write_notebook(tmp_path / "homework.ipynb", *cells, grader=grader)


def test_students_read_what_they_may_and_the_document_has_everything(
    notebook: Path, tmp_path: Path
) -> None:
    result = run_grader(tmp_path, notebook, "--course", COURSE, "--seed", "7", "--fail-under", "4")
    assert 1 == result.code, "of the points that are shown there are three"
    assert "3 of 11 points" in result.output
    assert KEPT_BACK in result.output
    assert HIDDEN_TITLE not in result.output
    assert "Seed" not in result.output
    assert result.report is not None
    assert (7, 39, 7) == (result.report.score, result.report.max_score, result.report.seed)
    assert "2126-12-01T23:59:00+01:00" == result.report.assignment.due


def test_a_batch_fails_by_the_points_that_students_are_shown(
    notebook: Path, tmp_path: Path
) -> None:
    """The second time, the report of the first is kept."""
    words = ("batch", notebook, "--output", tmp_path / "reports", "--course", COURSE, "--jobs", 1)
    for points, code in ((3, 0), (4, 1)):
        done = run_warm((*map(str, words), "--fail-under", str(points)))
        assert code == done.returncode, done.stderr
        assert "7 of 39" in done.stdout, "the overview is the instructor's"


def test_the_instructor_reads_everything(notebook: Path, tmp_path: Path) -> None:
    options = ("--course", COURSE, "--seed", "7", "--fail-under", "4", "--audience", "instructor")
    result = run_grader(tmp_path, notebook, *options)
    assert 0 == result.code
    assert "7 of 39 points" in result.output
    assert HIDDEN_TITLE in result.output
    assert KEPT_BACK not in result.output


def test_the_time_is_that_of_the_clock(notebook: Path, tmp_path: Path) -> None:
    grading = GradingOptions(course=COURSE, data="builtin")
    document, page = tmp_path / "report.json", Console(file=io.StringIO(), width=100)
    files, messages = ReportFiles(notebook, document), Console(file=io.StringIO())
    seen = run_submission(files, grading, "student", page, messages, None, clock=lambda: LATE)
    assert (7, 15) == (seen.score, seen.max_score)
    assert 39 == decode_report(document.read_bytes()).max_score
