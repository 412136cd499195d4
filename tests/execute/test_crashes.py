"""A cell in which native code ends Python costs that cell: the notebook is run again without it."""

from __future__ import annotations

import itertools

import pytest

from grader.assignment import Limits
from grader.messages.kernel import Capture
from grader.sandbox.interface import Sandbox
from tests.execute.conftest import run_cells
from tests.execute.test_notebook import MODEL

CRASH = "print('before', flush=True)\nimport ctypes\nctypes.string_at(0)"


def test_the_cells_behind_it_are_run(sandbox: Sandbox) -> None:
    execution = run_cells(sandbox, "x = 1", CRASH, "print(x)", MODEL)
    assert (4, 3, (2,)) == (execution.cells, execution.executed, execution.stopped)
    assert "1\n" == execution.notebook.cells[2].outputs[0].text
    assert [Capture] == [type(each) for each in execution.captures]
    assert ["stopped"] == [each.fate for each in execution.lost]


def test_what_comes_behind_it_is_told_of_by_its_own_number(sandbox: Sandbox) -> None:
    """The kernel counted only what it had run: a module of cell 3 was said to be one of cell 2."""
    execution = run_cells(sandbox, CRASH, "1 +", MODEL, "x = 1\ny = 1 / 0")
    assert [3] == [each.cell for each in execution.captures if isinstance(each, Capture)]
    assert [(2, 1), (4, 2)] == [(each.cell, each.line) for each in execution.problems]
    assert CRASH == execution.notebook.cells[0].source


def test_what_it_had_put_out_stays_in_the_notebook(sandbox: Sandbox) -> None:
    # What is on its way when the process ends is lost with it: beside other work, now and then.
    execution = run_cells(sandbox, CRASH.replace("\n", "\nimport time\ntime.sleep(1)\n", 1), "2")
    assert "before\n" == execution.notebook.cells[0].outputs[0].text


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import ctypes; ctypes.string_at(0)", "with a segmentation fault."),
        ("import os; os.kill(os.getpid(), 4)", "an instruction that this processor"),
        ("import os; os.abort()", "a library gave up, because memory was damaged"),
    ],
)
def test_it_is_told_how_it_ended_and_that_all_else_was_run(
    sandbox: Sandbox, code: str, sentence: str
) -> None:
    execution = run_cells(sandbox, "1", code, "3")
    (note,) = execution.notes
    assert note.english.startswith("Code cell 2 ended the Python process")
    assert sentence in note.english
    assert "The notebook was run again without this cell." in note.english
    assert "not run" not in note.english
    assert 2 == execution.executed


def test_the_last_cell_keeps_no_other_from_being_run(sandbox: Sandbox) -> None:
    (note,) = run_cells(sandbox, MODEL, CRASH).notes
    assert "again" not in note.english


def test_two_cells_are_left_out_at_most(sandbox: Sandbox) -> None:
    execution = run_cells(sandbox, CRASH, CRASH, CRASH, MODEL)
    assert (1, 2, 3) == execution.stopped
    assert execution.notes[2].english.endswith("in code that TVM compiled.")
    assert "Code cell 4 was not run." in execution.notes[2].english
    assert () == execution.captures


def test_a_notebook_that_took_most_of_its_time_is_not_run_again(sandbox: Sandbox) -> None:
    """Else what was captured before the crash would be lost at the end of its time."""
    shown = itertools.chain([0.0, 0.0], itertools.repeat(6_000.0))
    execution = run_cells(
        sandbox,
        MODEL,
        CRASH,
        "3",
        limits=Limits(cell_seconds=10_000, notebook_seconds=10_000),
        clock=lambda: next(shown),
    )
    assert "Code cell 3 was not run." in execution.notes[0].english
    assert [Capture] == [type(each) for each in execution.captures]
