"""Blocks of calls: how many calls, and which blocks count."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from grader.inside.library import entry as timed
from grader.inside.library.entry import MOST_CALLS, load_library, time_calls
from grader.messages.frames import pack_array
from grader.messages.runner import TaskFailure
from grader.messages.timing import LibraryTiming, TimeLibrary

ONE = pack_array(np.ones(1, np.float32))
TASK = TimeLibrary("", "any", (ONE, ONE), (0,), 0.0001, budget_seconds=30.0)


class Clock:
    """Time passes while the function is called: `seconds` a call, more at some calls."""

    def __init__(self, seconds: float, longer: Sequence[int] = ()) -> None:
        self.now, self.calls = 0.0, 0
        self._seconds, self._longer = seconds, longer

    def call(self) -> None:
        self.now += self._seconds * (100 if self.calls in self._longer else 1)
        self.calls += 1

    def read(self) -> float:
        return self.now


def times(seconds: float, budget: float, longer: Sequence[int] = ()) -> list[float]:
    clock = Clock(seconds, longer)
    return time_calls(clock.call, 1e-4, budget, clock.read, clock.read)


class TestBlocks:
    def test_a_block_has_calls_for_its_time_and_seconds_are_those_of_one(self) -> None:
        clock = Clock(3e-5)
        seconds = time_calls(clock.call, 1e-4, 0.01, clock.read, clock.read)
        np.testing.assert_allclose(3e-5, seconds)
        tried = sum(3 * (1 + calls) for calls in (1, 4))
        assert tried + (1 + 4) * (len(seconds) - 1) == clock.calls

    def test_it_ends_with_the_budget(self) -> None:
        seconds = times(1e-3, 1.0)
        assert 498 == pytest.approx(len(seconds), abs=2)

    def test_there_is_one_block_however_small_the_budget(self) -> None:
        assert 1 == len(times(1.0, 0.0))

    def test_a_first_call_is_never_timed(self) -> None:
        seconds = times(1e-3, 0.1, longer=[0])
        np.testing.assert_allclose(1e-3, seconds)

    def test_what_disturbs_a_block_makes_it_longer_and_no_other(self) -> None:
        seconds = times(1e-3, 1.0, longer=[9])
        assert (1e-3, 0.1) == pytest.approx((min(seconds), max(seconds)))

    def test_a_function_that_takes_no_time_has_no_endless_blocks(self) -> None:
        clock = Clock(1e-12)
        (_,) = time_calls(clock.call, 1e-4, 1e-8, clock.read, clock.read)
        assert MOST_CALLS < clock.calls < 100 * MOST_CALLS


class TestLibrary:
    def test_its_text_is_executed(self) -> None:
        module = load_library("def library(variant):\n    return variant * 2\n")
        assert "aa" == module.library("a")

    def test_a_failure_is_an_answer(self) -> None:
        answer = timed.perform(msgspec.structs.replace(TASK, cpus=()))
        assert isinstance(answer, TaskFailure)
        assert "time" == answer.stage

    def test_messages_survive_their_way(self) -> None:
        answer = LibraryTiming(0.5, 3, ONE)
        for message in (TASK, answer):
            payload = msgspec.msgpack.encode(message)
            assert message == msgspec.msgpack.decode(payload, type=type(message))
