"""What is known of machines of several kinds, and that nothing need be known."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from grader.machine.state import MachineFacts, machine_facts
from tests.machine.trees import Passing, machine, siblings, write

CPU = "sys/devices/system/cpu"


def no_sleep(seconds: float) -> None:
    """Let no time pass."""


def facts(folder: Path, contents: dict[str, str] | None = None) -> MachineFacts:
    return machine_facts((0, 1), files=machine(folder, contents), sleep=no_sleep)


def test_where_nothing_can_be_read_only_the_cpus_are_known(tmp_path: Path) -> None:
    assert MachineFacts(cpus=(0, 1)) == facts(tmp_path)


def test_files_that_hold_nonsense_are_no_error(tmp_path: Path) -> None:
    names = [
        f"{CPU}/intel_pstate/no_turbo",
        f"{CPU}/cpufreq/boost",
        f"{CPU}/cpu0/topology/thread_siblings_list",
        "proc/stat",
        "proc/loadavg",
        "proc/cpuinfo",
        "proc/self/mountinfo",
        "proc/self/cgroup",
    ]
    assert MachineFacts(cpus=(0, 1)) == facts(tmp_path, dict.fromkeys(names, "? 0-x : -\n"))


def test_folders_in_the_place_of_files_are_no_error(tmp_path: Path) -> None:
    for name in ("proc/stat", "proc/loadavg", f"{CPU}/cpu0/cpufreq/scaling_governor"):
        (tmp_path / name).mkdir(parents=True)
    assert MachineFacts(cpus=(0, 1)) == facts(tmp_path)


def test_the_real_machine_can_be_described_and_sent(tmp_path: Path) -> None:
    found = machine_facts(os.sched_getaffinity(0), seconds=0.01)
    assert tuple(sorted(os.sched_getaffinity(0))) == found.cpus
    assert found == msgspec.json.decode(msgspec.json.encode(found), type=MachineFacts, strict=False)


class TestProcessors:
    def test_cores_of_several_cpus_are_named_also_by_those_that_are_not_usable(
        self, tmp_path: Path
    ) -> None:
        siblings(tmp_path, "0,4", "1", "2,6")
        assert ((0, 4),) == facts(tmp_path).shared_cores

    def test_governors_are_those_of_the_usable_cpus(self, tmp_path: Path) -> None:
        names = ("powersave", "performance", "ondemand")
        contents = {
            f"{CPU}/cpu{number}/cpufreq/scaling_governor": name + "\n"
            for number, name in enumerate(names)
        }
        assert ("performance", "powersave") == facts(tmp_path, contents).governors

    @pytest.mark.parametrize(
        ("name", "text", "boost"),
        [
            ("intel_pstate/no_turbo", "0\n", True),
            ("intel_pstate/no_turbo", "1\n", False),
            ("cpufreq/boost", "1\n", True),
            ("cpufreq/boost", "0\n", False),
        ],
    )
    def test_boost(self, tmp_path: Path, name: str, text: str, boost: bool) -> None:
        assert boost is facts(tmp_path, {f"{CPU}/{name}": text}).boost


class TestBattery:
    def supply(self, folder: Path, name: str, **fields: str) -> None:
        for field, text in fields.items():
            write(folder, f"sys/class/power_supply/{name}/{field}", text + "\n")

    def test_a_laptop_without_its_power_supply_is_on_battery(self, tmp_path: Path) -> None:
        self.supply(tmp_path, "AC", type="Mains", online="0")
        self.supply(tmp_path, "BAT0", type="Battery", status="Discharging", online="1")
        assert facts(tmp_path).on_battery is True

    def test_one_with_its_power_supply_is_not_even_if_its_battery_helps(
        self, tmp_path: Path
    ) -> None:
        self.supply(tmp_path, "AC", type="Mains", online="1")
        self.supply(tmp_path, "BAT0", type="Battery", status="Discharging")
        assert facts(tmp_path).on_battery is False

    def test_a_full_battery_is_not_in_use(self, tmp_path: Path) -> None:
        self.supply(tmp_path, "BAT0", type="Battery", status="Full")
        assert facts(tmp_path).on_battery is False

    def test_the_battery_of_a_mouse_does_not_count(self, tmp_path: Path) -> None:
        self.supply(tmp_path, "hid", type="Battery", scope="Device", status="Discharging")
        assert facts(tmp_path).on_battery is False

    def test_a_machine_without_supplies_has_no_battery(self, tmp_path: Path) -> None:
        (tmp_path / "sys/class/power_supply").mkdir(parents=True)
        assert facts(tmp_path).on_battery is False


class TestWork:
    def test_load_is_that_of_the_last_minute(self, tmp_path: Path) -> None:
        assert 1.25 == facts(tmp_path, {"proc/loadavg": "1.25 0.5 0.1 1/200 4711\n"}).load

    def test_every_cpu_is_watched_and_steal_is_that_of_the_usable_ones(
        self, tmp_path: Path
    ) -> None:
        passing = Passing(tmp_path, (10, 10, 0), (0, 16, 4), (20, 0, 0))
        found = machine_facts((0, 1), files=machine(tmp_path), sleep=passing)
        assert {0: 0.5, 1: 0.2, 2: 1.0} == found.busy
        assert 0.1 == found.steal
        assert round((10 + 14) / (1030 + 1030), 4) == found.steal_since_boot

    def test_the_quota_of_its_groups(self, tmp_path: Path) -> None:
        mount = tmp_path / "cgroup"
        contents = {
            "proc/self/mountinfo": f"1 1 0:1 / {mount} rw - cgroup2 none rw\n",
            "proc/self/cgroup": "0::/a\n",
            "cgroup/a/cpu.max": "200000 100000",
        }
        assert 2.0 == facts(tmp_path, contents).quota


class TestSurroundings:
    @pytest.mark.parametrize(
        ("name", "text", "is_virtual"),
        [
            ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu hypervisor avx\n", True),
            ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu avx\n", False),
            ("proc/cpuinfo", "processor: 0\nFeatures\t: fp asimd\n", None),
            ("sys/hypervisor/type", "xen\n", True),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n", True),
            ("sys/class/dmi/id/product_name", "VirtualBox\n", True),
            ("sys/class/dmi/id/sys_vendor", "LENOVO\n", None),
        ],
    )
    def test_virtual(self, tmp_path: Path, name: str, text: str, is_virtual: bool | None) -> None:
        assert is_virtual is facts(tmp_path, {name: text}).is_virtual

    @pytest.mark.parametrize(
        ("name", "text", "is_container"),
        [
            (".dockerenv", "", True),
            ("run/.containerenv", "", True),
            ("proc/1/cgroup", "0::/kubepods/pod1\n", True),
            ("proc/1/cgroup", "0::/init.scope\n", False),
        ],
    )
    def test_container(self, tmp_path: Path, name: str, text: str, is_container: bool) -> None:
        assert is_container is facts(tmp_path, {name: text}).is_container
