"""Which cells are lost, and what they were to define."""

from __future__ import annotations

import nbformat
import pytest

from grader.execute.result import Execution
from grader.language import say
from grader.report import CellProblem


def execution(*sources: str, **fields) -> Execution:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    fields = {"problems": (), "begun": len(cells), **fields}
    notebook = nbformat.v4.new_notebook(cells=cells)
    return Execution(notebook, cells=len(cells), executed=0, captures=(), notes=(), **fields)


@pytest.mark.parametrize(
    "uses", ["%run m.py", "%run -i ./m.py", "import m", "from m import f", "  import m  # mine"]
)
@pytest.mark.parametrize("writes", ["%%writefile m.py", "%%file m.py", "%%writefile src/m.py"])
def test_a_failed_cell_has_the_text_of_files_that_it_runs(writes: str, uses: str) -> None:
    problem = CellProblem(2, "ValueError", "in the file", 1)
    (lost,) = execution(f"{writes}\ndef f(): ...", uses, problems=(problem,)).lost
    assert "def f" in lost.called


@pytest.mark.parametrize("uses", ["%run other.py", "import mm", "x = m", "print('import')"])
def test_of_other_files_it_has_nothing(uses: str) -> None:
    problem = CellProblem(2, "ValueError", "no", 1)
    (lost,) = execution("%%writefile m.py\ndef f(): ...", uses, problems=(problem,)).lost
    assert not lost.called


def test_what_to_do_comes_with_it():
    problem = CellProblem(1, "E", "no", 1, say("replace-stub-with-your-solution"), "loop_variable")
    (lost,) = execution("x", problems=(problem,)).lost
    assert (problem.hint, problem.code) == (lost.advice, lost.code)


def test_what_stands_behind_sys_exit_is_lost():
    (lost,) = execution("import sys", "sys.exit(0)\ndef f(): ...", exited=2).lost
    assert (2, "failed", "SystemExit") == (lost.cell, lost.fate, lost.error)
    assert "Remove sys.exit()" in lost.advice.english
