"""How the end of a notebook before its last cell is told."""

from __future__ import annotations

import pytest

from grader.assignment import Limits
from grader.execute.stop import Stop, describe_stop
from grader.inside.launcher.protocol import Cause

STOPS = [
    Stop("died", 0),
    Stop("died", 134),
    Stop("died", 137),
    Stop("died", 139),
    Stop("died", 152),
    Stop("died", 137, "memory"),
    Stop("died", 137, "processes"),
    Stop("died", 137, "files"),
    Stop("died", 137, "disk"),
    Stop("died", 137, "descriptors"),
    Stop("died", 137, "machine"),
    Stop("cell_time"),
    Stop("notebook_time"),
    Stop("output"),
    Stop("message"),
]


@pytest.mark.parametrize("stop", STOPS)
def test_it_says_where_what_and_what_to_do_next(stop: Stop) -> None:
    note = describe_stop(stop, 5, 5, Limits())
    assert "ell 5" in note.english
    assert note.english.endswith(".")
    assert note.english.count(". ") >= 1


@pytest.mark.parametrize(
    ("cell", "left_out"),
    [(3, "Code cells 4 to 6 were not run."), (5, "Code cell 6 was not run."), (6, "")],
)
def test_it_names_the_cells_that_were_not_run(cell: int, left_out: str) -> None:
    note = describe_stop(Stop("output"), cell, 6, Limits())
    assert left_out in note.english
    assert ("not run" in note.english) is bool(left_out)


def test_processor_time_is_told_from_a_kill() -> None:
    notes = {describe_stop(Stop("died", status), 1, 1, Limits()) for status in (137, 152)}
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        ("memory", "Code cell 2 used more than 100 MB of memory"),
        ("processes", "Code cell 2 started more than 7 processes"),
        ("files", "Code cell 2 created more than 50 files"),
        ("disk", "Code cell 2 wrote more than 30 MB of files"),
    ],
)
def test_a_bound_that_was_passed_is_named_with_its_size(cause: Cause, sentence: str) -> None:
    limits = Limits(memory_mb=100, processes=7, files=50, scratch_mb=30)
    assert sentence in describe_stop(Stop("died", 137, cause), 2, 2, limits).english
