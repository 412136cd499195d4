"""An honest notebook keeps all its points, whatever a greedy neighbour takes.

`benchmarks/greedy_neighbours.py` does it twenty times for each kind; here it is a few times.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from greedy_neighbours import KINDS, POINTS, grade_beside

TIMES = 2
LEVEL = os.environ.get("GRADER_TEST_LEVEL", "")
BLAME = "most often because it used too much memory"


def grade(kind: str, *, without_groups: bool = False) -> None:
    result = grade_beside(kind, TIMES, level=LEVEL, without_groups=without_groups)
    assert (POINTS,) * TIMES == result.honest, (result.lost, result.messages)
    assert not any(BLAME in each for each in (*result.lost, *result.greedy))


@pytest.mark.hurried
@pytest.mark.parametrize("kind", KINDS)
def test_a_neighbour_costs_no_points(kind: str) -> None:
    grade(kind)


@pytest.mark.hurried
@pytest.mark.parametrize("kind", ["sockets", "memory_of_many", "descriptors"])
def test_nor_where_there_are_no_control_groups(kind: str) -> None:
    grade(kind, without_groups=True)
