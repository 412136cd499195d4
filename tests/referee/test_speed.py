"""From a runner's rounds to a timing, or to the verdict that the machine was too busy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from grader.messages import TimingResult, TimingRound, pack_array, unpack_array
from grader.referee.checks.schedule import SpeedOptions
from grader.referee.evidence import Candidate, Problem, TimedSchedule
from grader.referee.speed import gather_timing, measuring_cpus
from tests.referee.factory import WEIGHT, argument, call, case, convolution, module, update

CALL = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
FACTS = module(CALL, functions={"conv2d": convolution(update())})
CANDIDATE: Candidate = case(FACTS).candidate
OPTIONS = SpeedOptions(weight=WEIGHT, threads=2)
ORACLE = SimpleNamespace(workload=lambda variant, data, weight, bias: data[:, :, :1] * 2.0)


class Machine:
    """Answers as a runner on a machine does; `disturbs(cpus)` says whether it is busy there."""

    def __init__(self, disturbs, factor=2.0, reference=0.2):
        self.disturbs, self.factor, self.reference, self.asked = disturbs, factor, reference, []

    def request(self, kind, task):
        self.asked.append(task.cpus)
        switches = 3 if self.disturbs(task.cpus) else 0
        rounds = tuple(
            TimingRound(index % 4, 1.0, 0.5, self.reference, switches) for index in range(20)
        )
        data = unpack_array(task.data)
        outputs = np.stack([data[each.ring][:, :1] * self.factor for each in rounds])
        return TimingResult("conv2d", "llvm", 7, rounds, pack_array(outputs.astype(np.float32)))


def gather(machine):
    generator = np.random.default_rng(1)
    return gather_timing(CANDIDATE, "", OPTIONS, ORACLE, machine, generator)


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
