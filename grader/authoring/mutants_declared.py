"""Mutants that the instructor declares, in `assignments/<slug>/mutants.toml`.

    [[mutant]]
    id = "stride_one"
    about = "The pooling's windows overlap."
    part = "emit_te"                       # the part that must lose points
    within = "def create_model"            # text that tells the cell; may be left out
    find = "(2, 2), (2, 2)"                # text of the solved notebook, there exactly once
    replace = "(2, 2), (1, 1)"
    expect = "equivalence"                 # check that must not be passed; may be left out

`find` may run over several lines. It is looked for in the code cells of the reference as students
would have written them: with solutions, without their marks.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import msgspec
from nbformat import NotebookNode

from grader.assignment import Assignment, Slug, Table
from grader.assignment_file import Tables, merged
from grader.course import CourseAssignment
from grader.errors import CourseError

MUTANTS_FILE = "mutants.toml"


class DeclaredMutant(Table, frozen=True):
    """One table of the file."""

    id: Slug
    about: str
    part: Slug
    find: str
    replace: str
    within: str = ""
    expect: str = ""


class Declarations(Table, frozen=True):
    """The whole file. `mutant` is plural in meaning: TOML's [[mutant]] tables in order."""

    mutant: tuple[DeclaredMutant, ...] = ()


def load_declared(chosen: CourseAssignment) -> tuple[DeclaredMutant, ...]:
    """Read an assignment's declared mutants; none if there is no file. Raises CourseError.

    What a variant's file says is different from the assignment's, as in `assignment.toml`.
    """
    path, assignment = chosen.file(MUTANTS_FILE), chosen.assignment
    every = [folder / MUTANTS_FILE for folder in (chosen.folder, chosen.variant) if folder]
    try:
        tables = [msgspec.toml.decode(each.read_bytes()) for each in every if each.exists()]
        together: Tables = functools.reduce(merged, tables, dict[str, Any]())
        declared = msgspec.convert(together, Declarations).mutant
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CourseError(
            f"{path} is not a list of mutants: {error}.", "See docs/authoring.md."
        ) from None
    if len({each.id for each in declared}) != len(declared):
        raise CourseError(f"Two mutants in {path} have the same id.")
    for each in declared:
        _check(each, assignment)
    return declared


def apply_declared(mutant: DeclaredMutant, reference: NotebookNode) -> NotebookNode:
    """Return the solved notebook with one text replaced. Raises CourseError unless it is unique."""
    cells = [
        index
        for index, cell in enumerate(reference.cells)
        if cell.cell_type == "code" and mutant.within in cell.source
    ]
    if mutant.within and len(cells) != 1:
        raise CourseError(
            f"Mutant {mutant.id}: `within` is in {len(cells)} code cells of the reference.",
            "Choose a text that is in one cell only.",
        )
    found = sum(reference.cells[index].source.count(mutant.find) for index in cells)
    if found != 1:
        raise CourseError(
            f"Mutant {mutant.id}: `find` is in the reference {found} times, not once.",
            "Choose a text that is there once, or tell the cell with `within`.",
        )
    notebook = copy.deepcopy(reference)
    for index in cells:
        cell = notebook.cells[index]
        cell.source = cell.source.replace(mutant.find, mutant.replace)
    return notebook


def _check(mutant: DeclaredMutant, assignment: Assignment) -> None:
    parts = {part.id: part for part in assignment.part}
    if mutant.part not in parts:
        raise CourseError(
            f"Mutant {mutant.id} names a part {mutant.part!r} that there is not.",
            f"There is: {', '.join(parts)}.",
        )
    checks = [table.id for table in parts[mutant.part].check]
    if mutant.expect and mutant.expect not in checks:
        raise CourseError(
            f"Mutant {mutant.id} names a check {mutant.expect!r} that its part has not.",
            f"There is: {', '.join(checks)}.",
        )
    if not mutant.find or mutant.find == mutant.replace:
        raise CourseError(f"Mutant {mutant.id} changes nothing.", "Say what to `find`.")
