"""Blocks of calls: how many calls, and which blocks count."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import msgspec
import numpy as np

from grader.messages import LibraryTiming, TaskFailure, TimeLibrary, pack_array
from grader.runner import library as timed
from grader.runner.library import (
    choose_calls,
    involuntary_switches,
    load_library,
    measure_blocks,
)

ONE = pack_array(np.ones(1, np.float32))
TASK = TimeLibrary("", "any", (ONE, ONE), (0,), 1, 0.005, blocks=3, budget_seconds=30.0)


def lasting(seconds: float) -> Callable[[], None]:
    """Return what is at work for so long."""

    def call() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return call


class TestCalls:
    def test_a_slow_function_is_called_once_in_a_block(self) -> None:
        assert 1 == choose_calls(lasting(0.02), 0.005)

    def test_a_fast_one_as_often_as_fits(self) -> None:
        assert 2 <= choose_calls(lasting(0.0005), 0.005) <= 10


def switches(*blocks: int) -> Callable[[], int]:
    """Return a count of switches: so many come in each block, and in those after the last as in it.

    It is looked at before and after each block.
    """
    total, block = 0, 0
    is_before = False

    def count() -> int:
        nonlocal total, block, is_before
        is_before = not is_before
        if not is_before:
            total += blocks[min(block, len(blocks) - 1)]
            block += 1
        return total

    return count


class TestBlocks:
    def test_seconds_are_those_of_a_call(self) -> None:
        kept, _ = measure_blocks(lasting(0.002), 3, TASK, switches(0))
        assert all(0.002 <= each for each in kept)

    def test_it_ends_with_enough_undisturbed_ones(self) -> None:
        kept, disturbed = measure_blocks(lasting(0), 1, TASK, switches(0))
        assert (3, 0) == (len(kept), len(disturbed))

    def test_disturbed_ones_are_told_apart(self) -> None:
        kept, disturbed = measure_blocks(lasting(0), 1, TASK, switches(0, 1, 5, 0, 2, 0))
        assert (3, 3) == (len(kept), len(disturbed))

    def test_it_ends_with_the_budget(self) -> None:
        task = msgspec.structs.replace(TASK, budget_seconds=0.01)
        kept, disturbed = measure_blocks(lasting(0.004), 1, task, switches(1))
        assert 0 == len(kept)
        assert 1 <= len(disturbed) <= 3

    def test_there_is_one_block_however_small_the_budget(self) -> None:
        task = msgspec.structs.replace(TASK, budget_seconds=0.0)
        kept, disturbed = measure_blocks(lasting(0), 1, task, switches(1))
        assert (0, 1) == (len(kept), len(disturbed))

    def test_leaving_the_cpu_by_force_is_counted_and_sleeping_is_not(self) -> None:
        """A thread that shares its CPU with another one is taken off it again and again."""
        before = involuntary_switches()
        time.sleep(0.01)
        available = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(available)})
        spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            deadline = time.monotonic() + 30
            while involuntary_switches() < before + 5:
                assert time.monotonic() < deadline
        finally:
            spinner.kill()
            spinner.wait()
            os.sched_setaffinity(0, available)


class TestLibrary:
    def test_its_text_is_executed(self) -> None:
        module = load_library("def library(variant):\n    return variant * 2\n")
        assert "aa" == module.library("a")

    def test_a_failure_is_an_answer(self) -> None:
        task = msgspec.structs.replace(TASK, cpus=())
        answer = timed.perform(task)
        assert isinstance(answer, TaskFailure)
        assert ("time", "TooFewCpus") == (answer.stage, answer.error_name)

    def test_messages_survive_their_way(self) -> None:
        answer = LibraryTiming(0.5, 3, 1, 10, ONE)
        for message in (TASK, answer):
            payload = msgspec.msgpack.encode(message)
            assert message == msgspec.msgpack.decode(payload, type=type(message))
