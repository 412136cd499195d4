"""Slices: how long blocks are, and in which order they are taken."""

from __future__ import annotations

import numpy as np
import pytest

from grader.timing.slices import (
    BASELINE,
    BLOCKS_OF_A_SLICE,
    CALLS_OF_A_SLICE,
    FEWEST_ROUNDS,
    FUNCTIONS,
    MOST_CALLS,
    MOST_ROUNDS,
    PROCESSOR,
    SUBMISSION,
    WALL,
    Plan,
    Spending,
    choose_plan,
    choose_rounds,
    take_slice,
)
from tests.timing.machine import FREE, Bench, Core

BLOCK = 4e-5


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


class TestPlan:
    @pytest.mark.parametrize(("seconds", "calls"), [(4e-6, 12), (3e-5, 2), (5e-5, 1), (9e-4, 1)])
    def test_a_block_has_calls_of_the_baseline_for_its_time(
        self, seconds: float, calls: int
    ) -> None:
        assert Plan(1, calls) == choose_plan(Bench(seconds), BLOCK, 1)

    def test_the_submission_has_no_say(self) -> None:
        assert Plan(1, 2) == choose_plan(Bench(3e-5, 3e-5, 1e-9, 1e-9), BLOCK, 1)

    def test_a_call_that_takes_long_warms_itself_up(self) -> None:
        assert Plan(0, 1, PROCESSOR) == choose_plan(Bench(0.1), BLOCK, 1)
        assert Plan(0, 1) == choose_plan(Bench(0.1), BLOCK, 2)

    @pytest.mark.parametrize(("threads", "clock"), [(1, PROCESSOR), (2, WALL)])
    def test_what_is_always_interrupted_is_timed_by_the_processor_s_clock(
        self, threads: int, clock: int
    ) -> None:
        """With more threads than one, the clock of that one leaves out what the others do."""
        assert Plan(1, 1, clock) == choose_plan(Bench(1.5e-3), BLOCK, threads)
        assert clock == choose_plan(Bench(1.5e-3, 1.5e-3, 1e-9, 1e-9), BLOCK, threads).clock

    def test_a_coarse_clock_of_the_processor_times_nothing(self) -> None:
        """gVisor counts processor time in steps of 10 ms: calls would take 0 or 10 ms."""
        steps = iter(np.repeat(np.arange(100) * 0.01, 500).tolist())
        assert WALL == choose_plan(Bench(1.5e-3), BLOCK, 1, lambda: next(steps)).clock
        assert WALL == choose_plan(Bench(1.5e-3), BLOCK, 1, lambda: 0.0).clock

    def test_one_call_that_was_disturbed_makes_no_blocks_cold(self) -> None:
        """A delay of 20 ms in that one call gave blocks of one cold call each."""
        bench = Bench(3e-5)
        run = bench.run

        def once(function: int, block: int, plan: Plan) -> None:
            calls = plan.calls if bench.events else 1000 * plan.calls
            run(function, block, plan._replace(calls=calls))

        bench.run = once  # type: ignore[method-assign]
        assert Plan(1, 2) == choose_plan(bench, BLOCK, 1)

    def test_a_function_that_takes_no_time_has_no_endless_blocks(self) -> None:
        assert Plan(1, MOST_CALLS) == choose_plan(Bench(1e-12), BLOCK, 1)

    def test_a_cold_first_call_is_never_timed(self) -> None:
        bench = Bench(4e-6)
        choose_plan(bench, BLOCK, 1)
        assert all(each.warm for each in bench.events if each.calls > 1)


class TestRounds:
    def test_a_slice_lasts_some_milliseconds(self) -> None:
        assert 25 == choose_rounds([Bench(5e-5)], [Plan(1, 1)])

    def test_it_has_a_round_at_least_and_never_too_many(self) -> None:
        assert 1 == choose_rounds([Bench(1.0)], [Plan(0, 1)])
        assert MOST_ROUNDS == choose_rounds([Bench(1e-6)], [Plan(1, 3)])

    @pytest.mark.parametrize("shapes", [3, 8])
    def test_shapes_share_the_blocks_of_a_slice(self, shapes: int) -> None:
        """The core is looked at before each of them, and has room for so many looks."""
        rounds = choose_rounds([Bench(1e-6)] * shapes, [Plan(1, 3)] * shapes)
        assert rounds * shapes * FUNCTIONS <= BLOCKS_OF_A_SLICE

    def test_a_function_that_is_slow_at_first_makes_it_no_shorter(self) -> None:
        slow = Bench(5e-5)
        run = slow.run

        def slowly(function: int, block: int, plan: Plan) -> None:
            calls = plan.calls if len(slow.events) > FUNCTIONS else 1000 * plan.calls
            run(function, block, plan._replace(calls=calls))

        slow.run = slowly  # type: ignore[method-assign]
        assert 25 == choose_rounds([slow], [Plan(1, 1)])

    def test_a_slow_submission_leaves_rounds_in_which_nothing_is_cold(self) -> None:
        assert FEWEST_ROUNDS == choose_rounds([Bench(5e-5, 5e-5, 0.1, 5e-5)], [Plan(1, 1)])

    def test_one_that_no_class_wants_to_wait_for_has_one_round(self) -> None:
        """Half a second a call kept a class waiting for 87 seconds, and got nothing for it."""
        assert 1 == choose_rounds([Bench(5e-5, 5e-5, 0.5, 5e-5)], [Plan(1, 1)])

    def test_its_calls_fit_into_the_ledger(self) -> None:
        rounds = choose_rounds([Bench(1e-9)], [Plan(1, 128)])
        assert FUNCTIONS * 129 * rounds <= CALLS_OF_A_SLICE


class TestSpending:
    @pytest.mark.parametrize(("processor", "wall", "spent"), [(2.0, 3.0, 2.0), (0.0, 40.0, 2.0)])
    def test_it_is_processor_time_or_where_little_is_had_a_part_of_the_clocks(
        self, processor: float, wall: float, spent: float
    ) -> None:
        spending = Spending(iter([5.0, 5.0 + processor]).__next__, iter([7.0, 7.0 + wall]).__next__)
        assert spent == spending.seconds()


class TestSlice:
    def take(self, *benches: Bench, rounds: int = 20) -> tuple[np.ndarray, ...]:
        plans = [Plan(1, 3)] * len(benches)
        seconds, _ = take_slice(benches, plans, rounds, Core(), generator())
        return seconds

    def test_it_has_the_seconds_of_a_call_by_function_and_round(self) -> None:
        (seconds,) = self.take(Bench(4.0, 3.0, 2.0, 1.0))
        assert np.array_equal(np.tile([[4.0], [3.0], [2.0], [1.0]], (1, 20)), seconds)

    def test_each_round_has_each_function_once_in_another_order(self) -> None:
        bench = Bench(1.0)
        self.take(bench)
        orders = [
            tuple(each.function for each in bench.events[first : first + FUNCTIONS])
            for first in range(0, len(bench.events), FUNCTIONS)
        ]
        assert {(0, 1, 2, 3)} == {tuple(sorted(order)) for order in orders}
        assert 10 < len(set(orders))

    def test_the_core_is_looked_at_before_each_block_and_after_the_last(self) -> None:
        core = Core()
        take_slice([Bench(1.0)] * 2, [Plan(1, 3)] * 2, 20, core, generator())
        assert [*range(161)] == core.looks

    def test_of_each_block_there_are_the_units_before_and_after_it(self) -> None:
        """A round is four times as long, and longer than a neighbour rests."""

        class Shared(Core):
            def units(self, looks: int) -> np.ndarray:
                return np.array([FREE] * 5 + [2.0] + [FREE] * (looks - 6))

        one, other = Bench(1.0), Bench(1.0)
        _, units = take_slice([one, other], [Plan(1, 3)] * 2, 20, Shared(), generator())
        order = generator().permutation(2 * FUNCTIONS)
        expected = np.full((2 * FUNCTIONS, 20), FREE)
        expected[order[[4, 5]], 0] = 2.0
        assert np.array_equal(expected, np.concatenate(units))
        assert (FUNCTIONS, 20) == units[0].shape

    def test_shapes_take_turns_within_a_round(self) -> None:
        one, other = Bench(1.0), Bench(2.0)
        first, second = self.take(one, other)
        assert (1.0, 2.0) == (first.max(), second.min())
        assert len(one.events) == len(other.events)

    def test_of_one_round_the_output_of_the_submission_is_kept(self) -> None:
        rounds = set()
        for seed in range(10):
            bench = Bench(1.0)
            take_slice([bench], [Plan(1, 3)], 20, Core(), np.random.default_rng(seed))
            (kept,) = bench.kept
            assert SUBMISSION == kept.function
            rounds.add(kept.block // FUNCTIONS)
        assert 5 < len(rounds)

    def test_all_functions_have_blocks_of_the_same_number_of_calls(self) -> None:
        bench = Bench(1.0)
        self.take(bench)
        assert {(1, 3)} == {(each.warm, each.calls) for each in bench.events}
        assert BASELINE in {each.function for each in bench.events}
