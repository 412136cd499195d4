"""Blocks of calls: how many calls, and which blocks count."""

from __future__ import annotations

import msgspec
import numpy as np

from grader.inside.library import entry as timed
from grader.inside.library.entry import LibrarySubject, load_library, measure_blocks, warm_up
from grader.messages import LibraryTiming, TaskFailure, TimeLibrary, pack_array
from tests.timing.machine import Disturbance, Function, Machine

ONE = pack_array(np.ones(1, np.float32))
TASK = TimeLibrary("", "any", (ONE, ONE), (0,), 1, 0.005, blocks=3, budget_seconds=30.0)


class TestBlocks:
    def measure(
        self, *switches: int, seconds: float = 0.002, budget: float = 30.0
    ) -> tuple[list[float], list[float]]:
        """Measure blocks of which each is disturbed by so many switches, and then none."""
        machine = Machine(Disturbance(each) for each in switches)
        task = msgspec.structs.replace(TASK, budget_seconds=budget)
        return measure_blocks(Function(machine, "torch", seconds), 3, task, machine)

    def test_seconds_are_those_of_a_call(self) -> None:
        kept, _ = self.measure()
        np.testing.assert_allclose([0.002] * 3, kept)

    def test_it_ends_with_enough_undisturbed_ones(self) -> None:
        kept, disturbed = self.measure()
        assert (3, 0) == (len(kept), len(disturbed))

    def test_disturbed_ones_are_told_apart(self) -> None:
        kept, disturbed = self.measure(0, 1, 5, 0, 2)
        assert (3, 3) == (len(kept), len(disturbed))

    def test_it_ends_with_the_budget(self) -> None:
        """A block takes 103 calls' time here, with what is done before it."""
        kept, disturbed = self.measure(*[1] * 50, seconds=0.001, budget=0.25)
        assert (0, 3) == (len(kept), len(disturbed))

    def test_there_is_one_block_however_small_the_budget(self) -> None:
        kept, disturbed = self.measure(1, budget=0.0)
        assert (0, 1) == (len(kept), len(disturbed))


class TestSubject:
    def test_a_block_is_so_many_calls_of_pytorchs_function(self) -> None:
        called: list[int] = []
        LibrarySubject(lambda: called.append(1)).run_calls(0, 7)
        assert 7 == len(called)

    def test_it_is_called_for_a_while_before_anything_is_measured(self) -> None:
        machine = Machine()
        warm_up(Function(machine, "torch", 0.003), machine)
        assert 7 == len(machine.blocks())  # 7 times 3 ms are more than 20 ms


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
