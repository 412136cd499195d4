"""The report as Gradescope's results.json, decoded as the specification has it.

https://gradescope-autograders.readthedocs.io/en/latest/specs/ names the fields, which of them are
optional, and what they can be.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import replace

from grader.language import LANGUAGES, foreign
from grader.render.gradescope import render_gradescope
from grader.render.wording import MOST_PROBLEMS
from grader.report import (
    CellProblem,
    Check,
    Diagnosis,
    Environment,
    Part,
    Report,
    Step,
    Visibility,
    ungraded_report,
)
from tests import sample_reports
from tests.render.foreign import CONTROLS, HARMFUL, everywhere
from tests.render.html.reading import flat, read

ELEMENTS = frozenset(
    ["p", "strong", "code", "br", "pre", "table", "thead", "tbody", "tr", "th", "td"]
)
"""What the templates write for Gradescope, which styles few elements and takes attributes out."""

Shown = Literal["hidden", "after_due_date", "after_published", "visible"]
Format = Literal["text", "html", "simple_format", "md", "ansi"]


class SpecifiedTest(msgspec.Struct, forbid_unknown_fields=True):
    """A test as the specification has it."""

    score: float | None = None
    max_score: float | None = None
    status: Literal["passed", "failed"] | None = None
    name: str = ""
    name_format: Format = "text"
    number: str = ""
    output: str = ""
    output_format: Format = "text"
    tags: list[str] = []
    visibility: Shown = "visible"
    extra_data: dict[str, Any] = {}


class SpecifiedEntry(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of the leaderboard as the specification has it."""

    name: str
    value: float | str
    order: Literal["asc", "desc"] = "desc"


class Specified(msgspec.Struct, forbid_unknown_fields=True):
    """The document as the specification has it."""

    score: float | None = None
    execution_time: int | None = None
    output: str = ""
    output_format: Format = "text"
    test_output_format: Format = "text"
    test_name_format: Format = "text"
    visibility: Shown = "visible"
    stdout_visibility: Shown = "hidden"
    extra_data: dict[str, Any] = {}
    tests: list[SpecifiedTest] = []
    leaderboard: list[SpecifiedEntry] = []


def decoded(report: Report) -> Specified:
    """Return the rendering as a strict reader of the specification takes it."""
    return msgspec.json.decode(render_gradescope(report), type=Specified, strict=True)


REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    ungraded_report("broken.ipynb", foreign("No notebook."), Environment("3.11.7", "CPU", 4, {})),
]


class TestFormat:
    """What Gradescope reads."""

    @pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
    def test_it_has_the_fields_of_the_specification(self, report: Report) -> None:
        results = decoded(report)
        assert report.score == results.score
        assert isinstance(json.loads(render_gradescope(report))["execution_time"], int)

    def test_the_score_is_the_sum_of_the_tests(self) -> None:
        """Gradescope takes the score where there is one; the tests must not say otherwise."""
        results = decoded(sample_reports.typical())
        assert results.score == sum(test.score or 0.0 for test in results.tests)

    def test_foreign_text_is_text(self, subtests: pytest.Subtests) -> None:
        """Names are plain text; what is told has our elements, and no attribute."""
        for harm in HARMFUL:
            for language in LANGUAGES:
                with subtests.test(language, harm=harm):
                    results = decoded(everywhere(harm, language))
                    names = {
                        results.test_name_format,
                        *(test.name_format for test in results.tests),
                    }
                    told = {results.output_format, results.test_output_format}
                    assert ({"text"}, {"html"}) == (
                        names,
                        told | {test.output_format for test in results.tests},
                    )
                    outputs = [results.output, *(test.output for test in results.tests)]
                    for output in outputs:
                        page = read(output.encode())
                        assert ([], []) == (page.attributes, page.unbalanced)
                        assert {tag.lstrip("/") for tag in page.tags} <= ELEMENTS
                    texts = [*outputs, *(test.name for test in results.tests)]
                    assert not set("".join(texts)) & set(CONTROLS) - {"\n"}

    def test_a_script_is_told_and_does_not_run(self) -> None:
        script = "<script>alert(1)</script><img src=x onerror=alert(1)>"
        results = decoded(everywhere(script))
        for output in (results.output, results.tests[0].output):
            assert script in read(output.encode()).text
            assert "<script" not in output


class TestContent:
    """What it says of a report."""

    def test_a_test_is_a_check(self) -> None:
        tests = decoded(sample_reports.typical()).tests
        assert ["1.1", "1.2", "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "3.4"] == [
            test.number for test in tests
        ]
        lost = tests[4]
        assert "The convolution, done by an external function: Same outputs as PyTorch" == lost.name
        assert (0.0, 15.0, "failed") == (lost.score, lost.max_score, lost.status)
        assert ["torch_extern", "equivalence"] == lost.tags
        assert lost.output.startswith("<p>On 4,443 of 4,443")
        assert "<p><strong>What to do: </strong>Add the bias" in lost.output

    def test_a_diagnosis_has_its_steps_as_a_table(self) -> None:
        checks = (kept("visible", "equivalence"),)
        (test,) = decoded(with_checks(*checks)).tests
        steps = "<td>✗ <strong><code>lv = f</code></strong>, first difference</td>"
        assert f"<tr>{steps}<td><code>(1,)</code></td><td>f</td></tr>" in test.output

    def test_measured_times_are_a_table_where_they_explain_a_check(self) -> None:
        tests = decoded(sample_reports.typical()).tests
        assert ["3.4"] == [test.number for test in tests if "<td>412.2 µs</td>" in test.output]

    def test_a_check_without_points_passes_or_fails_too(self) -> None:
        assert ("passed", "failed") == (
            decoded(sample_reports.typical()).tests[5].status,
            decoded(sample_reports.nothing_to_grade()).tests[5].status,
        )

    def test_the_output_has_notes_and_failed_cells(self) -> None:
        output = read(decoded(sample_reports.typical()).output.encode()).text
        assert "15 of 17 code cells ran to the end." in output
        assert "Code cell 7, line 3: NameError name 'conv_w' is not defined" in flat(output)
        assert "The notebook says no" in decoded(sample_reports.nothing_to_grade()).output

    def test_what_could_not_be_graded_has_its_reason(self) -> None:
        results = decoded(REPORTS[-1])
        assert (0.0, []) == (results.score, results.tests)
        assert "No notebook." in results.output

    def test_a_notebook_of_failed_cells_is_told_in_part(self) -> None:
        problems = tuple(CellProblem(number, "E", "m") for number in range(1, MOST_PROBLEMS + 4))
        output = decoded(replace(sample_reports.typical(), problems=problems)).output
        assert (MOST_PROBLEMS, True) == (output.count("Code cell"), "and 3 more" in output)

    def test_time_is_in_whole_seconds(self) -> None:
        assert 18 == decoded(sample_reports.typical()).execution_time

    def test_what_is_stored_has_no_seed(self) -> None:
        """A later submission's container is given what is stored of the earlier ones."""
        report = replace(sample_reports.typical(), seed=987654321)
        assert b"987654321" not in render_gradescope(report)


def kept(visibility: Visibility, kind: str = "calls") -> Check:
    """A check that lost a point; its texts say what its visibility is."""
    name = f"{kind}_{visibility}"
    return Check(
        name,
        foreign(name),
        1.0,
        2.0,
        "partial",
        foreign(f"Reason of {name}."),
        foreign("Mend it."),
        visibility,
        kind,
    )


def with_checks(*checks: Check, **changes: Any) -> Report:
    """A report of one part with these checks and a diagnosis."""
    steps = (Step("lv", "f", (1,), "wrong"),)
    diagnosis = Diagnosis(
        steps, 0, foreign("f"), None, "", foreign("It departs at lv."), foreign("Mend it.")
    )
    part = Part("part", foreign("Part"), 1.0, 2.0, checks, diagnosis=diagnosis)
    return replace(sample_reports.typical(), parts=(part,), **changes)


class TestVisibility:
    """What students are shown."""

    @pytest.mark.parametrize(
        ("chosen", "shown"),
        [
            ("visible", "visible"),
            ("after_due", "after_due_date"),
            ("score_only", "visible"),
            ("hidden", "hidden"),
        ],
    )
    def test_every_choice_has_its_word(self, chosen: Visibility, shown: str) -> None:
        (test,) = decoded(with_checks(kept(chosen))).tests
        assert (shown, 1.0, 2.0) == (test.visibility, test.score, test.max_score)

    def test_of_score_only_there_are_points_and_no_words(self) -> None:
        (test,) = decoded(with_checks(kept("score_only", "equivalence"))).tests
        assert ("visible", "", 1.0) == (test.visibility, test.output, test.score)

    @pytest.mark.parametrize("chosen", ["after_due", "score_only", "hidden"])
    def test_what_is_kept_back_is_said_nowhere_else(self, chosen: Visibility) -> None:
        report = with_checks(kept(chosen, "equivalence"), kept(chosen, "speed"), kept("visible"))
        results = decoded(report)
        seen = [test for test in results.tests if test.visibility == "visible"]
        text = results.output + "".join(test.output for test in seen)
        assert "calls_visible" in text
        for secret in (f"_{chosen}.", "It departs", "3.11"):
            assert secret not in text
        assert "Speed-up" not in [entry.name for entry in results.leaderboard]

    def test_a_diagnosis_is_shown_with_its_check(self) -> None:
        calls, compares = decoded(with_checks(kept("visible"), kept("hidden", "equivalence"))).tests
        assert (False, True) == ("It departs" in calls.output, "It departs" in compares.output)
        assert "hidden" == compares.visibility

    def test_what_the_job_prints_is_for_instructors(self) -> None:
        assert "hidden" == decoded(sample_reports.typical()).stdout_visibility


class TestLeaderboard:
    """What everybody sees of everybody."""

    def test_it_has_the_speed_up_its_interval_and_the_points(self) -> None:
        board = decoded(sample_reports.typical()).leaderboard
        assert [
            ("Speed-up", 3.113),
            ("Speed-up, lower end (95%)", 3.041),
            ("Speed-up, upper end (95%)", 3.187),
            ("Points", 77.5),
        ] == [(entry.name, entry.value) for entry in board]
        assert {"desc"} == {entry.order for entry in board}

    def test_without_timing_there_are_points_alone(self) -> None:
        board = decoded(sample_reports.nothing_to_grade()).leaderboard
        assert ["Points"] == [entry.name for entry in board]

    @pytest.mark.parametrize(
        ("chosen", "names"),
        [("visible", ["Points"]), ("score_only", ["Points"]), ("hidden", []), ("after_due", [])],
    )
    def test_points_that_hold_hidden_ones_are_not_on_it(
        self, chosen: Visibility, names: list[str]
    ) -> None:
        report = with_checks(kept("visible"), kept(chosen), timing=None)
        assert names == [entry.name for entry in decoded(report).leaderboard]
