"""From a runner's rounds to a timing, or to the verdict that the machine was too busy."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from grader.ir.facts import Finding
from grader.messages import TimingResult, TimingRound, pack_array, unpack_array
from grader.referee import speed
from grader.referee.checks.speed import SpeedOptions
from grader.referee.evidence import Candidate, Problem, TimedSchedule
from grader.referee.speed import RING, gather_timing, measuring_cpus
from tests.referee.factory import WEIGHT, argument, call, case, convolution, module, update

CALL = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
FACTS = module(CALL, functions={"conv2d": convolution(update())})
CANDIDATE: Candidate = case(FACTS).candidate
OPTIONS = SpeedOptions(weight=WEIGHT, threads=2)
ORACLE = SimpleNamespace(workload=lambda variant, data, weight, bias: data[:, :, :1] * 2.0)


class Machine:
    """Answers as a runner on a machine does; `disturbs(cpus)` says whether it is busy there."""

    def __init__(self, disturbs, factor=2.0, reference=0.2, places=lambda index: index % 4):
        self.disturbs, self.factor, self.reference, self.asked = disturbs, factor, reference, []
        self.places = self.told = places
        self.rings = []

    def request(self, kind, task):
        self.asked.append(task.cpus)
        self.rings.append((task.ring, task.data.shape[0]))
        switches = 3 if self.disturbs(task.cpus) else 0
        rounds = tuple(
            TimingRound(self.told(index), 1.0, 0.5, self.reference, switches) for index in range(20)
        )
        data = unpack_array(task.data)
        outputs = np.stack([data[self.places(each)][:, :1] * self.factor for each in range(20)])
        return TimingResult("conv2d", "llvm", 7, rounds, pack_array(outputs.astype(np.float32)))


def gather(machine, candidate=CANDIDATE):
    generator = np.random.default_rng(1)
    return gather_timing(candidate, "", OPTIONS, ORACLE, machine, generator)


def test_a_quiet_machine_is_asked_once_and_gives_the_ratio():
    machine = Machine(disturbs=lambda cpus: False)
    evidence = gather(machine)
    assert isinstance(evidence, TimedSchedule)
    assert (1, 2.0, 5.0, True) == (
        len(machine.asked),
        evidence.timing.speedup,
        evidence.timing.reference_speedup,
        evidence.outputs_right,
    )


def test_a_function_that_decides_by_contents_is_not_timed():
    text = "The function `conv2d` decides by the contents of the buffer `kept` how often it runs."
    finding = Finding("content", "kept", "conv2d", text)
    function = msgspec.structs.replace(convolution(update()), decisions=(finding,))
    candidate = case(module(CALL, functions={"conv2d": function})).candidate
    machine = Machine(disturbs=lambda cpus: False)
    evidence = gather(machine, candidate)
    assert isinstance(evidence, Problem)
    assert evidence.reason.startswith(text)
    assert "loop variables only" in evidence.hint
    assert [] == machine.asked


def test_another_function_may_decide_by_contents():
    finding = Finding("content", "table", "look_up", "It decides.")
    other = msgspec.structs.replace(convolution(update()), name="look_up", decisions=(finding,))
    functions = {"conv2d": convolution(update()), "look_up": other}
    candidate = case(module(CALL, functions=functions)).candidate
    assert isinstance(gather(Machine(lambda cpus: False), candidate), TimedSchedule)


def test_each_round_has_a_ring_of_inputs_of_its_own_and_so_has_the_time_before():
    machine = Machine(disturbs=lambda cpus: False)
    gather(machine)
    assert [(RING, RING * (OPTIONS.maximum_rounds + 1))] == machine.rings


def test_inputs_that_are_too_large_are_shared_by_rounds(monkeypatch):
    monkeypatch.setattr(speed, "MOST_INPUT_BYTES", 3 * RING * 4 * 4 * 28 * 28)
    machine = Machine(disturbs=lambda cpus: False)
    gather(machine)
    assert [(RING, 3 * RING)] == machine.rings


def test_an_output_is_compared_with_that_of_its_own_input():
    machine = Machine(disturbs=lambda cpus: False, places=lambda index: 8 + index)
    assert gather(machine).outputs_right
    machine.told = lambda index: index
    assert not gather(machine).outputs_right


def test_a_machine_that_disturbs_several_threads_is_measured_with_one():
    if len(measuring_cpus(2)) < 2:
        pytest.skip("this process has a single CPU")
    machine = Machine(disturbs=lambda cpus: len(cpus) > 1)
    evidence = gather(machine)
    assert isinstance(evidence, TimedSchedule)
    assert ([2, 2, 1], 1) == ([len(cpus) for cpus in machine.asked], evidence.timing.threads)


def test_a_machine_that_disturbs_everything_gives_no_grade():
    evidence = gather(Machine(disturbs=lambda cpus: True))
    assert isinstance(evidence, Problem)
    assert "too busy" in evidence.reason


def test_a_reference_that_is_not_faster_gives_no_grade():
    assert isinstance(gather(Machine(disturbs=lambda cpus: False, reference=1.0)), Problem)


def test_wrong_values_in_a_timed_output_are_noticed():
    evidence = gather(Machine(disturbs=lambda cpus: False, factor=2.1))
    assert isinstance(evidence, TimedSchedule)
    assert not evidence.outputs_right


def test_a_module_without_a_function_for_the_weight_is_a_problem():
    generator = np.random.default_rng(1)
    candidate = case(module()).candidate
    machine = Machine(disturbs=lambda cpus: False)
    evidence = gather_timing(candidate, "", OPTIONS, ORACLE, machine, generator)
    assert isinstance(evidence, Problem)
    assert [] == machine.asked
