"""What the check says of a module's peak, and what it advises."""

from __future__ import annotations

from typing import Any

import pytest

from grader.evidence.case import Problem
from grader.evidence.peak.checks import peak_bytes
from grader.evidence.peak.found import FoundPeak, PeakOptions
from grader.evidence.peak.gather import gather_peak
from grader.evidence.peak.messages import Holder, Peak
from grader.evidence.peak.view import show_peak
from grader.evidence.registry import Outcome
from grader.language import foreign
from grader.messages.evidence import Examined
from tests.evidence.factory import case, module, question

MAIN, PAD = Holder("main", 900), Holder("pad", 100)


def judged(found: FoundPeak | Problem) -> Outcome:
    return peak_bytes(case(module(), found={"peak": found}), PeakOptions(1000))


class Runners:
    """Runners that answer with one peak."""

    def __init__(self, peak: Peak) -> None:
        self.peak = peak

    def request(self, _kind: str, _task: Any) -> Examined:
        return Examined.of("peak", self.peak)


def gathered(peak: Peak) -> FoundPeak | Problem:
    subject: Any = case(module()).candidate
    return gather_peak(question(subject, None, Runners(peak), "", PeakOptions(1000)))


class TestGathering:
    def test_what_main_holds_is_there_while_the_largest_function_runs(self) -> None:
        found = gathered(Peak(MAIN, (Holder("conv", 40), PAD)))
        assert FoundPeak(MAIN, PAD, 1000) == found
        assert 1000 == found.bytes

    def test_a_function_of_unknown_size_is_the_one_that_counts(self) -> None:
        unknown = Holder("add", None)
        found = gathered(Peak(None, (PAD, unknown)))
        assert FoundPeak(None, unknown, 1000) == found
        assert None is found.bytes

    def test_a_module_without_functions_holds_nothing(self) -> None:
        found = gathered(Peak(None))
        assert 0 == found.bytes


class TestJudging:
    def test_all_that_is_allowed_may_be_used(self) -> None:
        assert "passed" == judged(FoundPeak(MAIN, PAD, 1000)).verdict

    @pytest.mark.parametrize(
        ("between", "largest", "advice"),
        [
            (Holder("main", 900), Holder("pad", 101), "Fuse functions"),
            (Holder("main", 101), Holder("pad", 900), "Make the buffers inside `pad` smaller"),
            (None, Holder("pad", 1001), "`compute_at`"),
            (Holder("main", 1001), None, "Fuse functions"),
        ],
    )
    def test_the_advice_is_for_what_holds_most(
        self, between: Holder | None, largest: Holder | None, advice: str
    ) -> None:
        outcome = judged(FoundPeak(between, largest, 1000))
        assert "failed" == outcome.verdict
        assert advice in outcome.hint.english

    def test_what_is_decided_at_run_time_is_no_small_amount(self) -> None:
        assert "failed" == judged(FoundPeak(Holder("main", None), PAD, 1000)).verdict

    def test_nothing_is_judged_where_nothing_was_measured(self) -> None:
        outcome = judged(Problem(foreign("No."), code="not_built"))
        assert ("not_graded", "not_built") == (outcome.verdict, outcome.code)


class TestShowing:
    def test_a_name_of_a_student_is_code_and_short(self) -> None:
        section = show_peak(FoundPeak(None, Holder("`x`" * 200, 5), 10))
        assert section is not None
        label = section.blocks[0].bars[1].label.english
        assert label.startswith("Inside `xxx")
        assert len(label) < 120

    def test_an_unknown_size_has_no_bar(self) -> None:
        assert None is show_peak(FoundPeak(Holder("main", None), None, 10))
