"""The pace of a machine: what a probe takes when nothing holds it back; and what it can do."""

from __future__ import annotations

import threading

import pytest

from grader.messages import MachineLimits
from grader.timing.pace import (
    FEWEST_PROBES,
    TOLERANCE,
    KnownLimits,
    KnownPace,
    find_pace,
    is_held_back,
)
from tests.timing.machine import PACE


class TestFindPace:
    def test_a_few_probes_say_nothing(self) -> None:
        assert 0.0 == find_pace([PACE] * (FEWEST_PROBES - 1))
        assert PACE == find_pace([PACE] * FEWEST_PROBES)

    def test_one_stroke_of_luck_is_not_the_pace(self) -> None:
        assert find_pace([PACE / 10, *[PACE] * 19]) > 0.9 * PACE

    def test_slow_times_do_not_change_it(self) -> None:
        assert PACE == find_pace([*[PACE] * 10, *[2 * PACE] * 30])

    @pytest.mark.parametrize(
        ("known", "pace"), [(PACE / 1.2, PACE / 1.2), (1.2 * PACE, PACE), (2 * PACE, PACE)]
    )
    def test_the_best_of_now_and_earlier_counts(self, known: float, pace: float) -> None:
        assert pace == find_pace([PACE] * 20, known)
        assert known == find_pace([], known)

    def test_what_is_too_good_is_not_believed(self) -> None:
        assert PACE == find_pace([PACE] * 20, PACE / 10)


class TestIsHeldBack:
    @pytest.mark.parametrize(
        ("probe", "held"), [(0.9, False), (1.0, False), (TOLERANCE, False), (1.25, True)]
    )
    def test_a_quarter_slower_is_held_back(self, probe: float, held: bool) -> None:
        assert held == is_held_back(probe, 1.0)

    def test_nothing_is_while_the_pace_is_unknown(self) -> None:
        assert not is_held_back(1e9, 0.0)


class TestKnownPace:
    def test_it_keeps_the_best_of_all_measurements(self) -> None:
        known = KnownPace()
        assert 0.0 == known.best
        assert [2.0, 2.0, 1.9, 1.9] == [known.learn([each] * 20) for each in (2.0, 2.4, 1.9, 2.2)]
        assert 1.9 == known.best

    def test_one_measurement_that_is_made_up_does_not_hold_up_the_next(self) -> None:
        known = KnownPace()
        assert [2.0, 0.01, 2.0] == [known.learn([each] * 20) for each in (2.0, 0.01, 2.0)]

    def test_threads_may_learn_together(self) -> None:
        known = KnownPace()
        threads = [
            threading.Thread(target=known.learn, args=([1 + each / 20] * 20,)) for each in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 1.0 == known.best


class TestKnownLimits:
    def test_the_most_of_each_is_known_once_there_are_two(self) -> None:
        known, cpus = KnownLimits(), (0, 1)
        assert MachineLimits(2e9, 1e9) == known.learn(cpus, MachineLimits(2e9, 1e9))
        assert known.find(cpus) is None
        assert MachineLimits(2e9, 3e9) == known.learn(cpus, MachineLimits(1e9, 3e9))
        assert MachineLimits(2e9, 3e9) == known.find(cpus)

    def test_nothing_is_known_of_other_processors(self) -> None:
        known = KnownLimits()
        for _ in range(2):
            known.learn((0,), MachineLimits(2e9, 1e9))
        assert known.find((1,)) is None
