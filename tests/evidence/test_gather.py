"""From runs with noise in place of externs to evidence, or to the problem that there was."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np

from grader.assignment import PartTable
from grader.data.dataset import no_data
from grader.errors import ProtocolError
from grader.evidence.case import Problem, StubOutputs
from grader.evidence.gather import gather_stubs
from grader.evidence.oracle import ModelOracle
from grader.messages import Array, RunResult, TaskFailure, pack_array, unpack_array
from tests.evidence.factory import ORACLE, argument, call, case, module

CANDIDATE = case(module(call("extern", "env.c", argument("input", 4, 1, 28, 28)))).candidate

PART = PartTable(id="model", title="", entry_kind="function", entry=("f",), check=(), externs=True)


class Runners:
    """Answers each task with `answer(inputs, seed)`; an error is raised."""

    def __init__(self, answer):
        self.answer, self.seeds = answer, []

    def request(self, kind, task):
        assert "pure" == kind
        assert {} == task.externs
        self.seeds.append(task.stubs["env.c"])
        answer = self.answer(unpack_array(task.arguments[0].array), task.stubs["env.c"])
        if isinstance(answer, Exception):
            raise answer
        return answer


def gather(runners, batches=3):
    options = msgspec.structs.replace(ORACLE, hidden_inputs=batches * 4)
    oracle = ModelOracle(SimpleNamespace(), options, no_data(), np.random.default_rng(0))
    return gather_stubs(CANDIDATE, PART, oracle, runners, np.random.default_rng(1))


def model(of_input: float, of_noise: float):
    """A model whose output is a sum of its input and of noise that each call makes anew."""

    def answer(inputs, seed):
        noise = np.arange(1, len(inputs) + 1) * (seed % 97 + 1.0)
        outputs = of_input * inputs.sum((2, 3, 4)) + of_noise * noise[:, None]
        return RunResult(pack_array(outputs.astype("float64")))

    return answer


def differences(stubs) -> tuple[bool, bool]:
    assert isinstance(stubs, StubOutputs)
    assert stubs.first.shape == stubs.second.shape == stubs.elsewhere.shape
    return (
        not np.array_equal(stubs.first, stubs.second),
        not np.array_equal(stubs.first, stubs.elsewhere),
    )


def test_two_runs_with_one_seed_tell_noise_and_input_apart():
    runners = Runners(model(of_input=0, of_noise=1))
    assert (True, False) == differences(gather(runners))
    assert (2, 1) == (len(runners.seeds), len(set(runners.seeds)))
    assert (False, True) == differences(gather(Runners(model(of_input=1, of_noise=0))))
    assert (True, True) == differences(gather(Runners(model(of_input=1, of_noise=1))))


def test_a_single_batch_is_enough():
    assert (True, False) == differences(gather(Runners(model(of_input=0, of_noise=1)), batches=1))


def test_an_answer_that_cannot_be_read_is_a_problem():
    damaged = RunResult(Array("float32", (4, 4, 10), b""))
    for answer in (damaged, ProtocolError("no message", "")):
        assert isinstance(gather(Runners(lambda inputs, seed, answer=answer: answer)), Problem)


def test_a_failure_in_the_second_run_is_a_problem():
    first = model(of_input=0, of_noise=1)
    failure = TaskFailure("run", "Died", "It died.")
    runners = Runners(lambda inputs, seed: first(inputs, seed) if len(inputs) == 4 else failure)
    assert isinstance(gather(runners), Problem)
    assert 2 == len(runners.seeds)
