"""How busy CPUs are, and which ones are chosen to measure on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.machine.cpus import (
    SAMPLE_SECONDS,
    Use,
    core_of,
    parse_list,
    quiet_cpus,
    usage,
    use_since_boot,
)
from tests.machine.trees import Passing, machine, siblings, stat

IDLE, HALF, FULL = (0, 20, 0), (10, 10, 0), (20, 0, 0)


def choose(folder: Path, count: int, *ticks: tuple[int, int, int]) -> tuple[int, ...]:
    """Choose among CPUs that had these ticks while they were watched."""
    passing = Passing(folder, *ticks)
    return quiet_cpus(count, range(len(ticks)), files=machine(folder), sleep=passing)


class TestUse:
    def test_each_cpu_has_its_ticks_since_boot(self, tmp_path: Path) -> None:
        files = machine(tmp_path, {"proc/stat": stat((5, 90, 1), (7, 80, 0))})
        assert {0: Use(5, 90, 1), 1: Use(7, 80, 0)} == use_since_boot(files)

    def test_waiting_for_a_disk_is_idle_and_interrupts_are_work(self, tmp_path: Path) -> None:
        files = machine(tmp_path, {"proc/stat": "cpu3 1 2 4 8 16 32 64 128 256 512\n"})
        assert {3: Use(1 + 2 + 4 + 32 + 64, 8 + 16, 128)} == use_since_boot(files)

    def test_an_old_kernel_counts_no_steal(self, tmp_path: Path) -> None:
        files = machine(tmp_path, {"proc/stat": "cpu0 1 2 4 8\n"})
        assert {0: Use(7, 8, 0)} == use_since_boot(files)

    @pytest.mark.parametrize("text", ["", "garbage\n\n", "cpu0 a b c\n", "cpux 1 2 3 4\n"])
    def test_what_is_no_count_is_left_out(self, tmp_path: Path, text: str) -> None:
        assert {} == use_since_boot(machine(tmp_path, {"proc/stat": text}))

    def test_a_sample_has_what_was_added_meanwhile(self, tmp_path: Path) -> None:
        passing = Passing(tmp_path, (3, 16, 1), (20, 0, 0))
        assert {0: Use(3, 16, 1), 1: Use(20, 0, 0)} == usage(machine(tmp_path), passing, 0.3)
        assert [0.3] == passing.slept

    def test_a_counter_that_goes_backwards_stands_still(self) -> None:
        assert Use(2, 0, 0) == Use(7, 4, 0).since(Use(5, 9, 1))

    def test_shares_are_of_all_ticks_and_stolen_ones_are_not_idle(self) -> None:
        use = Use(busy=5, idle=10, steal=5)
        assert (0.5, 0.25) == (use.busy_share, use.steal_share)
        assert (0, 0) == (Use(0, 0, 0).busy_share, Use(0, 0, 0).steal_share)

    def test_nobody_waits_where_nobody_counts(self, tmp_path: Path) -> None:
        slept: list[float] = []
        assert {} == usage(machine(tmp_path), slept.append)
        assert [] == slept

    def test_this_machine_counts_every_cpu_of_this_process(self) -> None:
        if not use_since_boot():
            pytest.skip("this kernel does not count")
        assert set(os.sched_getaffinity(0)) <= set(usage(seconds=0.01))


class TestLists:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [("0", (0,)), ("0,4", (0, 4)), ("2-3", (2, 3)), ("0-1,8-9", (0, 1, 8, 9)), ("", ())],
    )
    def test_ranges_and_single_numbers(self, text: str, numbers: tuple[int, ...]) -> None:
        assert numbers == parse_list(text)

    @pytest.mark.parametrize("text", ["x", "1-", "-1", "1-2-3", "0x3"])
    def test_anything_else_is_nothing(self, text: str) -> None:
        assert () == parse_list(text)

    def test_a_cpu_without_a_core_is_a_core_of_its_own(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0,2")
        files = machine(tmp_path)
        assert [(0, 2), (1,), (0, 2)] == [core_of(cpu, files) for cpu in range(3)]

    def test_a_core_that_does_not_name_its_cpu_is_not_believed(self, tmp_path: Path) -> None:
        name = "sys/devices/system/cpu/cpu1/topology/thread_siblings_list"
        assert (1,) == core_of(1, machine(tmp_path, {name: "5-6"}))


class TestChoice:
    def test_the_idlest_are_taken_in_ascending_order(self, tmp_path: Path) -> None:
        assert (0, 2) == choose(tmp_path, 2, IDLE, FULL, HALF, FULL)

    def test_among_those_alike_the_last_ones(self, tmp_path: Path) -> None:
        assert (2, 3) == choose(tmp_path, 2, IDLE, IDLE, IDLE, IDLE)

    def test_a_single_tick_of_work_makes_no_difference(self, tmp_path: Path) -> None:
        assert (1,) == choose(tmp_path, 1, IDLE, (1, 19, 0))

    def test_two_ticks_of_work_do(self, tmp_path: Path) -> None:
        assert (0,) == choose(tmp_path, 1, IDLE, (2, 18, 0))

    def test_stolen_time_counts_as_work(self, tmp_path: Path) -> None:
        assert (0,) == choose(tmp_path, 1, HALF, (0, 2, 18))

    def test_it_watches_for_a_fifth_of_a_second(self, tmp_path: Path) -> None:
        passing = Passing(tmp_path, IDLE, IDLE)
        quiet_cpus(1, (0, 1), files=machine(tmp_path), sleep=passing)
        assert [SAMPLE_SECONDS] == passing.slept

    def test_where_there_is_no_choice_it_does_not_watch(self, tmp_path: Path) -> None:
        passing = Passing(tmp_path, IDLE, IDLE)
        files = machine(tmp_path)
        assert (0, 1) == quiet_cpus(4, (1, 0), files=files, sleep=passing)
        assert [] == passing.slept

    def test_without_counts_the_last_ones_are_taken(self, tmp_path: Path) -> None:
        assert (4, 6) == quiet_cpus(2, (2, 6, 4), files=machine(tmp_path))

    def test_counts_that_stand_still_are_no_counts(self, tmp_path: Path) -> None:
        """A sandbox such as gVisor shows a file of zeros."""
        assert (2,) == choose(tmp_path, 1, (0, 0, 0), (0, 0, 0), (0, 0, 0))

    def test_cpus_that_are_not_available_are_not_taken(self, tmp_path: Path) -> None:
        passing = Passing(tmp_path, FULL, FULL, IDLE)
        assert (1,) == quiet_cpus(1, (0, 1), files=machine(tmp_path), sleep=passing)

    def test_what_can_be_pinned_to_is_returned_here(self) -> None:
        available = os.sched_getaffinity(0)
        chosen = quiet_cpus(1, available)
        assert 1 == len(chosen)
        assert set(chosen) <= available


class TestCores:
    def test_one_of_each_core_comes_before_a_second_one(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0,2", "1,3")
        assert (2, 3) == choose(tmp_path, 2, IDLE, HALF, IDLE, HALF)

    def test_neighbours_may_share_a_core_too(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0-1", "2-3")
        assert (1, 3) == choose(tmp_path, 2, IDLE, IDLE, IDLE, IDLE)

    def test_a_second_one_is_taken_when_each_core_has_given_one(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0,2", "1,3")
        assert (1, 2, 3) == choose(tmp_path, 3, HALF, IDLE, IDLE, IDLE)

    def test_an_idle_cpu_of_a_busy_core_is_as_busy_as_its_core(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0,2", "1,3")
        assert (0,) == choose(tmp_path, 1, IDLE, FULL, HALF, IDLE)

    def test_the_other_one_counts_even_if_it_is_not_available(self, tmp_path: Path) -> None:
        siblings(tmp_path, "0,2", "1,3")
        passing = Passing(tmp_path, IDLE, IDLE, IDLE, FULL)
        assert (0,) == quiet_cpus(1, (0, 1), files=machine(tmp_path), sleep=passing)
