"""Mutants: made of the reference's captures, or declared by the instructor; running them.

A runner makes those of captures, without Python of the notebook in its process, and drops those
that compute what the reference does. Importers are mutated by way of the module that they made.

Those of the instructor are in `assignments/<slug>/mutants.toml`:

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

import copy
import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import nbformat
import numpy as np
from msgspec.structs import replace
from nbformat import NotebookNode

from grader.assignment import Assignment, PartTable, Table
from grader.assignment_files import Tables, merged
from grader.authoring.mutants_python import PythonMutant
from grader.authoring.verify_result import Inapplicable
from grader.computation import Slug
from grader.course import CourseAssignment
from grader.decoding import prepared
from grader.diagnosis.tracing import TARGET
from grader.errors import CourseError
from grader.evidence.candidates import run_task, runner_kind
from grader.evidence.case import Case, Outputs, Problem
from grader.grading.assembly import open_runners
from grader.grading.judge import Graded
from grader.grading.pipeline import compare_captures, run_notebook
from grader.grading.preparation import Preparation
from grader.language import foreign, in_a_row, say
from grader.messages.kernel import Capture, CaptureFailure
from grader.messages.runner import MutateModule, Mutation, MutationResult
from grader.progress import Silent
from grader.reading.submission import is_run
from grader.refusals import told

COMPARED_CALLS = 16
"""Calls on which a mutant is compared with the reference, to see whether it differs at all."""


class Made(NamedTuple):
    """A capture with a mistake. `difference` is how far its outputs are from the reference's."""

    part: PartTable
    capture: Capture
    mutation: Mutation
    difference: float


def make_mutants(
    prepared: Preparation, part: PartTable, case: Case, limit: int
) -> tuple[list[Made], list[Inapplicable]]:
    """Have at most `limit` mutants of each kind made of a part's module. Raises CourseError."""
    capture = case.candidate.capture
    oracle = prepared.answers(prepared.data(Silent())).result().of(part)
    arrangement = oracle.arrange(part, case.candidate.signature)
    if isinstance(arrangement, Problem):
        raise CourseError(say("part-reference", id=part.id, reason=arrangement.reason))
    kind = runner_kind(part)
    externs = capture.externs if kind == "extern" else {}
    run = run_task(case.candidate, arrangement.first(COMPARED_CALLS), externs)
    task = MutateModule(replace(run, target=TARGET), limit)
    with open_runners(prepared, "mutants") as runners:
        answer = runners.request(kind, task)
    if not isinstance(answer, MutationResult):
        raise CourseError(
            say("no-mutants-could-made-part", id=part.id, answer=str(answer)),
            say("grade-reference-first"),
        )
    made = [
        Made(part, replace(capture, module=each.module), each.mutation, each.difference)
        for each in answer.mutants
    ]
    missing = [
        Inapplicable(part.id, each.kind, foreign(each.reason)) for each in answer.inapplicable
    ]
    return made, missing


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
        declared = msgspec.convert(together, prepared(Declarations)).mutant
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CourseError(
            say("not-list-mutants", path=str(path), error=told(error, Declarations)),
            say("see-docs-authoring-md"),
        ) from None
    if len({each.id for each in declared}) != len(declared):
        raise CourseError(say("two-mutants-in-have-same-id", path=str(path)))
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
            say("mutant-within-in-code-cells-reference", id=mutant.id, count=len(cells)),
            say("choose-text-that-occurs-in-one-cell"),
        )
    found = sum(reference.cells[index].source.count(mutant.find) for index in cells)
    if found != 1:
        raise CourseError(
            say("mutant-find-in-reference-times-not-once", id=mutant.id, found=found),
            say("choose-text-that-occurs-once-or-name"),
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
            say("mutant-names-part-that-does-not-exist", id=mutant.id, part=repr(mutant.part)),
            say("known", known=in_a_row(parts)),
        )
    checks = [table.id for table in parts[mutant.part].check]
    if mutant.expect and mutant.expect not in checks:
        raise CourseError(
            say("mutant-names-check-that-part-does", id=mutant.id, check=repr(mutant.expect)),
            say("known", known=in_a_row(checks)),
        )
    if not mutant.find or mutant.find == mutant.replace:
        raise CourseError(say("mutant-changes-nothing", id=mutant.id), say("give-find"))


Captures = tuple[Capture | CaptureFailure, ...]


def judge(prepared: Preparation, part: PartTable, captures: Captures) -> Graded:
    """Judge the best of a part's captures on everything but time."""
    own = tuple(each for each in captures if each.part == part.id)
    compared = compare_captures(own, prepared, Silent())
    return next(graded[0] for table, graded in compared if table.id == part.id)


def up_to(notebook: NotebookNode, original: NotebookNode, cell: int) -> NotebookNode:
    """Leave out what comes after code cell `cell`, counted from 1, unless it was changed there.

    What a part is graded by was captured at the end of that cell.
    """
    changed = max(
        index
        for index, (new, old) in enumerate(zip(notebook.cells, original.cells, strict=True))
        if new.source != old.source
    )
    counted = [index for index, each in enumerate(notebook.cells) if is_run(each)]
    shortened = copy.deepcopy(notebook)
    shortened.cells = shortened.cells[: max(counted[cell - 1], changed) + 1]
    return shortened


def run_python_mutants(
    prepared: Preparation, reference: NotebookNode, mutants: list[PythonMutant]
) -> list[Captures]:
    """Run the reference with the mutants' cells at its end; return what each cell defined."""
    notebook = copy.deepcopy(reference)
    before = sum(map(is_run, reference.cells))
    notebook.cells += [nbformat.v4.new_code_cell(each.cell) for each in mutants]
    captures = run_notebook(notebook, prepared, Silent()).captures
    return [
        tuple(each for each in captures if each.cell == before + number)
        for number in range(1, len(mutants) + 1)
    ]


def same_outputs(one: Graded, other: Graded) -> bool:
    """Say whether two candidates gave the same outputs, bit by bit."""
    first, second = (each.case.evidence.outputs if each.case else None for each in (one, other))
    if not isinstance(first, Outputs) or not isinstance(second, Outputs):
        return False
    own, others = (
        {each.group: each.actual for each in (found, *found.others)} for found in (first, second)
    )
    return own.keys() == others.keys() and all(
        np.array_equal(actual, others[group]) for group, actual in own.items()
    )


def named(made: list[Made]) -> Iterator[tuple[Made, str]]:
    """Give each mutant a name: its kind, and a number where there are several of it."""
    counts: Counter[str] = Counter()
    for each in made:
        kind = each.mutation.kind
        counts[kind] += 1
        yield each, f"{kind}-{counts[kind]}"
