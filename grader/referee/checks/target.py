"""The check of an exercise's target: is the schedule's result what it should arrive at?"""

from __future__ import annotations

from grader.referee.checks.schedule import spell_provenance
from grader.referee.difference import THIRDS, Third, compare_functions
from grader.referee.evidence import Case, Problem, TargetMatch
from grader.referee.outcome import Outcome, not_graded, partial, passed
from grader.referee.registry import NoOptions, check

_WORDING: dict[Third, str] = {
    "loops": "the loops have the right extents and order",
    "annotations": "the right loops are parallel, vectorized and unrolled",
    "places": "the initialisation and the other blocks are in the right loops",
}

_EQUAL = "It is the target: TVM finds both structurally equal."
_ALIKE = (
    "It has the loops, the annotations and the blocks of the target. TVM still finds a difference,"
    " in how the statements are written: that is no matter of scheduling, and costs nothing."
)


@check("target", needs=("target", "replay"), options=NoOptions)
def target(case: Case, _options: NoOptions) -> Outcome:
    """The scheduled function is the target.

    A third of the points is for the loops of the sum, one for their annotations, and one for the
    places of the initialisation and of other blocks; names count for nothing.
    """
    match = case.evidence.target
    if isinstance(match, Problem) or match is None:
        return not_graded(match or Problem("The function was not compared with the target."))
    provenance = ""
    if case.evidence.replay is not None:
        provenance = f" {spell_provenance(case.evidence.replay)}"
    if match.equal:
        return passed(f"{_EQUAL}{provenance}")
    return _compare(match, provenance)


def _compare(match: TargetMatch, provenance: str) -> Outcome:
    likeness = compare_functions(match.wanted, match.found)
    if likeness.first is None:
        return passed(f"{_ALIKE}{provenance}")
    done = "; ".join(_WORDING[each] for each in likeness.right)
    sentences = [f"Right: {done}."] if done else []
    sentences.append(f"First difference from the target: {likeness.first.reason}")
    fraction = len(likeness.right) / len(THIRDS)
    reason = " ".join(sentences) + (provenance if done else "")
    return partial(min(fraction, 1 - 1 / len(THIRDS)), reason, likeness.first.hint)
