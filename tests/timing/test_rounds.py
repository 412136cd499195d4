"""Rounds: one block of each function, in random order, on the same inputs."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import numpy as np
import pytest

from grader.messages import ControlRound, TimingRound
from grader.timing.rounds import FACTORS, PAUSE, Series, Trio, take_control_round, take_round
from tests.timing.machine import PACE, QUIET, RING, Disturbance, Event, Function, Machine

SECONDS = {"baseline": 20e-6, "submission": 10e-6, "reference": 5e-6}


def trio(machine: Machine, shape: int = 0, calls: int = 1000, submission_calls: int = 1000) -> Trio:
    functions = [
        Function(machine, f"{name} {shape}", seconds * (1 + shape))
        for name, seconds in SECONDS.items()
    ]
    return Trio(*functions, calls, submission_calls)  # type: ignore[arg-type]


def take(
    machine: Machine, *trios: Trio, count: int = 1, seed: int = 1, end: float = 1e9
) -> list[TimingRound]:
    series = Series(np.random.default_rng(seed), machine, end)
    return [take_round(trios, series) for _ in range(count)]


def by_round(machine: Machine, size: int = 3) -> list[list[Event]]:
    blocks = machine.blocks()
    return [blocks[start : start + size] for start in range(0, len(blocks), size)]


class TestRound:
    def test_each_function_has_one_block_of_its_own_seconds(self) -> None:
        machine = Machine()
        (taken,) = take(machine, trio(machine))
        (group,) = taken.groups
        found = (group.baseline.seconds, group.submission.seconds, group.reference.seconds)
        assert tuple(SECONDS.values()) == pytest.approx(found)
        assert 3 == len({each.name for each in machine.blocks()}) == len(machine.blocks())

    def test_every_order_occurs_about_as_often(self) -> None:
        machine = Machine()
        take(machine, trio(machine), count=600)
        orders = Counter(tuple(each.name for each in blocks) for blocks in by_round(machine))
        assert 6 == len(orders)
        assert min(orders.values()) > 60

    def test_the_order_depends_on_the_seed_and_on_nothing_else(self) -> None:
        def order(seed: int) -> list[Event]:
            machine = Machine()
            take(machine, trio(machine), count=20, seed=seed)
            return machine.blocks()

        assert order(1) == order(1) != order(2)

    def test_all_blocks_begin_with_the_same_input_and_have_as_many_calls(self) -> None:
        machine = Machine()
        take(machine, trio(machine), count=40)
        for blocks in by_round(machine):
            assert 1 == len({(each.place, each.calls) for each in blocks})

    def test_the_first_input_and_the_number_of_calls_are_drawn_for_each_round(self) -> None:
        machine = Machine()
        take(machine, trio(machine), count=40)
        firsts = [blocks[0] for blocks in by_round(machine)]
        assert set(range(RING)) == {each.place for each in firsts}
        calls = [each.calls for each in firsts]
        assert 1000 * FACTORS[0] <= min(calls) < max(calls) <= 1000 * FACTORS[1] + 1
        assert len(set(calls)) > 30

    def test_a_slow_submission_has_fewer_calls_by_the_same_factor(self) -> None:
        machine = Machine()
        take(machine, trio(machine, submission_calls=100), count=40)
        for blocks in by_round(machine):
            calls = {each.name: each.calls for each in blocks}
            assert calls["baseline 0"] == calls["reference 0"]
            assert calls["baseline 0"] / 10 == pytest.approx(calls["submission 0"], abs=1.5)

    def test_a_disturbed_block_is_taken_again_and_the_others_are_not(self) -> None:
        machine = Machine([QUIET, Disturbance(switches=1)])
        (taken,) = take(machine, trio(machine))
        names = [each.name for each in machine.blocks()]
        assert 4 == len(names)
        assert names[1] == names[2]
        (group,) = taken.groups
        assert (0, 0, 0) == (
            group.baseline.switches,
            group.submission.switches,
            group.reference.switches,
        )

    def test_after_the_end_nothing_is_taken_again(self) -> None:
        machine = Machine([Disturbance(switches=1)] * 3)
        take(machine, trio(machine), end=0.0)
        assert 3 == len(machine.blocks())

    def test_steal_is_that_of_the_whole_round(self) -> None:
        machine = Machine([Disturbance(steal=2), Disturbance(steal=3), QUIET, QUIET])
        assert [5, 0] == [each.moment.steal for each in take(machine, trio(machine), count=2)]


class TestShapes:
    def test_groups_stand_in_the_order_of_the_shapes(self) -> None:
        machine = Machine()
        for taken in take(machine, trio(machine, 0), trio(machine, 1), count=10):
            first, second = (group.baseline.seconds for group in taken.groups)
            assert (20e-6, 40e-6) == pytest.approx((first, second))

    def test_they_are_measured_in_random_order_one_after_the_other(self) -> None:
        machine = Machine()
        take(machine, trio(machine, 0), trio(machine, 1), count=200)
        orders = Counter(
            tuple(shape for shape, _ in groupby(each.name.split()[1] for each in blocks))
            for blocks in by_round(machine, 6)
        )
        assert {("0", "1"), ("1", "0")} == set(orders)
        assert min(orders.values()) > 60


class TestControlRound:
    def take(
        self, *disturbances: Disturbance, count: int = 1
    ) -> tuple[Machine, list[ControlRound]]:
        machine = Machine(disturbances)
        one, other = Function(machine, "one", 1e-6), Function(machine, "other", 2e-6)
        series = Series(np.random.default_rng(1), machine, 1e9)
        return machine, [take_control_round(one, other, 100, series) for _ in range(count)]

    def test_blocks_are_those_of_the_functions_given(self) -> None:
        _, rounds = self.take(count=10)
        for each in rounds:
            assert (1e-6, 2e-6) == pytest.approx((each.one.seconds, each.other.seconds))

    def test_both_orders_occur_about_as_often(self) -> None:
        machine, _ = self.take(count=200)
        orders = Counter(tuple(each.name for each in blocks) for blocks in by_round(machine, 2))
        assert {("one", "other"), ("other", "one")} == set(orders)
        assert min(orders.values()) > 60

    def test_disturbances_are_treated_as_in_other_rounds(self) -> None:
        machine, (taken,) = self.take(Disturbance(switches=1, steal=2))
        assert 3 == len(machine.blocks())
        assert (0, 0, 2) == (taken.one.switches, taken.other.switches, taken.moment.steal)


class TestSeries:
    def test_four_rounds_in_turn_have_the_stack_at_each_place_in_random_order(self) -> None:
        machine = Machine()
        rounds = take(machine, trio(machine), count=400)
        places = [each.moment.place for each in rounds]
        turns = [tuple(places[start : start + 4]) for start in range(0, 400, 4)]
        assert all({0, 1, 2, 3} == set(turn) for turn in turns)
        assert len(set(turns)) > 15

    def test_each_round_has_the_probe_that_was_taken_before_it(self) -> None:
        machine = Machine(probes=[3.0, 4.0])
        probes = [each.moment.probe for each in take(machine, trio(machine), count=3)]
        assert [3.0, 4.0, PACE] == probes

    def test_a_machine_that_is_held_back_is_waited_for(self) -> None:
        machine = Machine(probes=[2 * PACE, 2 * PACE, PACE])
        series = Series(np.random.default_rng(0), machine, 1e9, pace=PACE)
        taken = take_round([trio(machine)], series)
        assert PACE == taken.moment.probe
        assert [PAUSE, PAUSE] == machine.slept

    def test_at_the_end_of_the_time_nothing_is_waited_for(self) -> None:
        machine = Machine(probes=[2 * PACE] * 9)
        series = Series(np.random.default_rng(0), machine, 0.0, pace=PACE)
        taken = take_round([trio(machine)], series)
        assert 2 * PACE == taken.moment.probe
        assert [] == machine.slept

    def test_the_pace_is_learnt_from_the_probes(self) -> None:
        machine = Machine(probes=[PACE] * 10 + [2 * PACE] * 3)
        series = Series(np.random.default_rng(0), machine, 1e9)
        assert 0.0 == series.pace
        for _ in range(11):
            take_round([trio(machine)], series)
        assert PACE == series.pace
        assert 3 == len(machine.slept)
