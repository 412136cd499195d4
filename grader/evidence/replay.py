"""Proving a schedule: its trace is replayed on its start.

The capture's base and trace are the student's word. The base is read like any module, and must show
no step itself; the trace is read strictly; both are then given to a runner, which says whether the
result is the module that was handed in. The same trace is applied to the base with a larger batch,
so that the schedule can be timed on more than one shape.
"""

from typing import NamedTuple

from grader.errors import IRError, ProtocolError, Told
from grader.evidence.case import Candidate, LargerBatch, Replay
from grader.evidence.runners import RunnerPool
from grader.evidence.steps import is_unscheduled
from grader.evidence.subject import Data, Subject
from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from grader.ir.rewriting import Rebatched, rebatch
from grader.ir.trace import Trace, read_trace
from grader.ir.vocabulary import shown
from grader.language import clause, foreign, say
from grader.messages.runner import ReplayResult, ReplayTrace, TaskFailure
from grader.report import Scripts

NO_TRACE = say("module-comes-from-no-schedule-or-schedule")
NO_BASE = say("module-that-schedule-started-from-not-known")
BAD_BASE = say("module-that-schedule-started-from-not-accepted")
NO_STEPS = say("schedule-has-no-steps")
OTHER_FUNCTION = say("belongs-another-function-than-graded-one")
CHANGED_BASE = say("function-already-changed-in-module-that-schedule")
NOT_REPLAYED = say("trace-could-not-replayed")

NO_SCHEDULE = (NO_TRACE, NO_BASE, BAD_BASE, NO_STEPS, OTHER_FUNCTION, CHANGED_BASE)
"""Reasons of what is no schedule of the function. All others are of steps that it has."""


class _UnprovenError(Told):
    """Raised where a schedule cannot be proven; the message says why."""


def gather_replay(
    candidate: Candidate, subject: Subject, batches: tuple[int, ...], runners: RunnerPool
) -> Replay:
    """Say whether a candidate's schedule is proven, and make its function for larger batches."""
    steps = 0
    try:
        trace = _trace(candidate)
        steps = trace.steps
        unscheduled = _unscheduled(candidate, subject)
        size = unscheduled.data.batch if unscheduled.data is not None else None
        wanted = tuple(each for each in batches if size is not None and each > size)
        others = _others(candidate, unscheduled, wanted, trace.functions)
        answer = _ask(_task(candidate, trace, unscheduled.name, others.documents), runners)
    except _UnprovenError as unproven:
        return Replay(proven=False, steps=steps, reason=unproven.reason)
    larger = _read_larger(answer, unscheduled.name, wanted[: len(others.documents)])
    reason = others.reason
    if not larger and not reason and wanted:
        reason = say("same-steps-do-not-fit-larger-batch")
    return Replay(
        proven=True,
        steps=steps,
        larger=larger,
        larger_reason=reason,
        scripts=_scripts(unscheduled.name, answer),
    )


def _scripts(name: str, answer: ReplayResult) -> Scripts | None:
    """Return both texts of the function. They are the student's: nothing is decided by them."""
    if not (answer.before and answer.after):
        return None
    return Scripts(function=name, before=answer.before, after=answer.after)


def _trace(candidate: Candidate) -> Trace:
    document = candidate.capture.trace
    if document is None:
        raise _UnprovenError(NO_TRACE)
    try:
        trace = read_trace(document)
    except IRError as error:
        raise _UnprovenError(clause(error.message)) from None
    if trace.steps == 0:
        raise _UnprovenError(NO_STEPS)
    return trace


class _Unscheduled(NamedTuple):
    """The function of the base: its name, and where its images are, if it has a batch of them."""

    name: str
    data: Data | None


def _unscheduled(candidate: Candidate, subject: Subject) -> _Unscheduled:
    """Return the function of the base, which must be unscheduled.

    It is judged by itself: what it says of itself as a base counts for nothing.
    """
    if candidate.capture.base is None:
        raise _UnprovenError(NO_BASE)
    base = candidate.base
    function = None if base is None else subject.find(base)
    if base is None or function is None:
        raise _UnprovenError(BAD_BASE)
    if not is_unscheduled(function, subject.weight):
        raise _UnprovenError(CHANGED_BASE)
    graded = subject.find(candidate.facts)  # found first: cheat proof_of_another_function
    if graded is None or graded.name != function.name:
        raise _UnprovenError(OTHER_FUNCTION)
    return _Unscheduled(function.name, subject.data(base, function))


def _others(
    candidate: Candidate,
    unscheduled: _Unscheduled,
    batches: tuple[int, ...],
    functions: tuple[str, ...],
) -> Rebatched:
    """Return the function for other batches, or why there are none."""
    base = candidate.capture.base
    if unscheduled.data is None or base is None:
        return Rebatched((), say("convolution-has-no-single-input-known-batch"))
    if not batches:
        return Rebatched(())
    return rebatch(base, unscheduled.name, unscheduled.data.place, batches, functions)


def _task(
    candidate: Candidate, trace: Trace, function: str, others: tuple[bytes, ...]
) -> ReplayTrace:
    capture = candidate.capture
    assert capture.base is not None
    return ReplayTrace(trace.document, capture.base, capture.module, others, function)


def _ask(task: ReplayTrace, runners: RunnerPool) -> ReplayResult:
    """Have the trace replayed. Raises _UnprovenError unless it gives the module handed in."""
    try:
        answer = runners.request("pure", task)
    except ProtocolError:
        raise _UnprovenError(NOT_REPLAYED) from None
    if isinstance(answer, TaskFailure) or not isinstance(answer, ReplayResult):
        raise _UnprovenError(NOT_REPLAYED)
    if answer.outcome == "fails":
        raise _UnprovenError(
            say("trace-could-not-replayed-message", message=clause(foreign(answer.message)))
        )
    if answer.outcome == "differs":
        names = ", ".join(map(shown, answer.functions[:3])) or "`main`"
        raise _UnprovenError(say("trace-gives-another-module-than-one-handed", names=names))
    return answer


def _read_larger(
    answer: ReplayResult, name: str, batches: tuple[int, ...]
) -> tuple[LargerBatch, ...]:
    """Return what the trace made of larger batches, as far as it may be timed."""
    pairs = zip(batches, answer.modules, strict=False)
    found = (_read_one(document, name, batch) for batch, document in pairs if document)
    return tuple(each for each in found if each is not None)


def _read_one(document: bytes, name: str, batch: int) -> LargerBatch | None:
    """Read a module that a runner made of a student's; it is believed no more than theirs."""
    try:
        facts = read_module(document)
    except IRError:
        return None
    function = facts.functions.get(name)
    if facts.findings or function is None or function.decisions or function.unguarded:
        return None
    return LargerBatch(document, name, function) if _has_batch(function, batch) else None


def _has_batch(function: FunctionFacts, batch: int) -> bool:
    """Say whether the last parameter, the output, has `batch` as its first extent."""
    shape = function.parameters[-1].tensor.shape if function.parameters else None
    return shape is not None and shape[:1] == (batch,)
