"""Errors of construction: the line that is told is right, and the advice names the mistake."""

from __future__ import annotations

from tests.accuracy.accuracy import BAR, share
from tests.accuracy.construction import MUTANTS, tell
from tests.diagnosis.test_advice import recorded
from tests.our_course import our_course


def test_of_nine_in_ten_models_that_cannot_be_built_the_cause_is_told() -> None:
    layers = recorded(our_course().get("e2e-conv"), None)
    told = [tell(each, lambda: layers) for each in MUTANTS]
    assert [] == [(each.mutant.new, each.line) for each in told if not each.is_right]
    missed = [(each.line, each.advice) for each in told if not each.is_recognised]
    assert share(each.is_recognised for each in told) >= BAR, missed
    assert [] == [each.advice for each in told if not each.mutant.told and each.advice]
