"""The check of whether a schedule arrives at the target."""

from typing import Annotated

import msgspec

from grader.assignment import Table
from grader.evidence.case import Case, Problem
from grader.evidence.registry import Outcome, check, not_graded, partial, passed
from grader.evidence.target.difference import THIRDS, Third, compare_functions
from grader.evidence.target.found import TARGET, TargetMatch
from grader.language import NOTHING, Text, in_a_row, join, say

_THIRDS: dict[Third, Text] = {
    "loops": say("loops-sum"),
    "annotations": say("which-loops-parallel-vectorized-and-unrolled"),
    "places": say("where-initialisation-and-other-blocks"),
}

_EQUAL = say("target-tvm-finds-both-structurally-equal")
_ALIKE = say("has-targets-loops-annotations-and-blocks-tvm")
_PROVE = say("steps-count-here-not-result-that-written")


class TargetOptions(Table, frozen=True):
    """`unproven` is the share that is left where no trace proves the schedule.

    Students are shown the target: what is copied from there was not scheduled.
    """

    unproven: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


@check("target", needs=("target", "replay"), options=TargetOptions)
def target(case: Case, options: TargetOptions) -> Outcome:
    """The scheduled function equals the target.

    A third of the points is for the loops of the sum, one for their annotations, and one for the
    places of the initialisation and of other blocks; names count for nothing.
    """
    match = TARGET.of(case)
    if isinstance(match, Problem):
        return not_graded(match)
    replay = case.evidence.replay
    provenance = NOTHING if replay is None else replay.provenance
    found = passed(join(_EQUAL, provenance)) if match.equal else _compare(match, provenance)
    if options.unproven < 1 and found.fraction > 0 and not (replay and replay.proven):
        return partial(options.unproven * found.fraction, found.reason, _PROVE)
    return found


def _compare(match: TargetMatch, provenance: Text) -> Outcome:
    likeness = compare_functions(match.wanted, match.found)
    if likeness.first is None:
        return passed(join(_ALIKE, provenance))
    done = [_THIRDS[each] for each in likeness.right]
    reason = say("first-difference-from-target", reason=likeness.first.reason)
    if done:
        reason = join(say("as-in-target", done=in_a_row(done)), reason, provenance)
    # With a difference somewhere, all thirds cannot be right: it is in one of them.
    return partial(len(likeness.right) / len(THIRDS), reason, likeness.first.hint)
