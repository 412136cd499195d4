"""The report for GitHub Actions: a summary that fits, and commands that the runner reads as meant.

`parse` reads a line as the runner does (actions/runner, ActionCommand.cs: spaces before a command
are skipped, properties are split at commas, then unescaped).

`reported` does with it what the reporter does (classroom-resources/autograding-grading-reporter,
src/main.js and src/notify-classroom.js).

The report as a step's result for the reporter of GitHub Classroom.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Literal, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from grader.language import LANGUAGES, foreign
from grader.render.github import (
    MOST_SHOWN,
    SUMMARY_BYTES,
    Annotation,
    command,
    render_annotations,
    render_classroom,
    render_github,
)
from grader.render.markdown import render_markdown
from grader.report import CellProblem, Check, Environment, Part, Report, ungraded_report
from tests import sample_reports
from tests.render.foreign import CONTROLS, HARMFUL, everywhere, with_cells

_COMMAND = re.compile(r"\s*::(?P<name>[a-z-]+)(?: (?P<properties>[^\n]*?))?::(?P<data>.*)")
_ESCAPES = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))


class Command(NamedTuple):
    """A workflow command as the runner understands it."""

    name: str
    properties: dict[str, str]
    data: str


def parse(line: str) -> Command:
    """Read a line of a step's output."""
    match = _COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = (match["properties"] or "").split(",")
    properties = {}
    for name, _, value in (pair.partition("=") for pair in pairs):
        for escape, character in _ESCAPES:
            value = value.replace(escape, character)
        properties[name] = value
    data = match["data"]
    for escape, character in (*_ESCAPES[:2], _ESCAPES[4]):
        data = data.replace(escape, character)
    return Command(match["name"], properties, data)


def commands(report: Report) -> list[Command]:
    return [parse(line) for line in render_annotations(report).decode().splitlines()]


class TestSummary:
    def test_its_heading_names_the_submission_by_its_path(self) -> None:
        report = sample_reports.typical()
        named = replace(report.submission, name="submissions/ada/hw`<b>*.ipynb")
        heading = render_github(replace(report, submission=named)).decode().splitlines()[0]
        assert heading.startswith("# ")
        assert heading.endswith(": `` submissions/ada/hw`<b>*.ipynb ``")

    """The summary of the job."""

    def test_it_is_the_report_in_markdown(self) -> None:
        report = sample_reports.typical()
        assert render_markdown(report).strip() == render_github(report).strip()

    def test_it_ends_its_last_line(self) -> None:
        """Whatever is appended to the file next begins a line."""
        assert render_github(sample_reports.typical()).endswith(b"\n")

    def test_one_that_is_too_long_is_cut_between_sections(self) -> None:
        summary = render_github(huge())
        assert SUMMARY_BYTES // 2 < len(summary) <= SUMMARY_BYTES
        assert summary.endswith(b"The rest is too long for this page.\n")
        assert summary.startswith(b"# A convolutional classifier, end to end: `")
        whole = render_markdown(huge())
        assert whole.startswith(summary[: summary.rindex(b"The rest is")].rstrip(b"\n"))

    def test_what_says_that_it_is_cut_has_room(self) -> None:
        """Sections that are shorter than that sentence fill the page to its last bytes."""
        part = Part("p", foreign("P"), 0.0, 1.0, ())
        summary = render_github(replace(sample_reports.typical(), parts=(part,) * 40_000))
        assert SUMMARY_BYTES - 100 < len(summary) <= SUMMARY_BYTES


def huge() -> Report:
    """A report of two megabytes."""
    check = Check("a", foreign("A"), 0.0, 1.0, "failed", foreign("가" * 3000))
    part = Part("part", foreign("Part"), 0.0, 1.0, (check,))
    return replace(sample_reports.typical(), parts=(part,) * 200)


class TestCommand:
    """One annotation as one line."""

    def test_the_runner_reads_what_was_meant(self, subtests: pytest.Subtests) -> None:
        for text in HARMFUL:
            with subtests.test(text=text):
                clean = "".join(character for character in text if character not in CONTROLS)
                line = command(Annotation("error", clean, clean, clean, 7))
                read = parse(line)
                assert ("error", clean) == (read.name, read.data)
                assert {"file", "line", "title"} == set(read.properties)
                assert "7" == read.properties["line"]

    def test_values_are_escaped_as_the_documentation_says(self) -> None:
        assert "::warning file=a%2Cb.ipynb,line=1,title=50%25%3A x::1%25%0A2: 3, 4" == command(
            Annotation("warning", "50%: x", "1%\n2: 3, 4", "a,b.ipynb", 1)
        )

    def test_without_a_file_there_is_no_line(self) -> None:
        assert "::notice title=a::b" == command(Annotation("notice", "a", "b", "", 3))


class TestAnnotations:
    """What is said beside the lines of the file."""

    def test_a_failed_cell_is_an_error_on_its_line(self) -> None:
        first = commands(with_cells())[0]
        assert "error" == first.name
        assert {"file": "homework.ipynb", "line": "67", "title": "Code cell 7: NameError"} == (
            first.properties
        )
        assert "name 'conv_w' is not defined" == first.data

    def test_without_a_known_line_it_concerns_the_file(self) -> None:
        assert {"file", "title"} == set(commands(sample_reports.typical())[0].properties)
        assert "155" == commands(with_cells())[1].properties["line"]

    def test_a_lost_check_stands_where_its_cell_begins(self) -> None:
        lost = commands(with_cells())[2]
        assert "85" == lost.properties["line"]
        assert lost.properties["title"].endswith("Same outputs as PyTorch (0 of 15)")
        assert "\nWhat to do: Add the bias" in lost.data

    def test_some_points_are_a_warning_and_none_an_error(self) -> None:
        names = [each.name for each in commands(sample_reports.typical())]
        assert ["error", "error", "error", "warning", "notice", "notice"] == names

    def test_neighbours_of_which_one_has_no_points_are_an_error(self) -> None:
        some = Check("a", foreign("A"), 0.5, 1.0, "partial", foreign("The same."))
        none = replace(some, id="b", score=0.0, verdict="failed")
        report = sample_reports.full_marks()
        part = replace(report.parts[0], checks=(some, none))
        assert "error" == commands(replace(report, parts=(part,)))[0].name

    def test_neighbours_with_one_reason_are_one_annotation(self) -> None:
        found = commands(sample_reports.nothing_to_grade())
        assert ["error"] * 4 == [each.name for each in found if each.name != "notice"]
        assert (
            found[1]
            .properties["title"]
            .endswith("Built of call_tir; Same outputs as PyTorch (0 of 40)")
        )

    def test_of_a_script_lines_are_those_of_the_file(self) -> None:
        report = with_cells()
        starts = tuple(range(10, 180, 10))
        submission = replace(report.submission, name="hw.py", starts=starts)
        lines = [
            each.properties.get("line") for each in commands(replace(report, submission=submission))
        ]
        assert ["3", "160", "90", "140", None, None] == lines

    def test_so_many_are_written_as_are_shown(self) -> None:
        problems = tuple(CellProblem(number, "E", "m") for number in range(1, 31))
        found = commands(replace(sample_reports.typical(), problems=problems))
        errors = [each for each in found if each.name == "error"]
        assert MOST_SHOWN == len(errors)
        assert "and 22 more" == errors[-1].data
        assert "warning" in [each.name for each in found]

    def test_what_could_not_be_graded_is_an_error(self) -> None:
        report = ungraded_report(
            "a.ipynb", foreign("No notebook."), Environment("3.11.7", "CPU", 4, {})
        )
        (only,) = commands(report)
        assert ("error", "No notebook.") == (only.name, only.data)
        assert "a.ipynb" == only.properties["file"]

    def test_full_marks_are_two_notices(self) -> None:
        assert ["notice", "notice"] == [each.name for each in commands(sample_reports.full_marks())]

    def test_the_notices_are_those_that_classroom_reads(self) -> None:
        complete, total = commands(sample_reports.typical())[-2:]
        assert "Autograding complete" == complete.properties["title"]
        assert "Points 77.5/100" == complete.data
        assert "Autograding report" == total.properties["title"]
        assert {"totalPoints": 77.5, "maxPoints": 100.0} == json.loads(total.data)

    def test_no_foreign_text_is_a_command(self, subtests: pytest.Subtests) -> None:
        """There are as many commands, of the same kinds, as with harmless text."""
        for harm in HARMFUL:
            for language in LANGUAGES:
                with subtests.test(language, harm=harm):
                    harmless = commands(everywhere("word", language))
                    found = commands(everywhere(harm, language))
                    assert [(each.name, list(each.properties)) for each in harmless] == [
                        (each.name, list(each.properties)) for each in found
                    ]

    def test_every_line_is_a_command(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                text = render_annotations(everywhere(harm)).decode()
                assert all(
                    line.startswith(("::error ", "::notice ")) for line in text.split("\n")[:-1]
                )
                assert not set(text) & set(CONTROLS) - {"\n"}


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A test as the graders of Classroom write it."""

    name: str
    status: Literal["pass", "fail", "error"]
    score: float
    message: str | None
    test_code: str
    filename: str
    line_no: int
    duration: float


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """A result as the graders of Classroom write it."""

    version: Literal[1]
    status: Literal["pass", "fail", "error"]
    max_score: float
    tests: list[Case]


def decoded(report: Report) -> Result:
    content = base64.b64decode(render_classroom(report).strip(), validate=True)
    return msgspec.json.decode(content, type=Result, strict=True)


def reported(report: Report) -> dict[str, Any] | None:
    """Return the points that the reporter hands over; None where it hands over nothing."""
    results = json.loads(base64.b64decode(render_classroom(report)))
    if not results["max_score"]:
        return None
    total = sum(test["score"] for test in results["tests"])
    return {"totalPoints": total, "maxPoints": results["max_score"]}


REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    ungraded_report("broken.ipynb", foreign("No notebook."), Environment("3.11.7", "CPU", 4, {})),
]


@pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
def test_it_is_one_line_of_base64(report: Report) -> None:
    """So that it is a value of $GITHUB_OUTPUT and of an environment variable."""
    assert re.fullmatch(rb"[A-Za-z0-9+/]+=*\n", render_classroom(report))
    assert 1 == decoded(report).version


def test_the_reporter_adds_up_the_points() -> None:
    assert {"totalPoints": 77.5, "maxPoints": 100.0} == reported(sample_reports.typical())
    assert {"totalPoints": 100.0, "maxPoints": 100.0} == reported(sample_reports.full_marks())
    assert {"totalPoints": 0.0, "maxPoints": 100.0} == reported(sample_reports.nothing_to_grade())


def test_what_could_not_be_graded_has_no_points_and_its_reason() -> None:
    result = decoded(REPORTS[-1])
    assert reported(REPORTS[-1]) is None
    assert ("error", "No notebook.") == (result.status, result.tests[0].message)


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (sample_reports.full_marks(), "pass"),
        (sample_reports.typical(), "fail"),
        (sample_reports.nothing_to_grade(), "error"),
    ],
)
def test_the_job_passes_with_all_points_only(report: Report, status: str) -> None:
    assert status == decoded(report).status


def test_a_test_is_a_check_with_its_reason_and_its_line() -> None:
    lost = decoded(with_cells()).tests[4]
    assert "The convolution, done by an external function: Same outputs as PyTorch" == lost.name
    assert ("fail", 0.0, "homework.ipynb", 85) == (
        lost.status,
        lost.score,
        lost.filename,
        lost.line_no,
    )
    assert lost.message is not None and "\nWhat to do: Add the bias" in lost.message


def test_a_check_that_passed_has_no_message() -> None:
    first = decoded(sample_reports.typical()).tests[0]
    assert ("pass", None, 10.0) == (first.status, first.message, first.score)


def test_what_the_reporter_prints_is_no_command(subtests: pytest.Subtests) -> None:
    """The runner takes `::` at the start of a line and `##[` anywhere for a command."""
    for harm in HARMFUL:
        for language in LANGUAGES:
            with subtests.test(language, harm=harm):
                for test in decoded(everywhere(harm, language)).tests:
                    printed = f"{test.name}\n{test.message}\n{test.filename}\n{test.test_code}"
                    assert not re.search(r"::|##\[", printed)
                    assert not set(printed) & set(CONTROLS) - {"\n"}


def test_text_without_commands_is_as_it_was() -> None:
    report = everywhere("a: b [c] # d ## e")
    assert "a: b [c] # d ## e" == decoded(report).tests[0].filename
