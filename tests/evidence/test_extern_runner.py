"""Runners with an evaluator, both in real sandboxes: what ends one of them is told."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator

import cloudpickle
import numpy as np
import pytest

from grader.errors import SandboxError
from grader.evidence.problems import told_by
from grader.evidence.runner_client import Runner
from grader.language import foreign
from grader.messages.frames import encode_frame, pack_array, unpack_array
from grader.messages.runner import EXTERN_DIED, RunResult, TaskFailure
from grader.sandbox.interface import Command, Sandbox
from tests.evidence.test_runner_client import Stand, ask, processes, start
from tests.inside.runner import modules

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def extern(sandbox: Sandbox) -> Iterator[Runner]:
    with start(sandbox, "extern") as runner:
        yield runner


def add_torch(x, out):
    import torch

    torch.from_dlpack(out).copy_(torch.from_dlpack(x) + torch.get_num_threads())


def prints_much(x, out):
    for _ in range(100):
        os.write(1, b"x" * 2**20)
        os.write(2, b"x" * 2**20)
    out.copyfrom(x.numpy())


def exits(x, out):
    os._exit(0)


def is_killed(x, out):
    os.kill(os.getpid(), signal.SIGSEGV)


def spins(x, out):
    while True:
        pass


def waits(x, out):
    time.sleep(60)


def answers_for_the_runner(x, out):
    outputs = pack_array(np.full((2, 4), 99, "float32"))
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, encode_frame(RunResult(outputs)))
    time.sleep(60)


class TestAnswers:
    def test_an_extern_runner_has_pytorch_with_one_thread(self, extern: Runner) -> None:
        pickles = {"env.f": cloudpickle.dumps(add_torch)}
        answer = ask(extern, modules.calls_extern("env.f"), externs=pickles)
        assert isinstance(answer, RunResult)
        assert unpack_array(answer.outputs).tolist() == [[3.0] * 4] * 2

    def test_what_an_extern_prints_goes_nowhere(self, extern: Runner) -> None:
        pickles = {"env.f": cloudpickle.dumps(prints_much)}
        answer = ask(extern, modules.calls_extern("env.f"), externs=pickles)
        assert isinstance(answer, RunResult)
        assert [each.standard_error for each in processes(extern)] == ["", ""]


class TestEnd:
    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (exits, "env.f: the extern's process ended."),
            (is_killed, "env.f: the extern's process ended. It accessed memory that does not"),
        ],
    )
    def test_an_extern_that_ends_its_process_is_named(
        self, extern: Runner, function: object, message: str
    ) -> None:
        pickles = {"env.f": cloudpickle.dumps(function)}
        before = time.monotonic()
        answer = ask(extern, modules.calls_extern("env.f"), externs=pickles)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("run", EXTERN_DIED)
        assert told_by(answer).english.startswith(f"{answer.error_name}: {message}")
        assert time.monotonic() - before < 20
        assert all(each.poll() is not None for each in processes(extern))
        assert ask(extern, modules.TwoOutputs) == answer

    def test_an_extern_that_uses_up_the_processor_time_is_a_time_limit(
        self, sandbox: Sandbox
    ) -> None:
        with start(sandbox, "extern", cpu_seconds=6) as extern:
            pickles = {"env.f": cloudpickle.dumps(spins)}
            answer = ask(extern, modules.calls_extern("env.f"), externs=pickles)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == "TimeLimit"
        assert "processor time" in told_by(answer).english

    def test_an_extern_that_does_not_return_is_a_time_limit(self, extern: Runner) -> None:
        pickles = {"env.f": cloudpickle.dumps(waits)}
        extern.await_start()
        answer = ask(extern, modules.calls_extern("env.f"), timeout=2.0, externs=pickles)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == "TimeLimit"
        assert all(each.poll() is not None for each in processes(extern))

    def test_an_extern_cannot_answer_for_the_runner(self, extern: Runner) -> None:
        pickles = {"env.f": cloudpickle.dumps(answers_for_the_runner)}
        answer = ask(extern, modules.calls_extern("env.f"), externs=pickles)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("run", "BadAnswer")

    def test_a_module_that_ends_the_runner_ends_the_evaluator(self, extern: Runner) -> None:
        answer = ask(extern, modules.Aborts)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("run", "Died")
        assert all(each.poll() is not None for each in processes(extern))


class Refusing:
    """A sandbox that starts one command and refuses the next."""

    level = detail = ""

    def __init__(self) -> None:
        self.processes: list[Stand] = []

    def start(self, command: Command) -> Stand:
        if self.processes:
            raise SandboxError(foreign("no more"))
        self.processes.append(Stand(None))
        return self.processes[0]


class TestStart:
    def test_where_the_second_sandbox_cannot_be_made_the_first_is_ended(self) -> None:
        started = Refusing()
        with pytest.raises(SandboxError, match="no more"):
            start(started, "extern")
        assert [True] == [each.killed for each in started.processes]
