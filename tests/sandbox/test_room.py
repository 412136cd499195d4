"""What runs side by side fits into the machine, and small programs are not kept waiting.

Beside others, what the machine did to a program is not told as its own doing.

Ending everything that was started.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import pytest

from grader.errors import DisplacedError, SandboxError
from grader.language import foreign
from grader.sandbox.interface import Command
from grader.sandbox.room import CrowdedSandbox, RevocableSandbox, Room, refuse_displaced

GIGABYTE = 2**30


def room(gigabytes: float) -> Room:
    """Return a room of so many gigabytes."""
    return Room(lambda: int(gigabytes * GIGABYTE / 0.9) + 1)


def enters(there: Room, limit: int, kind: str = "notebook", seconds: float = 20) -> bool:
    """Say whether one more gets in within a time: a busy machine begins threads late."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with there.taken(kind, limit):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    found = entered.wait(seconds)
    leave.set()
    if found:
        thread.join()
    return found


def has_to_wait(there: Room, limit: int) -> bool:
    return not enters(there, limit, seconds=0.2)


def remember(there: Room, kind: str, *peaks: float) -> None:
    for peak in peaks:
        with there.taken(kind, GIGABYTE) as stay:
            stay.peak = int(peak * GIGABYTE)


def test_limits_together_never_exceed_the_machine() -> None:
    there = room(9)
    with ExitStack() as inside:
        for _ in range(2):
            inside.enter_context(there.taken("notebook", 4 * GIGABYTE))
        assert has_to_wait(there, 4 * GIGABYTE)


def test_who_leaves_makes_room() -> None:
    there = room(5)
    with there.taken("notebook", 4 * GIGABYTE):
        pass
    assert enters(there, 4 * GIGABYTE)


def test_a_limit_larger_than_the_machine_is_let_in_alone() -> None:
    there = room(3)
    with there.taken("notebook", 4 * GIGABYTE):
        assert has_to_wait(there, GIGABYTE // 2)
    assert enters(there, 4 * GIGABYTE)


def test_programs_are_reckoned_with_what_programs_like_them_have_used() -> None:
    there = room(5)
    remember(there, "notebook", 0.5)
    assert GIGABYTE == there.reckoned("notebook", 4 * GIGABYTE)
    assert 4 * GIGABYTE == there.reckoned("other notebook", 4 * GIGABYTE)
    with there.taken("notebook", 4 * GIGABYTE):
        assert enters(there, 4 * GIGABYTE)


@pytest.mark.parametrize(("peaks", "reckoned"), [((0.01,), 0.5), ((3.9,), 4), ((0.5, 0.5, 3), 1)])
def test_a_single_greedy_one_does_not_decide_for_the_others(
    peaks: tuple[float, ...], reckoned: float
) -> None:
    there = room(50)
    remember(there, "notebook", *peaks)
    assert int(reckoned * GIGABYTE) == there.reckoned("notebook", 4 * GIGABYTE)


def test_who_came_first_gets_in_first() -> None:
    there = room(5)
    order: list[str] = []

    def stay(name: str, limit: int) -> None:
        with there.taken(name, limit):
            order.append(name)

    with there.taken("notebook", 3 * GIGABYTE):
        large = threading.Thread(target=stay, args=("large", 4 * GIGABYTE))
        large.start()
        while not there._queue:
            pass
        assert has_to_wait(there, GIGABYTE)
    large.join()
    assert ["large"] == order


class Ended:
    """A process that was ended for a reason."""

    standard_error = "words"
    peak = 5

    def __init__(self, cause: str) -> None:
        self.cause = cause

    def poll(self) -> int:
        return 137


class Ending:
    """A sandbox in which everything has ended for a reason."""

    level = "strong"
    detail = foreign("Everything ends.")

    def __init__(self, cause: str) -> None:
        self._cause = cause

    def start(self, command: Command) -> Any:
        return Ended(self._cause)


def in_a_crowd(cause: str) -> Any:
    return CrowdedSandbox(Ending(cause)).start(Command("python"))  # type: ignore[arg-type]


@pytest.mark.parametrize("cause", ["machine", "starved", "outside"])
def test_what_others_may_have_taken_is_refused_in_a_crowd(cause: str) -> None:
    with pytest.raises(DisplacedError, match="ran out of memory or processors"):
        refuse_displaced(in_a_crowd(cause))


@pytest.mark.parametrize("cause", ["", "memory", "processes", "files", "disk", "descriptors"])
def test_its_own_bounds_are_its_own_matter(cause: str) -> None:
    process = in_a_crowd(cause)
    refuse_displaced(process)
    assert (cause, 5, "words", 137) == (
        process.cause,
        process.peak,
        process.standard_error,
        process.poll(),
    )


@pytest.mark.parametrize("cause", ["machine", "starved"])
def test_alone_it_has_itself_to_blame(cause: str) -> None:
    refuse_displaced(Ended(cause))  # type: ignore[arg-type]


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
