"""What is known of PyTorch's time from earlier gradings: the least, once enough is known."""

from __future__ import annotations

import numpy as np

from grader.evidence.case import Problem
from grader.language import say
from grader.measurement.library import ENOUGH, LibraryTime, LibraryTimes

BUSY = Problem(say("busy"), say("wait"), code="busy")


def taking(seconds: float) -> LibraryTime:
    return LibraryTime(seconds, 25, np.zeros(1))


def test_the_least_is_given_once_enough_are_known() -> None:
    times = LibraryTimes()
    measured = [times.find("conv2d", lambda each=each: taking(each)).seconds for each in (2.0, 1.0)]
    assert [2.0, 1.0] == measured
    assert len(measured) == ENOUGH
    assert 1.0 == times.find("conv2d", lambda: taking(5.0)).seconds
    assert 5.0 == times.find("another", lambda: taking(5.0)).seconds


def test_a_problem_is_told_only_where_nothing_is_known() -> None:
    times = LibraryTimes()
    assert BUSY == times.find("conv2d", lambda: BUSY)
    times.find("conv2d", lambda: taking(1.0))
    assert 1.0 == times.find("conv2d", lambda: BUSY).seconds
