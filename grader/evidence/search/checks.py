"""The check of what a space of schedules has."""

from grader.evidence.case import Case, Problem
from grader.evidence.registry import NOT_RUN, Outcome, check, failed, not_graded, partial
from grader.evidence.search.found import SEARCH, SpaceOptions
from grader.language import say


@check("search_space", needs=("search",), options=SpaceOptions)
def check_space(case: Case, options: SpaceOptions) -> Outcome:
    """The schedule space offers more than one schedule.

    The other checks of the part are about the fastest of those that were drawn.
    """
    found = SEARCH.of(case)
    if isinstance(found, Problem) and (found.again or found is NOT_RUN):
        return not_graded(found)
    if isinstance(found, Problem):
        return failed(found.reason, found.hint, code=found.code)
    # One program is no choice, however often it is drawn.
    share = (found.different - 1) / (options.different - 1)
    return partial(
        min(1.0, share),
        say(
            "schedules-drawn-from-space-impossible-distinct-programs",
            trials=found.trials,
            failed=found.failed,
            different=found.different,
        ),
        say("draw-more-different-programs-asked-for-each", different=options.different),
    )
