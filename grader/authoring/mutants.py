"""Mutants that are made of the reference's captures: modules with one mistake each.

A runner makes them, without Python of the notebook in its process, and drops those that compute
what the reference does. Importers are mutated by way of the module that they made.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from grader.assignment import PartTable
from grader.authoring.verify_result import Inapplicable
from grader.diagnosis.tracing import TARGET
from grader.errors import CourseError
from grader.evidence.candidates import arrange, run_task, runner_kind
from grader.evidence.case import Case, Problem
from grader.grading.assembly import open_runners
from grader.grading.preparation import Preparation
from grader.messages import Capture, MutateModule, Mutation, MutationResult
from grader.progress import Silent

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
    """Have mutants of a part's module made, at most `limit` of each kind.

    Raises CourseError when the reference cannot be mutated.
    """
    capture = case.candidate.capture
    oracle = prepared.answers(prepared.data(Silent())).result().of(part)
    arrangement = arrange(case.candidate, part, oracle)
    if isinstance(arrangement, Problem):
        raise CourseError(f"Part {part.id} of the reference: {arrangement.reason.english}")
    kind = runner_kind(part)
    externs = capture.externs if kind == "extern" else {}
    run = run_task(case.candidate, arrangement.first(COMPARED_CALLS), externs)
    task = MutateModule(msgspec.structs.replace(run, target=TARGET), limit)
    with open_runners(prepared, "mutants") as runners:
        answer = runners.request(kind, task)
    if not isinstance(answer, MutationResult):
        raise CourseError(
            f"No mutants could be made of part {part.id}: {answer}.", "Grade the reference first."
        )
    made = [
        Made(part, _changed(capture, each.module), each.mutation, each.difference)
        for each in answer.mutants
    ]
    missing = [Inapplicable(part.id, each.kind, each.reason) for each in answer.inapplicable]
    return made, missing


def _changed(capture: Capture, module: bytes) -> Capture:
    return msgspec.structs.replace(capture, module=module)
