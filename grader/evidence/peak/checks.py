"""The check of how much memory a module holds."""

from grader.evidence.case import Case, Problem
from grader.evidence.peak.found import PEAK, PeakOptions
from grader.evidence.registry import Outcome, check, failed, not_graded, passed
from grader.ir.vocabulary import shown
from grader.language import say


@check("peak_bytes", options=PeakOptions, needs=("peak",))
def peak_bytes(case: Case, options: PeakOptions) -> Outcome:
    """The module needs little memory."""
    found = PEAK.of(case)
    if isinstance(found, Problem):
        return not_graded(found)
    total = found.bytes
    if total is None:
        return failed(say("peak-decided-at-run-time"), say("peak-fix-sizes"))
    told = say("peak-of-most", bytes=total, most=options.most)
    if total <= options.most:
        return passed(told)
    between, largest = found.between, found.largest
    if largest is None or (between is not None and (between.bytes or 0) > (largest.bytes or 0)):
        return failed(told, say("peak-fuse-calls"))
    return failed(told, say("peak-shrink-buffer", name=shown(largest.name)))
