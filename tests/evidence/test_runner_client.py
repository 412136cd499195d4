"""Runners in a real sandbox: they answer, and what kills them is an answer too."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.errors import DisplacedError, ProtocolError, SandboxError
from grader.evidence.problems import told_by
from grader.evidence.runner_client import Runner, start_runner
from grader.messages.frames import READY, encode_frame, pack_array, unpack_array
from grader.messages.runner import (
    EXTERN_DIED,
    Built,
    FromRunner,
    ReplayResult,
    ReplayTrace,
    RunArgument,
    RunModule,
    RunResult,
    TaskFailure,
    Violation,
)
from grader.messages.timing import ShapeResult, Slice, TimingResult
from grader.sandbox.interface import Process, ResourceLimits, Sandbox
from tests.evidence import schedules
from tests.inside.runner import modules
from tests.inside.runner.timed import OUTPUT, RING, function, timing_task
from tests.ir.modules import save
from tests.timing.machine import NO_SLOTS

SECONDS = 60.0


def start(sandbox: Sandbox, kind: Any = "pure", threads: int = 1, **limits: int) -> Runner:
    environment = {"TVM_NUM_THREADS": str(threads)}
    return start_runner(sandbox, kind, ResourceLimits(**limits), environment)


@pytest.fixture
def pure(sandbox: Sandbox) -> Iterator[Runner]:
    with start(sandbox) as runner:
        yield runner


def ask(runner: Runner, module: object, timeout: float = SECONDS, **options: Any) -> FromRunner:
    return runner.request(modules.task(module, np.ones((2, 4)), **options), timeout)


def processes(runner: Runner) -> list[Process]:
    """Return the runner's process, and the evaluator's if there is one."""
    return [each for each in (runner._process, runner._evaluator) if each is not None]


class TestAnswers:
    def test_several_runners_start_at_once_and_each_does_several_tasks(
        self, sandbox: Sandbox
    ) -> None:
        with start(sandbox) as one, start(sandbox) as other:
            for runner in (one, other, one):
                answer = ask(runner, modules.TwoOutputs)
                assert isinstance(answer, RunResult)
                assert (unpack_array(answer.outputs) == 1).all()

    def test_a_module_that_cannot_be_loaded_is_a_failure(self, pure: Runner) -> None:
        answer = ask(pure, b"{}")
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "load"
        assert isinstance(ask(pure, modules.TwoOutputs), RunResult)

    def test_a_pure_runner_refuses_externs(self, pure: Runner) -> None:
        answer = ask(pure, modules.calls_extern("env.f"), externs={"env.f": b""})
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "externs"


class TestBuiltAhead:
    TASK = modules.task(modules.TwoOutputs, np.ones((2, 4)))

    def test_the_task_has_its_answer(self, pure: Runner) -> None:
        pure.build_ahead(self.TASK)
        answer = ask(pure, modules.TwoOutputs)
        assert isinstance(answer, RunResult)
        assert (unpack_array(answer.outputs) == 1).all()

    def test_what_cannot_be_built_the_task_says(self, pure: Runner) -> None:
        pure.build_ahead(msgspec.structs.replace(self.TASK, module=b"{}"))
        assert pure.await_built(SECONDS)
        answer = ask(pure, b"{}")
        assert isinstance(answer, TaskFailure)
        assert "load" == answer.stage

    def test_it_may_take_some_time(self, pure: Runner) -> None:
        pure.build_ahead(self.TASK)
        assert pure.is_building()
        assert not pure.await_built(0.0)
        assert pure.await_built(SECONDS)
        assert not pure.is_building()
        assert isinstance(ask(pure, modules.TwoOutputs), RunResult)

    def test_it_builds_until_it_says_so(self, pure: Runner) -> None:
        pure.build_ahead(self.TASK)
        deadline = time.monotonic() + SECONDS
        while pure.is_building():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert pure.await_built(0.5)

    def test_one_that_ends_meanwhile_has_died(self, pure: Runner) -> None:
        pure.await_start()
        pure._process.kill()
        pure.build_ahead(self.TASK)
        assert not pure.is_building()
        assert not pure.await_built(SECONDS)
        answer = ask(pure, modules.TwoOutputs)
        assert isinstance(answer, TaskFailure)
        assert "Died" == answer.code

    def test_what_it_took_is_counted_with_the_task(self, stand: StandIn) -> None:
        result = RunResult(SHAPE.outputs)
        runner, _ = stand(READY + encode_frame(Built(3.0)) + encode_frame(result))
        runner.build_ahead(self.TASK)
        assert result == runner.request(TASK, 1.0)
        assert 3 < runner.seconds < 4

    @pytest.mark.parametrize("seconds", [-60.0, float("nan")])
    def test_nobody_builds_in_less_than_no_time(self, stand: StandIn, seconds: float) -> None:
        runner, _ = stand(
            READY + encode_frame(Built(seconds)) + encode_frame(RunResult(SHAPE.outputs))
        )
        runner.build_ahead(self.TASK)
        assert not runner.await_built(1.0)

    def test_it_says_what_it_took(self, pure: Runner) -> None:
        pure.build_ahead(self.TASK)
        assert pure.await_built(SECONDS)
        assert pure.seconds > 0


class TestTiming:
    def test_slices_come_with_their_outputs(self, sandbox: Sandbox) -> None:
        cpus = tuple(sorted(os.sched_getaffinity(0)))[:2]
        shape = function(modules.timed_convolution())
        task = timing_task(shape, target="host", cpus=cpus)
        with start(sandbox, threads=len(cpus)) as runner:
            answer = runner.request(task, SECONDS)
        assert isinstance(answer, TimingResult)
        assert "conv2d" == answer.variant
        assert answer.target.startswith("llvm -mcpu=")
        (result,) = answer.shapes
        assert (len(answer.slices), *OUTPUT) == result.outputs.shape
        assert np.isfinite(unpack_array(result.outputs)).all()
        assert set(result.inputs) <= set(range(RING))

    def test_a_runner_with_too_few_threads_says_so(self, pure: Runner) -> None:
        answer = pure.request(timing_task(cpus=(0, 1)), SECONDS)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("time", "TooFewThreads")

    def test_a_processor_that_is_not_there_is_a_failure(self, pure: Runner) -> None:
        answer = pure.request(timing_task(cpus=(1023,)), SECONDS)
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "time"


class TestReplay:
    def test_a_schedule_is_proven_in_a_sandbox(self, pure: Runner) -> None:
        made = schedules.candidate(schedules.model(), schedules.schedule_topi).capture
        assert made.base is not None
        assert made.trace is not None
        larger = save(schedules.model(batch=8))
        task = ReplayTrace(made.trace, made.base, made.module, (larger,))
        answer = pure.request(task, SECONDS)
        assert isinstance(answer, ReplayResult)
        assert ("equal", 1) == (answer.outcome, len(answer.modules))


class TestEnd:
    def test_a_store_far_away_is_prevented_and_the_runner_goes_on(self, pure: Runner) -> None:
        answer = ask(pure, modules.FarStore)
        assert isinstance(answer, TaskFailure)
        assert Violation("index", "far", "y", 4 * 10**9, 4) == answer.violation
        assert isinstance(ask(pure, modules.TwoOutputs), RunResult)

    def test_a_module_that_ends_the_process_is_told_by_its_signal(self, pure: Runner) -> None:
        answer = ask(pure, modules.Aborts)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("run", "Died")
        assert "SIGABRT" in told_by(answer).english or "abort" in told_by(answer).english

    def test_every_later_request_gets_the_same_failure(self, pure: Runner) -> None:
        assert ask(pure, modules.Aborts) == ask(pure, modules.TwoOutputs)

    def test_an_endless_loop_is_ended(self, pure: Runner) -> None:
        assert isinstance(ask(pure, modules.TwoOutputs), RunResult)
        before = time.monotonic()
        answer = ask(pure, modules.EndlessLoop, timeout=1.0)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == "TimeLimit"
        assert time.monotonic() - before < 20
        assert pure._process.poll() is not None

    @pytest.mark.parametrize("kind", ["pure", "extern"])
    def test_leaving_the_context_ends_the_sandboxes(self, sandbox: Sandbox, kind: str) -> None:
        with start(sandbox, kind) as runner:
            pass
        assert all(each.poll() is not None for each in processes(runner))
        runner.close()


class Stand:
    """A process that never was: `status` is how it ended, None while it lives."""

    cause = ""
    peak = 0
    standard_error = "first\nImportError: nothing there"

    def __init__(self, status: int | None) -> None:
        self.status = status
        self.killed = False

    def poll(self) -> int | None:
        return self.status

    def wait(self, timeout: float | None = None) -> int | None:
        return self.status

    def kill(self) -> None:
        self.killed = True


StandIn = Callable[..., tuple[Runner, Stand]]


@pytest.fixture
def stand() -> Iterator[StandIn]:
    """Makes runners whose other end has written an answer and writes nothing more."""
    with contextlib.ExitStack() as stack:

        def make(
            answer: bytes, status: int | None = None, evaluator: Stand | None = None
        ) -> tuple[Runner, Stand]:
            ours, theirs = map(stack.enter_context, socket.socketpair())
            process = Stand(status)
            theirs.sendall(answer)
            theirs.shutdown(socket.SHUT_WR)
            return Runner(process, ours, evaluator=evaluator), process

        yield make


TASK = RunModule(b"", (RunArgument(pack_array(np.zeros((1, 1), "float32"))),), "llvm", 1)
SLICE = Slice(0, (pack_array(np.ones((4, 1))),), (pack_array(np.ones((4, 1))),))
SHAPE = ShapeResult(pack_array(np.zeros(0, "float32")), (), NO_SLOTS)


class TestProtocol:
    def test_one_that_never_gets_ready_could_not_be_started(self, stand: StandIn) -> None:
        runner, process = stand(b"")
        with pytest.raises(SandboxError) as caught:
            runner.request(TASK, 1.0)
        assert "ImportError: nothing there" in caught.value.hint.english
        assert process.killed

    def test_one_that_takes_too_long_to_start_could_not_be_started(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs, pytest.raises(SandboxError):
            Runner(Stand(None), ours, start_seconds=0.05).request(TASK, 1.0)

    def test_a_replay_is_answered_by_a_replay_and_by_nothing_else(self, stand: StandIn) -> None:
        task, right = ReplayTrace(b"[]", b"{}", b"{}"), ReplayResult("equal")
        assert right == stand(READY + encode_frame(right))[0].request(task, 1.0)
        with pytest.raises(ProtocolError):
            stand(READY + encode_frame(RunResult(SHAPE.outputs)))[0].request(task, 1.0)
        with pytest.raises(ProtocolError):
            stand(READY + encode_frame(right))[0].request(TASK, 1.0)

    @pytest.mark.parametrize(
        "answer",
        [
            b"\3" + bytes(7) + b"bad",
            b"\xff" * 8,
            bytes(3),
            encode_frame(TimingResult("conv2d", "llvm", (SHAPE,), (SLICE,))),
        ],
        ids=["no message", "too long", "cut off", "answer to something else"],
    )
    def test_another_answer_breaks_the_protocol(self, stand: StandIn, answer: bytes) -> None:
        runner, process = stand(READY + answer)
        with pytest.raises(ProtocolError):
            runner.request(TASK, 1.0)
        assert process.killed

    @pytest.mark.parametrize(
        ("status", "name", "words"),
        [
            (139, "Died", "segmentation fault"),
            (137, "Died", "memory ran out"),
            (134, "Died", "aborted"),
            (132, "Died", "instruction"),
            (152, "TimeLimit", "processor time"),
            (1, "Died", "without an answer"),
            (0, "Died", "without an answer"),
        ],
    )
    def test_each_way_to_end_has_its_sentence(
        self, stand: StandIn, status: int, name: str, words: str
    ) -> None:
        runner, process = stand(READY, status)
        answer = runner.request(TASK, 1.0)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == name
        assert words in told_by(answer).english
        assert process.killed

    def test_half_an_answer_of_one_that_died_is_its_end(self, stand: StandIn) -> None:
        runner, _ = stand(READY + bytes(3), 139)
        answer = runner.request(TASK, 1.0)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == "Died"

    @pytest.mark.parametrize(
        ("status", "name", "message"),
        [
            (139, EXTERN_DIED, "env.f ended. It accessed memory that does not belong to it"),
            (137, EXTERN_DIED, "env.f ended. It was killed, most likely because memory ran out."),
            (152, "TimeLimit", "env.f ended. It used up its processor time."),
            (1, EXTERN_DIED, "env.f ended."),
            (None, EXTERN_DIED, "env.f ended."),
        ],
    )
    def test_the_end_of_an_evaluator_is_told_with_its_cause(
        self, stand: StandIn, status: int | None, name: str, message: str
    ) -> None:
        evaluator = Stand(status)
        failure = TaskFailure("run", EXTERN_DIED, "env.f ended.")
        runner, process = stand(READY + encode_frame(failure), evaluator=evaluator)
        answer = runner.request(TASK, 1.0)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == name
        assert told_by(answer).english.startswith(f"{answer.error_name}: {message}")
        assert process.killed
        assert evaluator.killed

    @pytest.mark.parametrize("answer", [b"", READY, READY + bytes(3)])
    def test_one_that_was_ended_for_what_others_took_has_no_answer(
        self, stand: StandIn, answer: bytes
    ) -> None:
        runner, process = stand(answer, 137)
        process.cause = "outside"
        with pytest.raises(DisplacedError):
            runner.request(TASK, 1.0)
        assert process.killed

    def test_nor_has_one_whose_evaluator_was(self, stand: StandIn) -> None:
        evaluator = Stand(137)
        evaluator.cause = "outside"
        failure = TaskFailure("run", EXTERN_DIED, "env.f ended.")
        runner, process = stand(READY + encode_frame(failure), evaluator=evaluator)
        with pytest.raises(DisplacedError):
            runner.request(TASK, 1.0)
        assert process.killed

    def test_what_took_the_machine_s_memory_alone_is_told_so(self, stand: StandIn) -> None:
        runner, process = stand(READY, 137)
        process.cause = "machine"
        answer = runner.request(TASK, 1.0)
        assert isinstance(answer, TaskFailure)
        assert "used up the machine's memory" in told_by(answer).english

    def test_why_an_evaluator_did_not_start_is_told(self, stand: StandIn) -> None:
        evaluator = Stand(1)
        evaluator.standard_error = "Traceback\nImportError: no torch"
        runner, _ = stand(b"", 1, evaluator)
        with pytest.raises(SandboxError) as caught:
            runner.request(TASK, 1.0)
        assert "ImportError: no torch" in caught.value.hint.english
        assert evaluator.killed

    def test_a_closed_runner_answers_nothing_more(self, stand: StandIn) -> None:
        runner, _ = stand(READY)
        runner.close()
        answer = runner.request(TASK, 1.0)
        assert isinstance(answer, TaskFailure)
        assert answer.error_name == "Died"
