"""Running mutants: what was captured of a notebook with a mistake, and what that is worth."""

from __future__ import annotations

import copy

import nbformat
from nbformat import NotebookNode

from grader.assignment import PartTable
from grader.authoring.mutants_python import PythonMutant
from grader.grading.pipeline import compare_captures, run_notebook
from grader.grading.preparation import Preparation
from grader.grading.selection import Graded
from grader.messages import Capture, CaptureFailure
from grader.progress import Silent

Captures = tuple[Capture | CaptureFailure, ...]


def judge(prepared: Preparation, part: PartTable, captures: Captures) -> Graded:
    """Judge the best of a part's captures on everything but time."""
    own = tuple(each for each in captures if each.part == part.id)
    for table, graded in compare_captures(own, prepared, Silent()):
        if table.id == part.id:
            return graded[0]
    raise AssertionError(part.id)


def up_to(notebook: NotebookNode, original: NotebookNode, cell: int) -> NotebookNode:
    """Leave out what comes after code cell `cell`, counted from 1, unless it was changed there.

    What a part is graded by was captured at the end of that cell.
    """
    changed = max(
        index
        for index, (new, old) in enumerate(zip(notebook.cells, original.cells, strict=True))
        if new.source != old.source
    )
    counted = [
        index
        for index, each in enumerate(notebook.cells)
        if each.cell_type == "code" and each.source.strip()
    ]
    shortened = copy.deepcopy(notebook)
    shortened.cells = shortened.cells[: max(counted[cell - 1], changed) + 1]
    return shortened


def run_python_mutants(
    prepared: Preparation, reference: NotebookNode, mutants: list[PythonMutant]
) -> list[Captures]:
    """Run the reference with the mutants' cells at its end; return what each cell defined."""
    notebook = copy.deepcopy(reference)
    before = sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in reference.cells)
    notebook.cells += [nbformat.v4.new_code_cell(each.cell) for each in mutants]
    captures = run_notebook(notebook, prepared, Silent()).captures
    return [
        tuple(each for each in captures if each.cell == before + number)
        for number in range(1, len(mutants) + 1)
    ]
