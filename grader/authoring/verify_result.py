"""What `grader verify` found out: one document, and its sentences."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from grader.assignment import Comparison, PartTable
from grader.evidence.case import Outputs
from grader.evidence.registry import find_check
from grader.files import indented_json
from grader.language import NOTHING, Text, foreign, in_a_row, join, say
from grader.messages.runner import Mutation
from grader.report import CellProblem, Check, CheckCode, Part

MutantVerdict = Literal["caught", "survived", "broken", "not_run"]


class VerifiedScore(msgspec.Struct, frozen=True):
    """What a part of a notebook got. `lost` says of each check that is not passed why not."""

    part: str
    score: float
    full: float
    lost: tuple[Text, ...] = ()


class Mutant(msgspec.Struct, frozen=True):
    """One mutant of the reference, and what became of it.

    It is "caught" when its part lost points, "survived" when not; "broken" when it was not a
    submission that could be judged, and "not_run" when that needs a time and none was taken.
    `checks` are the checks that it did not pass and the reference did. `advice` says, unless it was
    caught, what to do. `about` is in the words of the course, or of the process that made it.
    `mutation` names what was changed in a module, for mutants that were made.
    """

    id: str
    part: str
    about: str
    declared: bool
    verdict: MutantVerdict
    score: float = 0.0
    full: float = 0.0
    checks: tuple[str, ...] = ()
    advice: Text = NOTHING
    mutation: Mutation | None = None


class Inapplicable(msgspec.Struct, frozen=True):
    """A kind of mutant that a part does not have, and why."""

    part: str
    kind: str
    reason: Text


class ScoreRange(msgspec.Struct, frozen=True):
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


class Verification(msgspec.Struct, frozen=True):
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
    problems: tuple[Text, ...]
    unmeasured: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()
    kept: int = 0

    @property
    def passed(self) -> bool:
        """Say whether nothing is wrong with the assignment."""
        return not self.problems


def encode_verification(found: Verification | Sequence[Verification]) -> bytes:
    """Return the document, or several, as JSON in English, indented, with a final newline."""
    return indented_json(found, lambda text: text.english)


def timed_checks(part: PartTable) -> frozenset[str]:
    """Return the checks of a part that need a time."""
    return frozenset(table.id for table in part.check if "timing" in find_check(table).needs)


def required_checks(part: PartTable) -> frozenset[str]:
    """Return the checks of a part that are required and need no time."""
    return frozenset(table.id for table in part.check if table.required) - timed_checks(part)


def is_judged_untimed(part: PartTable) -> bool:
    """Say whether a wrong module could lose points of a part without being timed."""
    return untimed_points(part) > 0 or bool(required_checks(part))


SPEED_ALONE = say("only-speed-earns-points-and-no-mutant")


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


UNCERTAIN = 0.05
"""Share of a speed's points that the reference may lack: it is measured against itself, and two
measurements of the same function differ by so much on a busy machine."""

_UNMEASURABLE: Final[frozenset[CheckCode]] = frozenset({"busy", "no_answer", "no_target"})
"""What says something of the machine. Of a baseline that computes something else, or a reference
that is no faster, it was said that nothing was measured, and the assignment was sound."""


def losses(part: PartTable, result: Part, *, timed: bool) -> tuple[list[Text], list[Text]]:
    """Say which checks of the reference lose points, and which this machine could not measure."""
    lost: list[Text] = []
    unmeasured: list[Text] = []
    for check in result.checks:
        is_timed = check.id in timed_checks(part)
        enough = check.max_score * (1 - UNCERTAIN if is_timed else 1)
        if check.verdict == "passed" or (is_timed and not timed):
            continue
        if is_timed and check.code in _UNMEASURABLE:
            unmeasured.append(reference_problem(part, check))
        elif not is_timed or check.score < enough:
            lost.append(reference_problem(part, check))
    return lost, unmeasured


_ROUNDED = 32
"""So many units in the last place of the largest output are no mistake: sums cancel out."""


def rounding(part: PartTable, outputs: object, comparison: Comparison) -> Text:
    """Say that a reference is off by rounding alone: the tolerance is too small. Else nothing.

    Of a product of integers that is scaled in float32, some items of 300,000 are near 0.
    """
    if not isinstance(outputs, Outputs) or outputs.actual.dtype.kind != "f":
        return NOTHING
    if outputs.actual.shape != outputs.desired.shape or not np.isfinite(outputs.actual).all():
        return NOTHING
    desired = np.asarray(outputs.desired, np.float64)
    off, largest = np.abs(outputs.actual - desired), float(np.abs(desired).max())
    atol = float((off - comparison.rtol * np.abs(desired)).max())
    most = _ROUNDED * float(np.finfo(outputs.actual.dtype).eps) * largest
    if atol <= comparison.atol or off.max() > most:
        return NOTHING
    share = float(off.max()) / largest
    # other inputs are off by more
    return say("reference-off-by-rounding", part=part.id, share=share, atol=4 * atol)


def reference_problem(part: PartTable, check: Check) -> Text:
    """Say that the solved notebook does not get all points."""
    return say(
        "reference-loses-points-in-part-check", part=part.id, check=check.id, reason=check.reason
    )


def failed_cell(problem: CellProblem, place: str = "") -> Text:
    """Say that a cell of the solved notebook ends in an error; `place` is its file and line."""
    error = foreign(f"{problem.error}: {problem.message}")
    if not place:
        return say("cell-reference-fails", cell=problem.cell, error=error)
    return say("cell-reference-place-fails-error", cell=problem.cell, place=place, error=error)


def template_problem(part: str, score: float) -> Text:
    """Say that a notebook without solutions earns points."""
    problem = say("empty-template-gets-points-in-part-should", score=score, part=part)
    mended = say("put-more-between-solution-marks-or-make")
    return join(problem, mended)


def survivor(
    name: str, about: str, part: PartTable, comparison: Comparison, difference: float | None
) -> Text:
    """Say which check should have caught a mutant that lost nothing, and what may help."""
    return say(
        "mutant-part-keeps-all-points",
        name=name,
        part=part.id,
        about=about,
        why=_overlooked(part, comparison, difference),
    )


def _overlooked(part: PartTable, comparison: Comparison, difference: float | None) -> Text:
    looking = [table for table in part.check if "outputs" in find_check(table).needs]
    comparing = [table for table in looking if table.kind == "equivalence"]
    if not comparing:
        return say("no-check-part-compares-outputs-add-one")
    check, name = comparing[0], f"`{comparing[0].id}`"
    if check.points == 0 and not check.required:
        return say("check-has-no-points-and-not-required", check=name)
    overlooked = say("check-should-have-caught", check=name)
    if difference is None:
        return join(overlooked, say("give-oracle-inputs-that-distinguish-from-reference"))
    allowed = say(
        "outputs-off-by-up-and-output-allowed",
        difference=difference,
        atol=comparison.atol,
        rtol=comparison.rtol,
    )
    return join(overlooked, allowed)


def unexpected(name: str, expected: str, checks: tuple[str, ...]) -> Text:
    """Say that another check than the one named caught a declared mutant."""
    return say(
        "mutant-caught-by-check-which-passes-loses",
        name=name,
        check=f"`{expected}`",
        others=in_a_row(checks) if checks else say("no-check"),
    )
