"""What each step brought: rows with bars for gains and losses, sentences for all others."""

from __future__ import annotations

import msgspec
import pytest

from grader.language import say
from grader.render.markdown import render_markdown
from grader.render.timings import steps_view
from grader.report import StepSpeeds
from tests import sample_reports
from tests.render.pages import flat, page, with_timing

REPORT = with_timing(steps=sample_reports.STEPS)


class TestView:
    def test_only_what_changed_the_speed_has_a_row(self) -> None:
        rows = steps_view(sample_reports.STEPS).rows
        assert ["vectorize (2)", "parallel", "decompose_reduction"] == [each.name for each in rows]
        assert ["1.30×", "0.87×", "1.03×"] == [each.factor for each in rows]
        assert ["", "this slows it down", ""] == [each.verdict for each in rows]

    def test_a_loss_that_is_made_up_for_is_no_reproach(self) -> None:
        first, *others = sample_reports.STEPS.steps
        made_up_for = msgspec.structs.replace(first, change="regained", factor=0.25)
        steps = msgspec.structs.replace(sample_reports.STEPS, steps=(made_up_for, *others))
        assert "later steps make up for this" == steps_view(steps).rows[0].verdict

    def test_a_row_has_the_students_line(self) -> None:
        row = steps_view(sample_reports.STEPS).rows[1]
        assert ("code cell 7, line 8", "sch.parallel(n)") == (row.place, row.line)
        assert steps_view(sample_reports.STEPS).rows[0].place == "code cell 7, lines 5 to 6"

    def test_the_largest_change_has_the_longest_bar(self) -> None:
        assert [1.0, 0.531, 0.116] == [each.share for each in steps_view(sample_reports.STEPS).rows]

    def test_all_others_are_named(self) -> None:
        notes = " ".join(steps_view(sample_reports.STEPS).notes)
        assert "contains 1: split, reorder (code cell 7, line 3)" in notes
        assert "do not change the code here: storage_align" in notes
        assert "After compute_at the values differ from PyTorch's" in notes
        assert "After cache_write the function cannot run" in notes

    def test_what_was_not_measured_says_why_and_has_no_row(self) -> None:
        view = steps_view(StepSpeeds((), reason=say("trace-could-not-replayed")))
        assert "is unknown: its trace could not be replayed." in view.sentence
        assert view.rows == ()


class TestTerminal:
    def test_it_has_bars_and_says_what_costs(self) -> None:
        text = page(REPORT, 100)
        line = next(each for each in text.splitlines() if each.strip().startswith("parallel"))
        assert "0.87×" in line
        assert "╌" in line, "a loss does not look like a gain"
        assert "━" not in line
        assert "━" in text
        assert "this slows it down" in line

    def test_the_students_line_is_whole_below_its_place(self) -> None:
        """Beside the place it was broken within names, at 80 columns."""
        lines = [each.strip() for each in page(REPORT, 80).splitlines()]
        at = next(at for at, each in enumerate(lines) if each.strip() == "code cell 7, line 8")
        assert "sch.parallel(n)" == lines[at + 1]

    @pytest.mark.parametrize("width", [40, 60, 80, 120])
    def test_it_fits(self, width: int) -> None:
        assert max(map(len, page(REPORT, width).splitlines())) <= width

    def test_without_steps_nothing_is_said(self) -> None:
        assert "each of your steps" not in flat(page(with_timing(), 100))


def test_markdown_has_an_item_for_each_change() -> None:
    text = render_markdown(REPORT).decode()
    assert (
        "- `parallel`: 0.87× (0.85 to 0.90); this slows it down; code cell 7, line 8: "
        "`sch.parallel(n)`" in text
    )
