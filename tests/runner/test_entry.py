"""The runner's process: what it imports, and how it serves."""

from __future__ import annotations

import socket

import pytest

from grader.messages import (
    RUNNER_FRAME_LIMIT,
    FromRunner,
    TaskFailure,
    ToRunner,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.runner.entry import main, serve
from tests.runner import modules


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
            return TaskFailure("load", task.module.decode(), "")

        serve(theirs, perform)
        names = [
            decode_payload(read_frame(ours, RUNNER_FRAME_LIMIT), TaskFailure).error_name
            for _ in range(2)
        ]
        assert names == ["a", "b"]

    def test_what_is_no_task_is_a_failure(self, pair) -> None:
        ours, theirs = pair
        ours.sendall(b"\1" + bytes(7) + b"\xc1")
        ours.shutdown(socket.SHUT_WR)
        serve(theirs, lambda _: pytest.fail("nothing to do"))
        answer = decode_payload(read_frame(ours, RUNNER_FRAME_LIMIT), TaskFailure)
        assert (answer.stage, answer.error_name) == ("decode", "FrameError")


class TestProcess:
    def test_another_kind_is_refused(self) -> None:
        with pytest.raises(SystemExit, match="no such kind"):
            main(["0", "other"])
