"""What of a target a schedule earns, and what it is told to do next."""

from __future__ import annotations

import pytest

from grader.evidence.case import Problem, Replay
from grader.evidence.target.checks import TargetOptions, target
from grader.evidence.target.found import TargetMatch
from grader.language import foreign
from tests.evidence import products
from tests.evidence.factory import case, module


class TestTarget:
    def judge(self, steps=products.transform, *, equal=False, replay=None, unproven=1.0):
        found = products.facts_after(steps)
        match = TargetMatch(equal, "" if equal else "<root>.body", products.transformed(), found)
        options = TargetOptions(unproven=unproven)
        return target(case(module(), found={"target": match}, replay=replay), options)

    def test_what_tvm_finds_equal_earns_all(self):
        assert ("passed", 1.0) == (self.judge(equal=True).verdict, self.judge(equal=True).fraction)

    def test_what_differs_in_statements_alone_does_too(self):
        outcome = self.judge()
        assert "passed" == outcome.verdict
        assert "how statements are written" in outcome.reason.english

    def test_each_third_earns_a_third_and_the_first_difference_is_told(self):
        outcome = self.judge(lambda sch: products.transform(sch, without="unroll"))
        assert ("partial", 2 / 3) == (outcome.verdict, pytest.approx(outcome.fraction))
        assert (
            "Already as in the target: the loops of the sum, where the initialisation"
            in outcome.reason.english
        )
        assert "should be unrolled; it is serial." in outcome.reason.english
        assert "`unroll`" in outcome.hint.english

    def test_nothing_done_earns_nothing(self):
        outcome = self.judge(lambda sch: None)
        assert ("failed", 0.0) == (outcome.verdict, outcome.fraction)
        assert "First difference from the target" in outcome.reason.english

    def test_it_says_whether_the_schedule_is_proven(self):
        reason = self.judge(equal=True, replay=Replay(proven=True, steps=9)).reason
        assert "The schedule is proven: its 9 steps" in reason.english

    @pytest.mark.parametrize(
        "replay", [None, Replay(proven=False, reason=foreign("it has no trace"))]
    )
    def test_what_is_not_proven_keeps_the_share_that_is_left_for_it(self, replay):
        copied = self.judge(equal=True, replay=replay, unproven=0)
        assert ("failed", 0.0) == (copied.verdict, copied.fraction)
        assert "make one Schedule of your unscheduled function" in copied.hint.english
        assert 0.5 == self.judge(equal=True, replay=replay, unproven=0.5).fraction
        incomplete = self.judge(
            lambda sch: products.transform(sch, without="unroll"), replay=replay, unproven=0.5
        )
        assert 1 / 3 == pytest.approx(incomplete.fraction)

    def test_what_is_proven_keeps_all(self):
        replay = Replay(proven=True, steps=9)
        assert "passed" == self.judge(equal=True, replay=replay, unproven=0).verdict

    def test_nothing_done_is_told_of_the_difference_and_not_of_a_proof(self):
        outcome = self.judge(lambda sch: None, unproven=0)
        assert "First difference from the target" in outcome.reason.english
        assert "make one Schedule" not in outcome.hint.english

    def test_without_a_comparison_it_is_not_graded(self):
        problem = Problem(foreign("It could not be compared."))
        outcome = target(case(module(), found={"target": problem}), TargetOptions())
        assert ("not_graded", problem.reason) == (outcome.verdict, outcome.reason)
        assert "not_graded" == target(case(module()), TargetOptions()).verdict
