"""The check of an exercise's target: is the schedule's result what it should arrive at?"""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.assignment import Table
from grader.checks.difference import THIRDS, Third, compare_functions
from grader.checks.kinds.schedule import spell_provenance
from grader.checks.outcome import Outcome, not_graded, partial, passed
from grader.checks.registry import check
from grader.evidence.case import Case, Problem, TargetMatch
from grader.language import NOTHING, Text, in_a_row, join, say

_WORDING: dict[Third, Text] = {
    "loops": say("the loops of the sum"),
    "annotations": say("which loops are parallel, vectorized and unrolled"),
    "places": say("where the initialisation and the other blocks are"),
}

_EQUAL = say("It is the target: TVM finds both structurally equal.")
_ALIKE = say(
    "It has the loops, the annotations and the blocks of the target. TVM still finds a difference,"
    " in how the statements are written: that is no matter of scheduling, and costs nothing."
)
_PROVE = say(
    "Here the steps count, not a result that is written down: make one Schedule of your unscheduled"
    " function, do every step with it, and leave it bound to its name."
)


class TargetOptions(Table, frozen=True):
    """`unproven` is the share that is left where no trace proves the schedule.

    Students are shown the target: what is copied from there was not scheduled.
    """

    unproven: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


@check("target", needs=("target", "replay"), options=TargetOptions)
def target(case: Case, options: TargetOptions) -> Outcome:
    """The scheduled function is the target.

    A third of the points is for the loops of the sum, one for their annotations, and one for the
    places of the initialisation and of other blocks; names count for nothing.
    """
    match = case.evidence.target
    if isinstance(match, Problem) or match is None:
        return not_graded(
            match or Problem(say("The function was not compared with the target."), code="not_run")
        )
    replay = case.evidence.replay
    provenance = NOTHING if replay is None else spell_provenance(replay)
    found = passed(join(_EQUAL, provenance)) if match.equal else _compare(match, provenance)
    if options.unproven < 1 and found.fraction > 0 and not (replay and replay.proven):
        return partial(options.unproven * found.fraction, found.reason, _PROVE)
    return found


def _compare(match: TargetMatch, provenance: Text) -> Outcome:
    likeness = compare_functions(match.wanted, match.found)
    if likeness.first is None:
        return passed(join(_ALIKE, provenance))
    done = [_WORDING[each] for each in likeness.right]
    reason = say("First difference from the target: {reason}", reason=likeness.first.reason)
    if done:
        reason = join(say("As in the target: {done}.", done=in_a_row(done)), reason, provenance)
    # With a difference somewhere, all thirds cannot be right: it is in one of them.
    return partial(len(likeness.right) / len(THIRDS), reason, likeness.first.hint)
