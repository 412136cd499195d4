"""Which candidates of a part count, the best first.

What bears the name that was asked for counts. What bears another one counts too where nothing with
the name could be called as the part asks (such as an example of the lecture's that bears it), or
where it computes the part and nothing with the name does; but what has the name of another part is
its author's answer to that one. What the assignment gives counts never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from grader.assignment import Assignment, PartTable
from grader.checks.registry import find_check
from grader.evidence.case import Case, Outputs, Problem
from grader.language import say
from grader.messages import Capture, CaptureFailure
from grader.report import Part

IS_GIVEN = say("`{name}` (cell {cell}) is what the assignment gives, and no solution of yours.")
SOLVE_IT = say("Write it yourself. What the notebook shows can be read, and is worth no points.")

_IN_VAIN = ("raised", "not_a_module", "needs_arguments")


@dataclass(frozen=True)
class Graded:
    """One candidate's result: `case` is None when the candidate could not be run.

    `fits` says that it can be called as the part asks.
    """

    part: Part
    capture: Capture | None = None
    case: Case | None = None
    fits: bool = True

    @property
    def rank(self) -> tuple[float, int, bool, bool]:
        """Sort key: more points first, then what came nearer, a schedule, the name asked for."""
        if self.capture is None:
            return (self.part.score, 0, False, False)
        named = self.capture.by_name
        return (self.part.score, self.nearness, self.capture.trace is not None, named)

    @property
    def nearness(self) -> int:
        """How far it came: could be read, could be called, gave outputs."""
        if self.case is None:
            return 0
        return 1 + self.fits + isinstance(self.case.evidence.outputs, Outputs)


def select(
    assignment: Assignment,
    part: PartTable,
    graded: list[Graded],
    failures: Sequence[CaptureFailure],
) -> list[Graded]:
    """Return the candidates that count, best first; none where all are beside the point.

    An entry point that was called in vain has been tried, too.
    """
    if part.entry_kind == "schedule":
        return _best_first(graded)
    named = [each for each in graded if each.capture is not None and each.capture.by_name]
    others = [each for each in graded if each not in named]
    kept = [each for each in others if not _is_beside_the_point(assignment, part, each)]
    tried = any(each.reason in _IN_VAIN for each in failures) or any(each.fits for each in named)
    if named or tried:
        kept = [each for each in kept if not _is_asked_elsewhere(assignment, part, each)]
    if tried:
        kept = [each for each in kept if computes(part, each)]
    if tried or not named:
        kept = [each for each in kept if each.part.score > 0]
    callable_ones = [each for each in kept if each.fits or is_complete(part, each.part)]
    return _best_first([*named, *callable_ones])


def is_complete(part: PartTable, graded: Part) -> bool:
    """Say whether nothing is missing but what is not decided yet, or not here."""
    later = {
        table.id for table in part.check if table.withheld or "timing" in find_check(table).needs
    }
    return all(check.verdict == "passed" for check in graded.checks if check.id not in later)


def computes(part: PartTable, graded: Graded) -> bool:
    """Say whether a candidate computes what the part asks for, however it is written."""
    compared = {table.id for table in part.check if table.kind == "equivalence"}
    if not compared:
        return is_complete(part, graded.part)
    return all(check.verdict == "passed" for check in graded.part.checks if check.id in compared)


def given_problem(refused: Sequence[Capture], part: PartTable) -> Problem | None:
    """Return what is said of a part for which only something given was handed in, else None.

    Of what nobody gave the part's name, nothing is to be said.
    """
    claimed = [each for each in refused if each.by_name or part.entry_kind == "schedule"]
    if not claimed:
        return None
    latest = claimed[0]
    return Problem(say(IS_GIVEN, name=latest.name, cell=latest.cell), SOLVE_IT, code="given")


def _best_first(graded: list[Graded]) -> list[Graded]:
    return sorted(graded, key=lambda each: each.rank, reverse=True)


def _is_beside_the_point(assignment: Assignment, part: PartTable, other: Graded) -> bool:
    """Say whether a module under another name is no answer, though it is worth something.

    It is none if it lacks something and cannot be called as the part asks (such as an example of
    the notebook's), or is what another part asks for. Then the missing entry point is what a
    student must hear of, not what the module lacks.
    """
    if other.case is None or other.capture is None:
        return True
    if is_complete(part, other.part):
        return False
    asked = _is_asked_elsewhere(assignment, part, other)
    return asked or isinstance(other.case.evidence.outputs, Problem)


def _is_asked_elsewhere(assignment: Assignment, part: PartTable, other: Graded) -> bool:
    """Say whether a candidate has a name that another part asks for."""
    assert other.capture is not None
    name, parts = other.capture.name, [each for each in assignment.part if each.id != part.id]
    return any(fnmatchcase(name, pattern) for each in parts for pattern in each.entry)
