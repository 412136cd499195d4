"""What stands against timing on machines of several kinds.

What is known of machines of several kinds, and that nothing need be known.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.language import Sentence, Text
from grader.machine.trust import MachineFacts, doubts, machine_facts, threads_of
from tests.machine.trees import Passing, machine, siblings, write

GOOD = MachineFacts(
    cpus=(0, 1, 2, 3),
    governors=("performance",),
    boost=False,
    on_battery=False,
    load=0.1,
    busy={0: 0.02, 1: 0.0, 2: 0.05, 3: 0.0},
    steal=0.0,
    steal_since_boot=0.0,
    is_virtual=False,
    is_container=False,
)


Found = tuple[str, dict[str, Any], bool]


def found(threads: int = 4, *, is_taken: bool = False, **changes: Any) -> list[Found]:
    """Return what is said of the good machine with these changes: codes, values, obstacles."""
    facts = MachineFacts(**{name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | changes)
    return [
        (each.code, values_of(each.what), each.is_obstacle)
        for each in doubts(facts, threads, is_taken=is_taken)
    ]


def values_of(text: Text) -> dict[str, Any]:
    """Return what a sentence tells of, by name."""
    assert isinstance(text, Sentence)
    return {
        name: value.english if isinstance(value, Text) else value
        for name, value in text.values.items()
    }


def test_nothing_stands_against_a_good_machine() -> None:
    assert [] == found()


def test_nothing_that_is_unknown_stands_against_a_machine() -> None:
    assert () == doubts(MachineFacts(cpus=(0, 1)), 2, is_taken=False)


@pytest.mark.parametrize(
    ("changes", "code", "values", "is_obstacle"),
    [
        ({"is_taken": True}, "another_grading", {}, True),
        (
            {"busy": {0: 1.0, 1: 0.9, 2: 0, 3: 0}},
            "busy",
            {"which": "CPUs 0, 1", "quiet": 2, "cpus": "4 CPUs"},
            True,
        ),
        (
            {"busy": {0: 1.0, 1: 1, 2: 1, 3: 0}},
            "busy",
            {"which": "CPUs 0, 1, 2", "quiet": 1, "cpus": "4 CPUs"},
            True,
        ),
        (
            {"busy": {0: 1.0, 1: 0, 2: 0, 3: 0}, "threads": 2},
            "partly_busy",
            {"which": "CPU 0"},
            False,
        ),
        ({"busy": {7: 1.0, 3: 0}}, "partly_busy", {"which": "CPU 7"}, False),
        ({"steal": 0.06}, "stolen_now", {"share": 0.06}, True),
        ({"steal": 0.02}, "stolen_now", {"share": 0.02}, False),
        ({"steal_since_boot": 0.3}, "stolen_before", {"share": 0.3}, False),
        ({"threads": 8}, "few_cpus", {"cpus": "4 CPUs", "threads": "8 threads"}, True),
        ({"cpus": (2,), "threads": 2}, "few_cpus", {"cpus": "1 CPU", "threads": "2 threads"}, True),
        ({"quota": 3.5}, "quota", {"quota": 3.5, "threads": "4 threads"}, True),
        (
            {"shared_cores": ((0, 2), (1, 3))},
            "few_cores",
            {"count": 4, "cores": "2 cores", "threads": "4 threads"},
            True,
        ),
        ({"shared_cores": ((0, 2), (1, 3)), "threads": 2}, "hyper_threading", {}, False),
        ({"shared_cores": ((0, 4), (1, 5), (2, 6), (3, 7))}, "hyper_threading", {}, False),
        ({"on_battery": True}, "battery", {}, True),
        ({"is_virtual": True, "threads": 2}, "virtual_cores", {"count": 2}, False),
        ({"governors": ("performance", "powersave")}, "governor", {"names": "powersave"}, False),
    ],
)
def test_each_doubt_says_what_it_is(
    changes: dict[str, Any], code: str, values: dict[str, Any], is_obstacle: bool
) -> None:
    assert [(code, values, is_obstacle)] == found(**changes)


@pytest.mark.parametrize(
    ("quiet", "verb"), [({0: 1.0, 1: 1, 2: 1, 3: 0}, "is"), ({0: 1.0, 1: 1, 2: 0, 3: 0}, "are")]
)
def test_the_verb_goes_with_the_count(quiet: dict[int, float], verb: str) -> None:
    (doubt,) = doubts(msgspec.structs.replace(GOOD, busy=quiet), 4, is_taken=False)
    assert doubt.what.english.endswith(f"of the 4 CPUs that the grader may use {verb} quiet.")


@pytest.mark.parametrize(
    "changes",
    [
        {"quota": 4.0},
        {"boost": True},
        {"is_virtual": True, "threads": 1},
        {"is_container": True},
        {"load": 9.0},
    ],
)
def test_what_does_not_disturb_is_no_doubt(changes: dict[str, Any]) -> None:
    assert [] == found(**changes)


def test_obstacles_come_first_and_each_has_a_remedy() -> None:
    facts = MachineFacts(
        cpus=(0,), shared_cores=((0, 1),), governors=("ondemand",), quota=0.5, on_battery=True
    )
    all_doubts = doubts(facts, 4, is_taken=True)
    assert [True] * 4 + [False] * 2 == [each.is_obstacle for each in all_doubts]
    assert all(each.remedy for each in all_doubts)


def test_nouns_are_in_the_plural_where_they_must() -> None:
    counts = [threads_of(number).english for number in (1, 2, 0)]
    assert ["1 thread", "2 threads", "0 threads"] == counts


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
