"""Blocks: what is timed, how many calls they have, and when one is measured again."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.timing.rounds import (
    ATTEMPTS,
    FACTORS,
    MOST_CALLS,
    SLOW_BLOCKS,
    Length,
    SystemMeter,
    affordable_calls,
    choose_calls,
    draw_factor,
    take_block,
    take_quiet_block,
)
from tests.timing.machine import RING, Disturbance, Event, Function, Machine

BLOCK_SECONDS = 0.005


class TestBlock:
    def test_its_seconds_are_those_of_one_call(self) -> None:
        machine = Machine()
        block = take_block(Function(machine, "f", 2e-6), 1, 1000, machine)
        assert (2e-6, 1.0, 0) == pytest.approx((block.seconds, block.share, block.switches))

    def test_the_function_is_prepared_before_the_clock_starts(self) -> None:
        machine = Machine()
        take_block(Function(machine, "f", 1e-6), 1, 10, machine)
        assert [Event("prepare", "f", 1), Event("run", "f", 1, 10)] == machine.events

    def test_it_says_what_came_in_between(self) -> None:
        machine = Machine([Disturbance(switches=3, waiting=1.0)])
        block = take_block(Function(machine, "f", 1.0), 0, 4, machine)
        assert (5 / 4, 4 / 5, 3) == pytest.approx((block.seconds, block.share, block.switches))

    def test_a_clock_that_stands_still_gives_a_time_all_the_same(self) -> None:
        machine = Machine()
        block = take_block(Function(machine, "f", 0.0), 0, 10, machine)
        assert block.seconds > 0
        assert 0.0 == block.share


class TestQuietBlock:
    def take(self, *disturbances: Disturbance, seconds: float = 1e-6, end: float = 1e9) -> Machine:
        self.machine = Machine(disturbances)
        function = Function(self.machine, "f", seconds)
        generator = np.random.default_rng(2)
        self.block = take_quiet_block(function, 1, Length(1000), generator, self.machine, end)
        return self.machine

    def test_an_undisturbed_block_is_taken_once(self) -> None:
        assert [1000] == [each.calls for each in self.take().blocks()]

    def test_a_disturbed_block_is_taken_again_with_another_number_of_calls(self) -> None:
        blocks = self.take(Disturbance(switches=1), Disturbance(switches=2)).blocks()
        assert 3 == len({each.calls for each in blocks}) == len(blocks)
        assert all(FACTORS[0] * 1000 <= each.calls <= FACTORS[1] * 1000 + 1 for each in blocks)
        assert 0 == self.block.switches

    def test_a_machine_that_is_never_quiet_ends_it_with_a_disturbed_block(self) -> None:
        machine = self.take(*[Disturbance(switches=each) for each in range(1, 10)])
        assert ATTEMPTS == len(machine.blocks())
        assert ATTEMPTS == self.block.switches

    def test_at_the_end_of_the_time_a_disturbed_block_is_taken_as_it_is(self) -> None:
        assert 1 == len(self.take(Disturbance(switches=1), end=0.0).blocks())

    @pytest.mark.parametrize("disturbance", [Disturbance(waiting=60.0), Disturbance(steal=5)])
    def test_nothing_but_a_switch_is_a_reason_to_take_it_again(
        self, disturbance: Disturbance
    ) -> None:
        assert 1 == len(self.take(disturbance).blocks())

    def test_how_long_it_took_is_no_reason_to_take_it_again(self) -> None:
        assert [1000] == [each.calls for each in self.take(seconds=60.0, end=1e6).blocks()]

    def test_the_function_looks_at_what_the_last_call_left_once(self) -> None:
        events = self.take(Disturbance(switches=1)).events
        last = [each for each in events if each.what == "run"][-1]
        finished = [each for each in events if each.what == "finish"]
        assert [Event("finish", "f", (1 + last.calls - 1) % RING)] == finished
        assert events[-1] == finished[0]


class TestLength:
    @given(st.integers(1, 5000), st.floats(*FACTORS), st.integers(2, 8), st.integers(0, 7))
    def test_the_last_call_is_on_another_input_than_the_first(
        self, mean: int, factor: float, ring: int, first: int
    ) -> None:
        calls = Length(mean, factor).calls(ring)
        assert calls == 1 or (first + calls - 1) % ring != first % ring

    @given(st.integers(1, 5000), st.floats(*FACTORS), st.integers(2, 8))
    def test_it_has_a_call_and_at_most_one_more_than_was_drawn(
        self, mean: int, factor: float, ring: int
    ) -> None:
        calls = Length(mean, factor).calls(ring)
        assert 1 <= calls
        assert mean * factor - 0.5 <= calls <= max(1.0, mean * factor + 1.5)

    def test_factors_are_1_on_average(self) -> None:
        generator = np.random.default_rng(0)
        factors = [draw_factor(generator) for _ in range(4000)]
        assert FACTORS[0] <= min(factors) < max(factors) <= FACTORS[1]
        assert 1.0 == pytest.approx(np.mean(factors), abs=0.01)


class TestChooseCalls:
    @pytest.mark.parametrize("seconds", [1e-7, 20e-6, 0.0012, 0.0049])
    def test_a_block_of_the_baseline_lasts_as_long_as_asked(self, seconds: float) -> None:
        machine = Machine()
        calls = choose_calls(Function(machine, "baseline", seconds), BLOCK_SECONDS, machine)
        assert BLOCK_SECONDS <= calls * seconds * (1 + 1e-9)
        assert calls * seconds <= 1.2 * BLOCK_SECONDS + seconds

    def test_one_call_is_enough_of_a_slow_baseline(self) -> None:
        machine = Machine()
        assert 1 == choose_calls(Function(machine, "baseline", 3.0), BLOCK_SECONDS, machine)

    def test_disturbed_trials_do_not_make_blocks_short(self) -> None:
        machine = Machine([Disturbance(switches=1, waiting=0.004)] * 12)
        calls = choose_calls(Function(machine, "baseline", 20e-6), BLOCK_SECONDS, machine)
        assert BLOCK_SECONDS <= calls * 20e-6

    def test_a_function_that_takes_no_time_has_an_end(self) -> None:
        machine = Machine()
        assert MOST_CALLS == choose_calls(Function(machine, "f", 0.0), BLOCK_SECONDS, machine)


class TestAffordableCalls:
    def calls(self, seconds: float, *disturbances: Disturbance) -> int:
        self.machine = Machine(disturbances)
        function = Function(self.machine, "submission", seconds)
        return affordable_calls(function, 250, BLOCK_SECONDS, self.machine)

    @pytest.mark.parametrize("seconds", [1e-9, 20e-6, 199e-6])
    def test_a_submission_cannot_buy_itself_another_block(self, seconds: float) -> None:
        assert 250 == self.calls(seconds)

    @pytest.mark.parametrize(("seconds", "calls"), [(0.0011, 45), (0.009, 5), (7.0, 1)])
    def test_one_that_is_ten_times_slower_gets_fewer_calls(
        self, seconds: float, calls: int
    ) -> None:
        assert calls == self.calls(seconds)
        assert calls * seconds <= SLOW_BLOCKS * BLOCK_SECONDS or calls == 1

    def test_a_disturbed_look_is_not_believed(self) -> None:
        assert 250 == self.calls(20e-6, *[Disturbance(switches=1, waiting=0.02)] * 20)

    def test_a_very_slow_one_is_looked_at_once(self) -> None:
        self.calls(7.0, *[Disturbance(switches=1)] * 40)
        assert 1 == len(self.machine.blocks())


class TestSystemMeter:
    def test_clocks_go_on_while_the_thread_works(self) -> None:
        meter = SystemMeter((0,))
        wall, processor = meter.wall(), meter.processor()
        while meter.processor() == processor:
            pass
        assert meter.wall() > wall

    def test_a_thread_that_sleeps_has_no_processor(self) -> None:
        meter = SystemMeter((0,))
        wall, processor = meter.wall(), meter.processor()
        time.sleep(0.05)
        assert meter.processor() - processor < meter.wall() - wall

    def test_switches_are_those_of_this_process_that_it_did_not_ask_for(self) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        between = SystemMeter((0,)).switches()
        assert before <= between <= resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

    def test_steal_is_that_of_the_processors_measured_on(self, tmp_path: Path) -> None:
        statistics = tmp_path / "stat"
        statistics.write_text(
            "cpu  9 9 9 9 9 9 9 700 0 0\n"
            "cpu0 9 9 9 9 9 9 9 100 0 0\n"
            "cpu1 9 9 9 9 9 9 9 20 0 0\n"
            "cpu11 9 9 9 9 9 9 9 3 0 0\n"
            "\n"
            "ctxt 12345\n"
        )
        assert 120 == SystemMeter((0, 1), statistics).steal()
        assert 3 == SystemMeter((11,), statistics).steal()

    def test_a_probe_takes_time(self) -> None:
        assert SystemMeter((0,)).probe() > 0

    def test_this_systems_statistics_can_be_read(self) -> None:
        assert 0 <= SystemMeter((0,)).steal()

    def test_a_system_without_statistics_has_no_steal(self, tmp_path: Path) -> None:
        assert 0 == SystemMeter((0,), tmp_path / "none").steal()
