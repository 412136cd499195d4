"""What is known of PyTorch's time from earlier gradings: the least, once enough is known."""

from __future__ import annotations

import numpy as np

from grader.evidence.case import Problem
from grader.language import say
from grader.measurement.library import BLOCKS, ENOUGH, LibraryTime, LibraryTimes

BUSY = Problem(say("busy"), say("wait"), code="busy")


def taking(seconds: float, rejected: int = 0, blocks: int = BLOCKS) -> LibraryTime:
    return LibraryTime(seconds, 1, blocks, rejected, np.zeros(1))


def test_the_least_is_given_once_enough_are_known() -> None:
    times = LibraryTimes()
    measured = [times.find("conv2d", lambda each=each: taking(each)).seconds for each in (2.0, 1.0)]
    assert [2.0, 1.0] == measured
    assert len(measured) == ENOUGH
    assert 1.0 == times.find("conv2d", lambda: taking(5.0)).seconds
    assert 5.0 == times.find("another", lambda: taking(5.0)).seconds


def test_what_was_disturbed_too_often_is_measured_again() -> None:
    times = LibraryTimes()
    for seconds in (1.0, 2.0, 3.0):
        found = times.find("conv2d", lambda each=seconds: taking(each, 1, BLOCKS - 1))
        assert seconds == found.seconds


def test_disturbed_blocks_beside_as_many_others_as_were_wanted_do_not_matter() -> None:
    times = LibraryTimes()
    for seconds in (2.0, 1.0):
        times.find("conv2d", lambda each=seconds: taking(each, 7))
    assert 1.0 == times.find("conv2d", lambda: taking(5.0)).seconds


def test_a_slow_function_has_fewer_blocks_and_is_known_where_none_was_disturbed() -> None:
    times = LibraryTimes()
    for seconds in (2.0, 1.0):
        times.find("conv2d", lambda each=seconds: taking(each, 0, 6))
    assert 1.0 == times.find("conv2d", lambda: taking(5.0)).seconds


def test_a_busy_machine_is_told_only_where_nothing_is_known() -> None:
    times = LibraryTimes()
    assert BUSY == times.find("conv2d", lambda: BUSY)
    times.find("conv2d", lambda: taking(1.0))
    assert 1.0 == times.find("conv2d", lambda: BUSY).seconds
