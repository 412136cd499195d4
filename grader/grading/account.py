"""The report of a grading: what was found, and on what it was graded."""

from __future__ import annotations

from grader.assignment import Assignment
from grader.data import DataSet
from grader.environment import describe_environment
from grader.execute.path_redaction import PathRedaction, own_folders
from grader.execute.result import Execution
from grader.grading.preparation import Preparation
from grader.grading.transcript import transcribe
from grader.language import Text, one_of_ours, say
from grader.reading.submission import SubmissionFile, first_cell_with
from grader.report import (
    AssignmentId,
    Data,
    Duration,
    Part,
    Report,
    SandboxFacts,
    Submission,
    Timing,
)

Results = tuple[tuple[Part, ...], "Timing | None"]
"""All parts in order, and the timing if one was made."""


def notes_on(submission: SubmissionFile, assignment: Assignment) -> tuple[Text, ...]:
    """Return what is to be said of a submission's text, whatever it computes."""
    about = (*_divided(submission), *_watched(submission, assignment), *_withheld(assignment))
    return (*submission.notes, *about)


def _withheld(assignment: Assignment) -> tuple[Text, ...]:
    """Say which points a release of the course cannot give (docs/ci.md)."""
    if not assignment.withheld:
        return ()
    return (
        say(
            "Not graded here: hidden parts, for {points:g} points. What decides them is not in this"
            " copy of the course.",
            points=assignment.withheld,
        ),
    )


def _divided(submission: SubmissionFile) -> tuple[Text, ...]:
    """Say of a script or Markdown what its cells are: who wrote it has never seen them."""
    cells = len(submission.starts)
    if not cells:
        return ()
    return (
        say(
            "The file was run as {cells} code cells, one after the other; the lines that are named"
            " are those of the file.",
            cells=cells,
        ),
    )


def _watched(submission: SubmissionFile, assignment: Assignment) -> tuple[Text, ...]:
    """Say where the code has a word that the instructor wants to be told of."""
    found = [(word, first_cell_with(word, submission.sources)) for word in assignment.watch]
    return tuple(
        say(
            "Code cell {cell} uses `{word}`. That costs no points here; an instructor should look"
            " whether the assignment allows it.",
            cell=cell,
            word=word,
        )
        for word, cell in found
        if cell is not None
    )


def make_report(
    submission: SubmissionFile,
    prepared: Preparation,
    data: DataSet,
    results: Results,
    execution: Execution | None,
    notes: tuple[Text, ...],
    duration: Duration,
) -> Report:
    """Return all verdicts of a submission as one document."""
    assignment, settings = prepared.course_assignment.assignment, prepared.settings
    parts, timing = results
    return Report(
        score=round(sum(part.score for part in parts), 6),
        max_score=assignment.points,
        assignment=_describe_assignment(assignment),
        submission=_describe_submission(submission, execution),
        parts=parts,
        problems=execution.problems if execution is not None else (),
        notes=notes + (execution.notes if execution is not None else ()),
        timing=timing,
        data=Data(data.name, len(data.images), _hidden_inputs(assignment), data.detail),
        sandbox=SandboxFacts(settings.sandbox.level, settings.sandbox.detail),
        environment=describe_environment(),
        seed=settings.seed,
        duration=duration,
        language=one_of_ours(settings.language or submission.declared_language),
        dialect="current" if execution is None else execution.dialect,
        cells=transcribe(submission, execution, _places(prepared)),
        basis=prepared.basis(data),
        graded=settings.now().replace(microsecond=0),
    )


def _describe_assignment(assignment: Assignment) -> AssignmentId:
    due = "" if assignment.due is None else assignment.due.isoformat()
    return AssignmentId(assignment.slug, assignment.named, assignment.version, due)


def _places(prepared: Preparation) -> PathRedaction:
    course = prepared.course_assignment.folder.resolve().parents[1]
    return PathRedaction((course, *own_folders()))


def _hidden_inputs(assignment: Assignment) -> int:
    model = 0 if assignment.oracle is None else assignment.oracle.hidden_inputs
    return model + sum(each.cases for each in assignment.computation)


def _describe_submission(submission: SubmissionFile, execution: Execution | None) -> Submission:
    cells = execution.cells if execution is not None else 0
    executed = execution.executed if execution is not None else 0
    name, digest, starts = submission.name, submission.sha256, submission.starts
    return Submission(name, digest, cells, executed, starts)
