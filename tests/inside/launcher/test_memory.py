"""Who has to go when the machine has little memory left: the largest, and early enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.inside.launcher.memory import MachineMemory, memory_left

MEGABYTE = 2**20
MEMINFO = "MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {left} kB\n"


def machine(folder: Path, total: int, left: int, *groups: Path) -> MachineMemory:
    """Return a machine with so many megabytes."""
    path = folder / "meminfo"
    path.write_text(MEMINFO.format(total=total * 1024, left=left * 1024))
    return MachineMemory(tuple(map(str, groups)), meminfo=str(path))


def group_of_version_2(folder: Path, limit: str, used: int, cached: int = 0) -> Path:
    group = folder / "group"
    group.mkdir()
    (group / "memory.max").write_text(f"{limit}\n")
    (group / "memory.current").write_text(f"{used * MEGABYTE}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached * MEGABYTE}\n")
    return group


def group_of_version_1(folder: Path, limit: int, used: int, active: int) -> Path:
    group = folder / "group"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(f"{limit * MEGABYTE}\n")
    (group / "memory.usage_in_bytes").write_text(f"{used * MEGABYTE}\n")
    (group / "memory.stat").write_text(f"cache 5\ntotal_active_file {active * MEGABYTE}\n")
    return group


class TestLeft:
    def test_it_is_what_the_kernel_says(self, tmp_path: Path) -> None:
        assert 300 * MEGABYTE == machine(tmp_path, 8000, 300).available()

    def test_a_group_of_version_2_bounds_it(self, tmp_path: Path) -> None:
        group = group_of_version_2(tmp_path, f"{1000 * MEGABYTE}", 900, cached=50)
        found = machine(tmp_path, 8000, 4000, group)
        assert (150 * MEGABYTE, 1000 * MEGABYTE) == (found.available(), found.total)

    def test_a_group_without_a_bound_does_not(self, tmp_path: Path) -> None:
        found = machine(tmp_path, 8000, 4000, group_of_version_2(tmp_path, "max", 900))
        assert (4000 * MEGABYTE, 8000 * MEGABYTE) == (found.available(), found.total)

    def test_half_of_what_is_cached_and_in_use_counts_as_left(self, tmp_path: Path) -> None:
        found = machine(tmp_path, 8000, 4000, group_of_version_1(tmp_path, 1000, 900, active=80))
        assert 140 * MEGABYTE == found.available()

    def test_there_is_some_here(self) -> None:
        assert 0 < memory_left() <= MachineMemory().total


class TestTurn:
    @pytest.mark.parametrize(
        ("used", "left", "goes"),
        [(7000, 750, True), (7000, 900, False), (500, 130, False), (500, 120, True), (0, 0, False)],
    )
    def test_a_sandbox_goes_that_holds_four_times_what_is_left(
        self, tmp_path: Path, used: int, left: int, goes: bool
    ) -> None:
        assert goes is machine(tmp_path, 8000, left).is_short_for(used * MEGABYTE)

    def test_the_larger_one_goes_first(self, tmp_path: Path) -> None:
        for left in range(8000, 0, -50):
            found = machine(tmp_path, 8000, left)
            if found.is_short_for(2000 * MEGABYTE):
                assert not found.is_short_for(500 * MEGABYTE)
                return
        pytest.fail("nobody went")

    def test_nobody_goes_while_a_tenth_of_the_machine_is_left(self, tmp_path: Path) -> None:
        assert not machine(tmp_path, 1000, 101).is_short_for(890 * MEGABYTE)
