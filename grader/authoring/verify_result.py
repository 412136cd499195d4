"""What `grader verify` found out: one document, and its sentences."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.assignment import Comparison, PartTable
from grader.checks.registry import find_check
from grader.messages import Mutation
from grader.report import CellProblem, Check, Part
from grader.rubric import ManualTable

MutantVerdict = Literal["caught", "survived", "broken", "not_run"]


class Struct(msgspec.Struct, frozen=True):
    """Base of the document's tables."""


class VerifiedScore(Struct, frozen=True):
    """What a part of a notebook got. `lost` says of each check that is not passed why not."""

    part: str
    score: float
    full: float
    lost: tuple[str, ...] = ()


class Mutant(Struct, frozen=True):
    """One mutant of the reference, and what became of it.

    It is "caught" when its part lost points, "survived" when not; "broken" when it was not a
    submission that could be judged, and "not_run" when that needs a time and none was taken.
    `checks` are the checks that it did not pass and the reference did. `advice` says, unless it was
    caught, what to do. `mutation` names what was changed in a module, for mutants that were made.
    """

    id: str
    part: str
    about: str
    declared: bool
    verdict: MutantVerdict
    score: float = 0.0
    full: float = 0.0
    checks: tuple[str, ...] = ()
    advice: str = ""
    mutation: Mutation | None = None


class Inapplicable(Struct, frozen=True):
    """A kind of mutant that a part does not have, and why."""

    part: str
    kind: str
    reason: str


class ScoreRange(Struct, frozen=True):
    """The outputs of one oracle.

    `low` and `high` bound all of them, `spread` is the median over the output's items of their
    standard deviation over inputs, `tolerance` the median of what is allowed at these items.
    """

    oracle: str
    inputs: int
    low: float
    high: float
    spread: float
    tolerance: float


class Verification(Struct, frozen=True):
    """Everything that was found. `problems` are sentences; without any, the assignment is sound.

    `timed` says whether speed was to be measured; what could not be measured is in `unmeasured`,
    what was left out in `notes`. `warnings` are sentences about the assignment's files that are for
    a person to judge. `kept` counts results of an earlier verification, which were not made again
    because nothing that they depend on has changed.
    """

    assignment: str
    version: int
    seed: int
    timed: bool
    seconds: float
    reference: tuple[VerifiedScore, ...]
    template: tuple[VerifiedScore, ...]
    mutants: tuple[Mutant, ...]
    inapplicable: tuple[Inapplicable, ...]
    oracles: tuple[ScoreRange, ...]
    problems: tuple[str, ...]
    unmeasured: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kept: int = 0

    @property
    def passed(self) -> bool:
        """Say whether nothing is wrong with the assignment."""
        return not self.problems


def encode_verification(verification: Verification) -> bytes:
    """Return the document as JSON, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(verification), indent=2) + b"\n"


def timed_checks(part: PartTable) -> frozenset[str]:
    """Return the checks of a part that need a time."""
    return frozenset(table.id for table in part.check if "timing" in find_check(table).needs)


def required_checks(part: PartTable) -> frozenset[str]:
    """Return the checks of a part that are required and need no time."""
    return frozenset(table.id for table in part.check if table.required) - timed_checks(part)


def is_judged_untimed(part: PartTable) -> bool:
    """Say whether a wrong module could lose points of a part without being timed."""
    return untimed_points(part) > 0 or bool(required_checks(part))


SPEED_ALONE = "only its speed earns points, and no mutant is timed"


def untimed_points(part: PartTable) -> float:
    """Return the points of all checks but those."""
    timed = timed_checks(part)
    return round(sum(table.points for table in part.check if table.id not in timed), 6)


def untimed_score(part: PartTable, result: Part) -> float:
    """Return what a part got from all checks but those."""
    timed = timed_checks(part)
    return round(sum(each.score for each in result.checks if each.id not in timed), 6)


def not_passed(part: PartTable, result: Part) -> list[Check]:
    """Return the checks that were not passed; those that need a time are left out."""
    timed = timed_checks(part)
    return [each for each in result.checks if each.verdict != "passed" and each.id not in timed]


def say_loss(check: Check) -> str:
    """Say what a check found."""
    return f"{check.id}: {check.reason.english}"


def reference_problem(part: PartTable, check: Check) -> str:
    """Say that the solved notebook does not get all points."""
    return f"The reference loses points in part {part.id}, check {check.id}: {check.reason.english}"


def failed_cell(problem: CellProblem, place: str = "") -> str:
    """Say that a cell of the solved notebook ends in an error; `place` is its file and line."""
    where = f" ({place})" if place else ""
    return f"Cell {problem.cell} of the reference{where} fails: {problem.error}: {problem.message}"


def template_problem(part: str, score: float) -> str:
    """Say that a notebook without solutions earns points."""
    return (
        f"The empty template gets {score:g} points in part {part}; it should get none."
        " Put more of it between solution marks, or make a check of the result `required`."
    )


def no_answer_cell(part: ManualTable) -> str:
    """Say that students have no cell for what a person marks."""
    return (
        f"The template has no cell for the answer to part {part.id}. Give one the tag"
        f" {part.names[0]!r}, or change `answer` in assignment.toml."
    )


def no_rubric(part: ManualTable) -> str:
    """Say that there is nothing that a part can be marked by."""
    return f"Part {part.id} has no rubric. Add [[manual.item]] tables in assignment.toml."


def marked_by_people(part: ManualTable) -> str:
    """Say that the points of a part were not looked at."""
    return f"A person marks part {part.id}, for {part.points:g} points."


def survivor(
    name: str, about: str, part: PartTable, comparison: Comparison, difference: float | None
) -> str:
    """Say which check should have caught a mutant that lost nothing, and what may help."""
    head = f"Mutant {name} of part {part.id} ({about}) keeps all points:"
    looking = [table for table in part.check if "outputs" in find_check(table).needs]
    comparing = [table for table in looking if table.kind == "equivalence"]
    if not comparing:
        return f"{head} no check of the part compares outputs. Add one of kind `equivalence`."
    check = comparing[0]
    if check.points == 0 and not check.required:
        return f"{head} check `{check.id}` has no points and is not `required`."
    text = f"{head} check `{check.id}` should have caught it."
    if difference is None:
        return f"{text} Give the oracle inputs that tell it from the reference."
    return (
        f"{text} Its outputs are off by up to {difference:.2g}, and {comparison.atol:g} +"
        f" {comparison.rtol:g} * |output| is allowed: make the tolerance smaller, or the inputs"
        " larger."
    )


def unexpected(name: str, expected: str, checks: tuple[str, ...]) -> str:
    """Say that another check than the one named caught a declared mutant."""
    return (
        f"Mutant {name} was to be caught by check `{expected}`, which it passes;"
        f" it loses points at {', '.join(checks) or 'no check'}."
    )


def missed(name: str, expected: str) -> str:
    """Say that a declared mutant passes the check that was named for it."""
    return f"Mutant {name} keeps all points: check `{expected}` should have caught it."


def broken(name: str, reason: str) -> str:
    """Say that a mutant is no submission that could be judged."""
    return f"Mutant {name} shows nothing, because it does not run: {reason}"
