"""What stands against timing on machines of several kinds."""

from __future__ import annotations

from typing import Any

import pytest

from grader.machine.trust import MachineFacts, count_of, doubts

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


def found(threads: int = 4, *, is_taken: bool = False, **changes: Any) -> list[tuple[str, bool]]:
    """Return what is said of the good machine with these changes, and whether it is an obstacle."""
    facts = MachineFacts(**{name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | changes)
    return [(each.what, each.is_obstacle) for each in doubts(facts, threads, is_taken=is_taken)]


def test_nothing_stands_against_a_good_machine() -> None:
    assert [] == found()


def test_nothing_that_is_unknown_stands_against_a_machine() -> None:
    assert () == doubts(MachineFacts(cpus=(0, 1)), 2, is_taken=False)


@pytest.mark.parametrize(
    ("changes", "words", "is_obstacle"),
    [
        ({"is_taken": True}, "Another grading is timing", True),
        ({"busy": {0: 1.0, 1: 0.9, 2: 0, 3: 0}}, "using CPUs 0, 1: 2 of the 4 CPUs", True),
        ({"busy": {0: 1.0, 1: 1, 2: 1, 3: 0}}, "1 of the 4 CPUs that the grader may use is", True),
        ({"busy": {0: 1.0, 1: 0, 2: 0, 3: 0}, "threads": 2}, "using CPU 0. Enough", False),
        ({"busy": {7: 1.0, 3: 0}}, "using CPU 7. Enough", False),
        ({"steal": 0.06}, "gives 6% of its CPU time to others, counted now", True),
        ({"steal": 0.02}, "gives 2% of its CPU time to others, counted now", False),
        ({"steal_since_boot": 0.3}, "30% of its CPU time to others, counted since", False),
        ({"threads": 8}, "may use 4 CPUs, and the assignment times schedules with 8", True),
        ({"cpus": (2,), "threads": 2}, "may use 1 CPU, and", True),
        ({"quota": 3.5}, "quota is 3.5 CPUs", True),
        ({"shared_cores": ((0, 2), (1, 3))}, "4 CPUs that the grader may use belong to 2", True),
        ({"shared_cores": ((0, 2), (1, 3)), "threads": 2}, "Two CPUs share a core", False),
        ({"shared_cores": ((0, 4), (1, 5), (2, 6), (3, 7))}, "Two CPUs share a core", False),
        ({"on_battery": True}, "on its battery", True),
        ({"is_virtual": True, "threads": 2}, "share a core of the host", False),
        ({"governors": ("performance", "powersave")}, "(governor powersave)", False),
    ],
)
def test_each_doubt_says_what_it_is(changes: dict[str, Any], words: str, is_obstacle: bool) -> None:
    ((what, obstacle),) = found(**changes)
    assert words in what
    assert is_obstacle is obstacle


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
    assert ["1 CPU", "2 CPUs", "0 CPUs"] == [count_of(number, "CPU") for number in (1, 2, 0)]
