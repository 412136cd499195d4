"""Gathering a module's peak: it is measured in a box, and added up here."""

from grader.evidence.case import Problem
from grader.evidence.peak.found import PEAK, FoundPeak, PeakOptions
from grader.evidence.peak.messages import Holder, MeasurePeak, Peak
from grader.evidence.plug import Question, ask


def gather_peak(question: Question) -> FoundPeak | Problem:
    """Return what a candidate holds. Raises SandboxError where no runner can be started."""
    options = question.options(PeakOptions)
    assert options is not None, "the check that needs this has options"
    task = MeasurePeak(question.candidate.capture.module)
    answer = ask(question.runners, PEAK.name, task, Peak)
    if isinstance(answer, Problem):
        return answer
    return FoundPeak(answer.main, _largest(answer.functions), options.most)


def _largest(functions: tuple[Holder, ...]) -> Holder | None:
    """Return the function that holds most; one of unknown size before all others."""
    unknown = next((each for each in functions if each.bytes is None), None)
    return unknown or max(functions, key=lambda each: each.bytes or 0, default=None)
