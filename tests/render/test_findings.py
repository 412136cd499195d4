"""What of a report is a finding, and beside which line of the file it belongs."""

from __future__ import annotations

import msgspec
import pytest

from grader.language import foreign
from grader.render.findings import (
    diagnosis_of,
    explanation,
    is_lost,
    line_in_file,
    lost_checks,
    reading,
)
from grader.report import Cell, Check, Diagnosis, Part, Report, Step, Visibility
from tests import sample_reports
from tests.render.foreign import with_cells

DIAGNOSIS = Diagnosis(
    (Step("lv", "f", (1,), "wrong"),),
    0,
    foreign("f"),
    None,
    "",
    foreign("It departs."),
    foreign("Mend it."),
)


def check(name: str, kind: str = "", visibility: Visibility = "visible", score: float = 0) -> Check:
    """A check of one point, lost unless `score` is 1."""
    verdict = "passed" if score == 1 else "failed"
    return Check(
        name,
        foreign(name),
        score,
        1.0,
        verdict,
        foreign(f"Why {name}."),
        foreign("Do."),
        visibility,
        kind,
    )


def part(*checks: Check) -> Part:
    return Part("part", foreign("Part"), 0.0, 1.0, checks, diagnosis=DIAGNOSIS)


class TestLines:
    """The line of the file of a line of a cell."""

    def test_a_cell_begins_where_the_report_says(self) -> None:
        assert 65 == line_in_file(with_cells(), 7)

    def test_lines_of_a_cell_follow_its_first(self) -> None:
        assert [65, 67] == [line_in_file(with_cells(), 7, line) for line in (1, 3)]

    def test_a_line_is_never_in_the_next_cell(self) -> None:
        assert 74 == line_in_file(with_cells(), 7, 100)

    def test_the_last_cell_has_no_more_lines_than_its_text(self) -> None:
        assert 170 == line_in_file(with_cells(), 17, 100)

    def test_in_a_file_of_one_line_everything_is_on_it(self) -> None:
        cells = tuple(Cell("code", "a\nb\nc", number, 1) for number in (1, 2))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert [1, 1] == [line_in_file(report, number, 3) for number in (1, 2)]

    def test_cells_that_begin_on_the_same_line_have_it_all(self) -> None:
        cells = tuple(Cell("code", "a\nb\nc", number, 4) for number in (1, 2))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert 4 == line_in_file(report, 1, 3)

    def test_text_between_code_has_lines_but_no_number(self) -> None:
        cells = (Cell("markdown", "t", None, 3), Cell("code", "a\nb", 1, 9))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert 10 == line_in_file(report, 1, 2)

    @pytest.mark.parametrize("cell", [0, 18, -1])
    def test_a_cell_that_the_report_does_not_have_has_no_line(self, cell: int) -> None:
        assert line_in_file(with_cells(), cell, 1) is None

    def test_a_report_without_cells_has_no_lines(self) -> None:
        assert line_in_file(sample_reports.typical(), 7, 3) is None

    def test_a_cell_whose_line_is_not_known_has_none(self) -> None:
        report = msgspec.structs.replace(with_cells(), cells=(Cell("code", "a", 1),))
        assert line_in_file(report, 1, 1) is None

    def test_of_a_script_the_line_is_that_of_the_file(self) -> None:
        report = script()
        assert [140, 7] == [line_in_file(report, 14), line_in_file(report, 14, 7)]
        assert line_in_file(report, 99) is None


def script() -> Report:
    report = with_cells()
    starts = tuple(range(10, 180, 10))
    submission = msgspec.structs.replace(report.submission, name="hw.py", starts=starts)
    return msgspec.structs.replace(report, submission=submission)


class TestLost:
    """Which checks are findings."""

    def test_a_check_with_all_points_that_did_not_pass_is_lost(self) -> None:
        free = Check("a", foreign("A"), 0.0, 0.0, "failed", foreign("Why."))
        assert is_lost(free)
        assert not is_lost(msgspec.structs.replace(free, verdict="passed"))

    def test_neighbours_with_one_reason_come_together(self) -> None:
        first, second = check("a"), check("b")
        second = msgspec.structs.replace(second, reason=first.reason)
        found = list(lost_checks(part(first, second, check("c"), check("d", score=1))))
        assert [["a", "b"], ["c"]] == [[each.id for each in group] for group in found]


class TestDiagnosis:
    """To which check a diagnosis belongs."""

    def test_it_explains_the_check_that_compares_outputs(self) -> None:
        calls, compares = check("calls", "calls"), check("same", "equivalence")
        both = part(calls, compares)
        assert (None, DIAGNOSIS) == (diagnosis_of(both, calls), diagnosis_of(both, compares))

    def test_a_check_of_unknown_kind_is_what_its_name_says(self) -> None:
        compares = check("equivalence")
        assert DIAGNOSIS == diagnosis_of(part(compares), compares)

    def test_a_check_that_passed_needs_none(self) -> None:
        compares = check("same", "equivalence", score=1)
        assert diagnosis_of(part(compares), compares) is None

    def test_it_is_not_shown_with_one_check_where_another_is_kept_back(self) -> None:
        seen, hidden = check("a", "equivalence"), check("b", "equivalence", "hidden")
        assert diagnosis_of(part(seen, hidden), seen) is None

    def test_an_explanation_has_it_after_reason_and_advice(self) -> None:
        compares = check("same", "equivalence")
        assert [
            "Why same.",
            "What to do: Do.",
            "It departs.",
            "What to do: Mend it.",
        ] == explanation(part(compares), compares, sample_reports.typical())

    def test_what_a_reason_says_is_not_said_again(self) -> None:
        compares = msgspec.structs.replace(
            check("same", "equivalence"), reason=foreign("So: It departs."), tells_diagnosis=True
        )
        assert ["So: It departs.", "What to do: Do."] == explanation(
            part(compares), compares, sample_reports.typical()
        )

    @pytest.mark.parametrize(
        ("link", "said"),
        [
            ("https://example.org/a#b", "To read again: https://example.org/a#b"),
            ("2. Padding", 'To read again in the notebook: "2. Padding"'),
            ("https://a b\n::x", 'To read again in the notebook: "https://a b ::x"'),
            ("", ""),
        ],
    )
    def test_a_link_leads_to_a_page_or_a_heading(self, link: str, said: str) -> None:
        assert said == reading(link)
