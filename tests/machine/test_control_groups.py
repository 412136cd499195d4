"""The quotas of control groups, of both versions, at every height."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.machine.cpus import cpu_quota
from tests.machine.trees import machine, write

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
