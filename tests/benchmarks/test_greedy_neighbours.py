"""An honest notebook keeps all its points, whatever a greedy neighbour takes.

`benchmarks/greedy_neighbours.py` does it twenty times for each kind; here it is once, and all kinds
are in one batch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from greedy_neighbours import KINDS, POINTS, Result, grade_beside

TIMES = 1
LEVEL = os.environ.get("GRADER_TEST_LEVEL", "")
BLAME = "most likely for using too much memory"


def selected(request: pytest.FixtureRequest) -> list[str]:
    """Return the kinds of the selected tests of this module that ask for a fixture."""
    return [
        item.callspec.params["kind"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and request.fixturename in item.fixturenames
    ]


@pytest.fixture(scope="module")
def graded(request: pytest.FixtureRequest) -> dict[str, Result]:
    return grade_beside(selected(request), TIMES, level=LEVEL)


@pytest.fixture(scope="module")
def graded_without_groups(request: pytest.FixtureRequest) -> dict[str, Result]:
    return grade_beside(selected(request), TIMES, level=LEVEL, without_groups=True)


def assert_nothing_is_lost(result: Result) -> None:
    assert (POINTS,) * TIMES == result.honest, (result.lost, result.messages)
    assert not any(BLAME in each for each in (*result.lost, *result.greedy))


@pytest.mark.hurried
@pytest.mark.parametrize("kind", KINDS)
def test_a_neighbour_costs_no_points(kind: str, graded: dict[str, Result]) -> None:
    assert_nothing_is_lost(graded[kind])


@pytest.mark.hurried
@pytest.mark.parametrize("kind", ["sockets", "memory_of_many", "descriptors"])
def test_nor_where_there_are_no_control_groups(
    kind: str, graded_without_groups: dict[str, Result]
) -> None:
    assert_nothing_is_lost(graded_without_groups[kind])
