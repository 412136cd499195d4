"""How many submissions a worker is sent, by how quick it is and what it waits for."""

from __future__ import annotations

import pytest

from grader.cluster.dispatch import AHEAD_SECONDS, LONGEST_ROW, Load

THREADS = 2
SLOW, QUICK = 4 * AHEAD_SECONDS, AHEAD_SECONDS / 1000


@pytest.fixture
def load() -> Load:
    return Load(THREADS, course=None)  # type: ignore[arg-type]  # nothing is sent


def grade(load: Load, *seconds: float) -> float:
    """Have it grade one after the other; return what time it is then."""
    now = 0.0
    for each in seconds:
        load.take("one", now)
        now += each
        load.end("one", now)
    return now


def give(load: Load, count: int, now: float = 0.0) -> None:
    for number in range(count):
        load.take(f"given {number}", now)


@pytest.mark.parametrize("seconds", [(), (SLOW,), (QUICK, SLOW, QUICK)])
def test_one_waits_where_a_grading_takes_its_time(load: Load, seconds: tuple[float, ...]) -> None:
    grade(load, *seconds)
    assert THREADS + 1 == load.room


def test_a_row_waits_where_all_are_quick(load: Load) -> None:
    grade(load, QUICK, QUICK, QUICK)
    assert THREADS + LONGEST_ROW == load.room


def test_it_is_sent_nothing_before_half_of_a_row_is_done(load: Load) -> None:
    now = grade(load, QUICK)
    give(load, THREADS + LONGEST_ROW, now)
    rooms = []
    for number in range(LONGEST_ROW // 2):
        load.end(f"given {number}", now + QUICK)
        rooms.append(load.room)
    assert {0} == set(rooms[:-1])
    assert LONGEST_ROW // 2 == rooms[-1]


def test_who_stands_aside_leaves_a_place_but_only_one_for_each_thread(load: Load) -> None:
    give(load, THREADS + 1)
    assert 0 == load.room
    for number in range(THREADS + 1):
        load.aside.add(f"given {number}")
    assert THREADS == load.room
    load.end("given 0", SLOW)
    assert {"given 1", "given 2"} == load.aside


def test_with_a_row_in_hand_it_is_slow_as_soon_as_nothing_comes_back(load: Load) -> None:
    now = grade(load, QUICK)
    give(load, LONGEST_ROW, now)
    assert not load.is_slow(now + AHEAD_SECONDS / 2)
    assert load.is_slow(now + 2 * AHEAD_SECONDS)
    assert LONGEST_ROW - THREADS - 1 == -load.room


def test_one_that_has_nothing_to_do_is_not_slow(load: Load) -> None:
    now = grade(load, QUICK)
    assert not load.is_slow(now + 100 * AHEAD_SECONDS)
    load.take("late", now + 100 * AHEAD_SECONDS)
    assert not load.is_slow(now + 100 * AHEAD_SECONDS)
