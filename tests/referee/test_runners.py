"""The pool of runners: started ahead of need, used once, ended in any case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.errors import SandboxError
from grader.messages import (
    SEARCH_SECONDS,
    FindStep,
    RunArgument,
    RunModule,
    TaskFailure,
    pack_array,
)
from grader.referee.runners import Kind, RunnerPool

ANSWER = TaskFailure("run", "Died", "A fake.")
TASK: Any = None


class FakeRunner:
    """A runner that notes what is done with it."""

    peak = 0

    def __init__(self, kind: Kind, fails: bool = False) -> None:
        self.kind = kind
        self.fails = fails
        self.events: list[str] = []
        self.timeouts: list[float] = []

    def request(self, task: object, timeout: float) -> TaskFailure:
        self.timeouts.append(timeout)
        self.events.append("request")
        return ANSWER

    def await_start(self) -> None:
        self.events.append("await_start")
        if self.fails:
            raise SandboxError("A runner could not be started.")

    def close(self) -> None:
        self.events.append("close")

    def __enter__(self) -> FakeRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Factory:
    """Starts fakes; those of a kind in `fails` never become ready."""

    def __init__(self, *fails: Kind) -> None:
        self.runners: list[FakeRunner] = []
        self._fails = fails

    def __call__(self, kind: Kind) -> Any:
        self.runners.append(FakeRunner(kind, kind in self._fails))
        return self.runners[-1]

    def events(self, kind: Kind) -> list[list[str]]:
        return [runner.events for runner in self.runners if runner.kind == kind]


def test_a_runner_that_was_expected_does_the_task_and_ends() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["pure"])
        assert ANSWER is pool.request("pure", TASK)
    assert [["request", "close"]] == factory.events("pure")


def test_one_that_was_not_expected_is_started_for_the_task() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.request("extern", TASK)
        pool.request("extern", TASK)
    assert [["request", "close"]] * 2 == factory.events("extern")


def test_what_only_explains_is_not_waited_for_long() -> None:
    """A program between two steps may be one that takes an hour to build: no clock of the runner's
    ends that."""
    factory = Factory()
    run = RunModule(b"", (RunArgument(pack_array(np.zeros((1, 1), "float32"))),), "llvm", 1)
    with RunnerPool(factory, 120) as pool:
        pool.request("pure", run)
        pool.request("pure", FindStep(run, b"", b"", 0.0))
    assert [[120], [SEARCH_SECONDS]] == [each.timeouts for each in factory.runners]


def test_leaving_ends_those_that_nobody_used() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["pure", "pure", "timing"])
        for kind in ("pure", "timing"):
            pool.request(kind, TASK)
    assert all(runner.events[-1] == "close" for runner in factory.runners)


def test_settling_ends_what_is_not_needed_and_waits_for_the_rest() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["timing"])
        pool.settle("timing")
        assert [["await_start"]] == factory.events("timing")
        pool.expect(["pure"])
        pool.settle("timing")
        assert all(events == ["close"] for events in factory.events("pure"))
        pool.request("timing", TASK)
    assert [["await_start", "await_start", "request", "close"]] == factory.events("timing")


def test_a_runner_that_never_becomes_ready_is_said_when_settling() -> None:
    with RunnerPool(Factory("timing"), 20) as pool:
        pool.expect(["timing"])
        with pytest.raises(SandboxError, match="could not be started"):
            pool.settle("timing")
