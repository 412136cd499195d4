"""The step of a schedule that changes the result is named, with what it did and what helps."""

from __future__ import annotations

import itertools

from tests.accuracy.schedules import mutants, tell

EACH = 17
"""One mutant in so many is tried here, of each function; the benchmark tries all."""


def test_the_step_that_changes_the_result_is_named_and_explained() -> None:
    told = [tell(each) for each in itertools.islice(mutants(), 0, None, EACH)]
    assert [] == [each.mutant.name for each in told if not (each.is_right and each.is_recognised)]
