"""What runs side by side fits into the machine, and small programs are not kept waiting."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from grader.sandbox.room import Room

GIGABYTE = 2**30


def room(gigabytes: float) -> Room:
    """Return a room of so many gigabytes."""
    return Room(lambda: int(gigabytes * GIGABYTE / 0.9) + 1)


def enters(there: Room, limit: int, kind: str = "notebook") -> bool:
    """Say whether one more gets in at once."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with there.taken(kind, limit):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    found = entered.wait(0.2)
    leave.set()
    if found:
        thread.join()
    return found


def remember(there: Room, kind: str, *peaks: float) -> None:
    for peak in peaks:
        with there.taken(kind, GIGABYTE) as stay:
            stay.peak = int(peak * GIGABYTE)


def test_limits_together_never_exceed_the_machine() -> None:
    there = room(9)
    with ExitStack() as inside:
        for _ in range(2):
            inside.enter_context(there.taken("notebook", 4 * GIGABYTE))
        assert not enters(there, 4 * GIGABYTE)


def test_who_leaves_makes_room() -> None:
    there = room(5)
    with there.taken("notebook", 4 * GIGABYTE):
        pass
    assert enters(there, 4 * GIGABYTE)


def test_a_limit_larger_than_the_machine_is_let_in_alone() -> None:
    there = room(3)
    with there.taken("notebook", 4 * GIGABYTE):
        assert not enters(there, GIGABYTE // 2)
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
        assert not enters(there, GIGABYTE)
    large.join()
    assert ["large"] == order
