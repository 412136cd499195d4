"""What stands against timing on machines of several kinds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader.language import Sentence, Text
from grader.machine.state import MachineFacts
from grader.machine.trust import doubts, threads_of

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
