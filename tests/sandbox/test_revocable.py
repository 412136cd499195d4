"""Ending everything that was started."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from grader.errors import SandboxError
from grader.language import foreign
from grader.sandbox.interface import Command
from grader.sandbox.room import RevocableSandbox

COMMAND = Command("python", ("-c", "pass"))


class FakeProcess:
    """A process that only can be killed."""

    killed = 0

    def kill(self) -> None:
        self.killed += 1


class FakeSandbox:
    """A sandbox whose processes are fakes; `wait` is called before one is there."""

    level = "strong"
    detail = foreign("A fake.")

    def __init__(self) -> None:
        self.started: list[FakeProcess] = []
        self.may_start = threading.Event()
        self.may_start.set()

    def start(self, command: Command) -> Any:
        self.may_start.wait(20)
        self.started.append(FakeProcess())
        return self.started[-1]


@pytest.fixture
def inner() -> FakeSandbox:
    return FakeSandbox()


@pytest.fixture
def sandbox(inner: FakeSandbox) -> RevocableSandbox:
    return RevocableSandbox(inner)


def test_it_says_what_the_sandbox_says(sandbox: RevocableSandbox) -> None:
    assert ("strong", "A fake.") == (sandbox.level, sandbox.detail.english)


def test_what_was_started_goes_on_until_it_is_revoked(
    sandbox: RevocableSandbox, inner: FakeSandbox
) -> None:
    processes = [sandbox.start(COMMAND), sandbox.start(COMMAND)]
    assert processes == inner.started
    assert [0, 0] == [process.killed for process in inner.started]
    sandbox.revoke()
    assert [1, 1] == [process.killed for process in inner.started]


def test_nothing_is_started_afterwards(sandbox: RevocableSandbox, inner: FakeSandbox) -> None:
    sandbox.revoke()
    with pytest.raises(SandboxError, match="interrupted"):
        sandbox.start(COMMAND)
    assert [] == inner.started


def test_what_is_just_being_started_is_ended(sandbox: RevocableSandbox, inner: FakeSandbox) -> None:
    inner.may_start.clear()
    errors: list[str] = []

    def start() -> None:
        try:
            sandbox.start(COMMAND)
        except SandboxError as error:
            errors.append(error.message.english)

    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    sandbox.revoke()
    inner.may_start.set()
    thread.join(20)
    assert ["The work was interrupted."] == errors
    assert [1] * len(inner.started) == [process.killed for process in inner.started]
