"""Many beside each other, or one alone, first come first served."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from grader.machine.quiet import Quiet

SECONDS = 20.0
BRIEFLY = 0.05
"""Long enough for a thread to get what it must not get."""


class Visitor:
    """A thread that takes a lock, says so, and holds it until it is told to leave."""

    def __init__(self, enter: Callable[[], AbstractContextManager[None]]) -> None:
        self._enter = enter
        self.inside = threading.Event()
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._enter():
            self.inside.set()
            self._leave.wait(SECONDS)

    def comes_in(self) -> bool:
        return self.inside.wait(SECONDS)

    def stays_out(self) -> bool:
        return not self.inside.wait(BRIEFLY)

    def leaves(self) -> None:
        self._leave.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def quiet() -> Quiet:
    return Quiet()


@contextmanager
def visiting(*visitors: Visitor) -> Iterator[None]:
    """Let the visitors leave, whatever happens."""
    try:
        yield
    finally:
        for visitor in visitors:
            visitor.leaves()


def test_those_who_share_are_inside_together(quiet: Quiet) -> None:
    first, second = Visitor(quiet.shared), Visitor(quiet.shared)
    with visiting(first, second):
        assert first.comes_in()
        assert second.comes_in()


@pytest.mark.parametrize("other", ["shared", "exclusive"])
def test_whoever_has_it_exclusively_is_alone(quiet: Quiet, other: str) -> None:
    alone = Visitor(quiet.exclusive)
    assert alone.comes_in()
    later = Visitor(getattr(quiet, other))
    assert later.stays_out()
    alone.leaves()
    assert later.comes_in()
    later.leaves()


def test_exclusive_waits_for_all_who_share_already(quiet: Quiet) -> None:
    first, second = Visitor(quiet.shared), Visitor(quiet.shared)
    assert first.comes_in()
    assert second.comes_in()
    alone = Visitor(quiet.exclusive)
    first.leaves()
    assert alone.stays_out()
    second.leaves()
    assert alone.comes_in()
    alone.leaves()


def test_who_comes_to_share_later_waits_for_whoever_waits_to_be_alone(quiet: Quiet) -> None:
    """Otherwise a busy batch would never time anything."""
    first = Visitor(quiet.shared)
    assert first.comes_in()
    alone = Visitor(quiet.exclusive)
    assert alone.stays_out()
    late = Visitor(quiet.shared)
    assert late.stays_out()
    first.leaves()
    assert alone.comes_in()
    assert late.stays_out()
    alone.leaves()
    assert late.comes_in()
    late.leaves()


def test_who_waits_to_share_goes_before_the_next_who_wants_to_be_alone(quiet: Quiet) -> None:
    """Otherwise a batch that always times something would never go on."""
    alone = Visitor(quiet.exclusive)
    assert alone.comes_in()
    sharing = Visitor(quiet.shared)
    assert sharing.stays_out()
    next_alone = Visitor(quiet.exclusive)
    assert next_alone.stays_out()
    alone.leaves()
    assert sharing.comes_in()
    assert next_alone.stays_out()
    sharing.leaves()
    assert next_alone.comes_in()
    next_alone.leaves()


@pytest.mark.parametrize("way", ["shared", "exclusive"])
def test_an_error_inside_gives_it_back(quiet: Quiet, way: str) -> None:
    with pytest.raises(ValueError, match="mine"), getattr(quiet, way)():
        raise ValueError("mine")
    visitor = Visitor(quiet.exclusive)
    with visiting(visitor):
        assert visitor.comes_in()


def test_many_threads_in_any_order_never_meet_one_that_is_alone(quiet: Quiet) -> None:
    sharing, alone, wrong = [], [], []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            if draw.random() < 0.3:
                with quiet.exclusive():
                    alone.append(seed)
                    wrong.extend((*sharing, *alone[1:]))
                    time.sleep(draw.random() / 5000)
                    wrong.extend((*sharing, *alone[1:]))
                    alone.remove(seed)
            else:
                with quiet.shared():
                    sharing.append(seed)
                    wrong.extend(alone)
                    time.sleep(draw.random() / 5000)
                    wrong.extend(alone)
                    sharing.remove(seed)

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert [False] * 8 == [thread.is_alive() for thread in threads]
    assert [] == wrong


class Work:
    """Work in another process, which writes down what is done to it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def pause(self) -> None:
        self.events.append("pause")

    def resume(self) -> None:
        self.events.append("resume")


class TestAside:
    """Work that nobody waits for, and that disturbs nobody."""

    def test_it_is_stopped_while_somebody_measures(self) -> None:
        quiet, work = Quiet(), Work()
        with quiet.aside(work):
            with quiet.exclusive():
                assert ["pause"] == work.events
            assert ["pause", "resume"] == work.events

    def test_it_begins_stopped_where_somebody_measures(self) -> None:
        quiet, work = Quiet(), Work()
        with quiet.exclusive(), quiet.aside(work):
            assert ["pause"] == work.events

    def test_it_is_left_alone_otherwise(self) -> None:
        quiet, work = Quiet(), Work()
        with quiet.aside(work), quiet.shared():
            assert [] == work.events
        with quiet.exclusive():
            assert [] == work.events
