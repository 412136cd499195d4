"""Old names of TVM are there in a notebook of earlier years, and in no other."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import Limits
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.progress import Silent
from grader.sandbox.interface import Sandbox

CELL = """
import importlib, tvm
names = [name for name in ("nd", "tir", "register_func") if hasattr(tvm, name)]
assert names == {expected}, names
importlib.import_module("tvm.s_tir")
"""


@pytest.mark.parametrize(
    ("compatibility", "expected"), [(True, ["nd", "tir", "register_func"]), (False, [])]
)
def test_old_names_are_there_on_demand(
    sandbox: Sandbox, compatibility: bool, expected: list[str]
) -> None:
    notebook = new_notebook(cells=[new_code_cell(CELL.format(expected=expected))])
    order = KernelOrder(sandbox, (), {}, Limits(cell_seconds=60), compatibility)
    execution = execute_notebook(notebook, order, Silent())
    assert () == execution.problems
