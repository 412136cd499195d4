"""The runner's process: what it imports, and how it serves.

What a runner of each kind does.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from grader.inside.runner import entry
from grader.inside.runner.entry import perform, serve
from grader.inside.runner.evaluation import Evaluator
from grader.messages.frames import (
    READY,
    RUNNER_FRAME_LIMIT,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.messages.runner import BuildAhead, Built, FromRunner, RunResult, TaskFailure, ToRunner
from tests.inside.runner import modules
from tests.inside.runner.timed import timing_task

Start = Callable[..., "subprocess.Popen[bytes]"]

LOOK = """
import sys
from grader.inside.launcher.server import prepare
prepare("pure")
from grader.inside.runner import entry

def look(connection, perform):
    evaluator = perform.__closure__[0].cell_contents
    connection.sendall(
        bytes([sys.modules["torch"] is None, "tvm" in sys.modules, evaluator is not None])
    )

entry.serve = look
entry.main(sys.argv[1:])
"""


class TestServe:
    @pytest.fixture
    def pair(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            yield ours, theirs

    def test_it_answers_in_order_until_the_end(self, pair) -> None:
        ours, theirs = pair
        for name in (b"a", b"b"):
            ours.sendall(encode_frame(modules.task(name, [[1.0]])))
        ours.shutdown(socket.SHUT_WR)

        def perform(task: ToRunner) -> FromRunner:
            return TaskFailure("load", "Raised", "", error=task.module.decode())

        serve(theirs, perform)
        names = [
            decode_payload(read_frame(ours, RUNNER_FRAME_LIMIT), TaskFailure).error_name
            for _ in range(2)
        ]
        assert names == ["a", "b"]

    @pytest.mark.parametrize("module", [modules.document(modules.classifier()[0]), b"no module"])
    def test_what_comes_of_building_ahead_the_task_says(self, pair, module: bytes) -> None:
        ours, theirs = pair
        task = modules.task(module, np.zeros((2, *modules.SHAPE)))
        threading.Thread(
            target=lambda: (
                ours.sendall(encode_frame(BuildAhead(task))),
                ours.sendall(encode_frame(task)),
                ours.shutdown(socket.SHUT_WR),
            )
        ).start()
        answered = threading.Thread(target=lambda: (serve(theirs, perform), theirs.close()))
        answered.start()
        assert decode_payload(read_frame(ours, RUNNER_FRAME_LIMIT), Built).seconds > 0
        payload = read_frame(ours, RUNNER_FRAME_LIMIT)
        assert perform(task) == decode_payload(payload, RunResult | TaskFailure)
        assert read_frame(ours, RUNNER_FRAME_LIMIT) is None
        answered.join()

    def test_what_is_no_task_is_a_failure(self, pair) -> None:
        ours, theirs = pair
        ours.sendall(b"\1" + bytes(7) + b"\xc1")
        ours.shutdown(socket.SHUT_WR)
        serve(theirs, lambda _: pytest.fail("nothing to do"))
        answer = decode_payload(read_frame(ours, RUNNER_FRAME_LIMIT), TaskFailure)
        assert (answer.stage, answer.error_name) == ("decode", "FrameError")


class TestProcess:
    """A runner's process: `entry.serve` is replaced by a look at what is there."""

    @pytest.fixture
    def start(self) -> Iterator[Start]:
        started: list[subprocess.Popen[bytes]] = []

        def start(*inherited: socket.socket) -> subprocess.Popen[bytes]:
            numbers = [each.fileno() for each in inherited]
            words = [sys.executable, "-c", LOOK, *map(str, numbers)]
            process = subprocess.Popen(words, pass_fds=numbers, stderr=subprocess.PIPE)
            started.append(process)
            return process

        yield start
        for process in started:
            process.communicate(timeout=60)

    @pytest.fixture
    def tasks(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            yield ours, theirs

    def test_it_is_ready_without_pytorch(self, tasks, start: Start) -> None:
        start(tasks[1])
        tasks[1].close()
        assert READY + b"\1\1\0" == received(tasks[0])

    def test_with_an_evaluator_it_has_no_pytorch_either(self, tasks, start: Start) -> None:
        asking, answering = socket.socketpair()
        with asking, answering:
            start(tasks[1], asking)
            tasks[1].close()
            answering.sendall(READY)
            assert READY + b"\1\1\1" == received(tasks[0])

    def test_it_is_not_ready_before_its_evaluator_is(self, tasks, start: Start) -> None:
        asking, answering = socket.socketpair()
        with asking, answering:
            start(tasks[1], asking)
            tasks[0].settimeout(3.0)
            with pytest.raises(TimeoutError):
                tasks[0].recv(1)
            answering.sendall(READY)
            tasks[0].settimeout(60.0)
            assert tasks[0].recv(1)

    def test_where_its_evaluator_does_not_start_it_does_not_either(
        self, tasks, start: Start
    ) -> None:
        asking, answering = socket.socketpair()
        with asking:
            answering.close()
            process = start(tasks[1], asking)
            _, message = process.communicate(timeout=60)
        assert b"The process for external functions did not start." in message
        assert process.returncode == 1


def received(connection: socket.socket) -> bytes:
    """Return all that comes from a connection, up to its end."""
    content = b""
    while piece := connection.recv(100):
        content += piece
    return content


class TestPerform:
    def test_a_module_is_run(self) -> None:
        answer = perform(modules.task(modules.TwoOutputs, np.ones((1, 4))))
        assert isinstance(answer, RunResult)

    def test_a_failure_is_an_answer(self) -> None:
        answer = perform(modules.task(b"{", np.ones((1, 4))))
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "load"

    def test_an_error_of_our_own_is_an_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> RunResult:
            raise ZeroDivisionError("oh")

        monkeypatch.setattr(entry, "run_module", fail)
        answer = perform(modules.task(b"", np.ones((1, 4))))
        assert answer == TaskFailure("run", "Raised", "oh", error="ZeroDivisionError")

    def test_a_runner_with_an_evaluator_has_it_call_externs(self, evaluator: Evaluator) -> None:
        task = modules.task(modules.calls_extern("env.f"), np.ones((1, 4)), externs={"env.f": b"x"})
        answer = perform(task, evaluator)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("externs", "UnpicklingError")

    def test_a_runner_without_one_loads_no_student_python(self) -> None:
        task = modules.task(modules.TwoOutputs, np.ones((1, 4)), externs={"env.f": b"x"})
        answer = perform(task)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("externs", "NotHere")

    def test_a_runner_with_an_evaluator_measures_no_time(self, evaluator: Evaluator) -> None:
        answer = perform(timing_task(), evaluator)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("time", "NotHere")
