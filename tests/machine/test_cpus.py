"""How busy CPUs are, and which ones are chosen to measure on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.machine.cpus import (
    SAMPLE_SECONDS,
    Use,
    core_of,
    cpu_quota,
    parse_list,
    quiet_cpus,
    usage,
    use_since_boot,
)
from tests.machine.trees import Passing, machine, siblings, stat, write

# The quotas of control groups, of both versions, at every height.


V1 = "33 31 0:29 {root} {mount} rw,relatime - cgroup cgroup rw,{controllers}\n"
V2 = "41 31 0:38 {root} {mount} rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHERS = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\nnot a mount\n"


def version_2(folder: Path, group: str, root: str = "/") -> Path:
    """Make a machine with groups of version 2 alone; return where they are mounted."""
    mount = folder / "sys/fs/cgroup"
    write(folder, "proc/self/mountinfo", OTHERS + V2.format(root=root, mount=mount))
    write(folder, "proc/self/cgroup", f"0::{group}\n")
    return mount


def version_1(folder: Path, group: str, root: str = "/", controllers: str = "cpu,cpuacct") -> Path:
    """Make a machine with groups of version 1 beside an empty hierarchy of version 2."""
    mount = folder / "sys/fs/cgroup/cpu"
    lines = V1.format(root="/", mount=folder / "memory", controllers="memory")
    lines += V1.format(root=root, mount=mount, controllers=controllers)
    lines += V2.format(root="/", mount=folder / "unified")
    write(folder, "proc/self/mountinfo", OTHERS + lines)
    write(folder, "proc/self/cgroup", f"4:memory:/m\n2:{controllers}:{group}\n0::/\n")
    return mount


class TestVersion2:
    def test_a_quota_is_in_cpus(self, tmp_path: Path) -> None:
        write(version_2(tmp_path, "/a"), "a/cpu.max", "150000 100000\n")
        assert 1.5 == cpu_quota(machine(tmp_path))

    def test_max_is_no_quota(self, tmp_path: Path) -> None:
        write(version_2(tmp_path, "/a"), "a/cpu.max", "max 100000\n")
        assert cpu_quota(machine(tmp_path)) is None

    def test_the_least_of_all_groups_above_holds(self, tmp_path: Path) -> None:
        mount = version_2(tmp_path, "/a/b/c")
        write(mount, "a/cpu.max", "200000 100000")
        write(mount, "a/b/cpu.max", "max 100000")
        write(mount, "a/b/c/cpu.max", "400000 100000")
        assert 2.0 == cpu_quota(machine(tmp_path))

    def test_a_container_sees_its_group_as_the_root(self, tmp_path: Path) -> None:
        write(version_2(tmp_path, "/"), "cpu.max", "50000 100000")
        assert 0.5 == cpu_quota(machine(tmp_path))

    @pytest.mark.parametrize("group", ["/docker/1f", "/elsewhere", "/../other"])
    def test_a_group_that_is_not_mounted_is_looked_for_at_the_mount(
        self, tmp_path: Path, group: str
    ) -> None:
        write(version_2(tmp_path, group, root="/docker/1f"), "cpu.max", "300000 100000")
        assert 3.0 == cpu_quota(machine(tmp_path))

    def test_a_group_outside_of_what_can_be_seen_is_not_looked_for(self, tmp_path: Path) -> None:
        mount = version_2(tmp_path, "/../other")
        write(mount, "cpu.max", "300000 100000")
        write(mount.parent, "other/cpu.max", "100000 100000")
        assert 3.0 == cpu_quota(machine(tmp_path))

    def test_other_groups_do_not_count(self, tmp_path: Path) -> None:
        write(version_2(tmp_path, "/a"), "b/cpu.max", "100000 100000")
        assert cpu_quota(machine(tmp_path)) is None


class TestVersion1:
    @pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct", "cpuacct,cpu"])
    def test_two_files_hold_it(self, tmp_path: Path, controllers: str) -> None:
        mount = version_1(tmp_path, "/a", controllers=controllers)
        write(mount, "a/cpu.cfs_quota_us", "250000\n")
        write(mount, "a/cpu.cfs_period_us", "100000\n")
        assert 2.5 == cpu_quota(machine(tmp_path))

    def test_minus_one_is_no_quota(self, tmp_path: Path) -> None:
        mount = version_1(tmp_path, "/a")
        write(mount, "a/cpu.cfs_quota_us", "-1\n")
        write(mount, "a/cpu.cfs_period_us", "100000\n")
        assert cpu_quota(machine(tmp_path)) is None

    def test_a_group_above_holds_too(self, tmp_path: Path) -> None:
        mount = version_1(tmp_path, "/a/b")
        write(mount, "cpu.cfs_quota_us", "100000\n")
        write(mount, "cpu.cfs_period_us", "50000\n")
        assert 2.0 == cpu_quota(machine(tmp_path))

    def test_accounting_alone_bounds_nothing(self, tmp_path: Path) -> None:
        mount = version_1(tmp_path, "/", controllers="cpuacct")
        write(mount, "cpu.cfs_quota_us", "100000\n")
        write(mount, "cpu.cfs_period_us", "100000\n")
        assert cpu_quota(machine(tmp_path)) is None


def test_a_mount_point_may_hold_a_blank(tmp_path: Path) -> None:
    folder = tmp_path / "with blank"
    line = V2.format(root="/", mount=str(folder).replace(" ", "\\040"))
    write(tmp_path, "proc/self/mountinfo", line)
    write(folder, "cpu.max", "100000 100000")
    assert 1.0 == cpu_quota(machine(tmp_path))


@pytest.mark.parametrize("text", ["", "max", "100000", "a b", "100000 0", "-1 100000"])
def test_what_is_no_quota_is_none(tmp_path: Path, text: str) -> None:
    write(version_2(tmp_path, "/a"), "a/cpu.max", text)
    assert cpu_quota(machine(tmp_path)) is None


def test_without_files_there_is_none(tmp_path: Path) -> None:
    assert cpu_quota(machine(tmp_path)) is None


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
