"""Whether a schedule arrived at the exercise's target: TVM says if, and facts say where not."""

from __future__ import annotations

from grader.errors import IRError, ProtocolError
from grader.evidence.case import Candidate, Problem, TargetMatch
from grader.evidence.failures import explain_failure, told_by
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.ir.read import read_module
from grader.language import Text, clause, say
from grader.messages import CompareTarget, TargetResult, TaskFailure

UNREADABLE = Problem(
    say("The answer of the process that compared the schedule with the target cannot be read."),
    say("A schedule may compute, and must leave the process that it runs in alone."),
    code="no_answer",
)

NO_TARGET = say("The target of this assignment could not be made ({reason}).")
NOT_YOURS = say("This is not your fault: tell your instructor.")


def gather_target(
    candidate: Candidate, subject: Subject, workload: str, runners: RunnerPool
) -> TargetMatch | Problem:
    """Compare a candidate's function with the target of `workload`, the text of `workload.py`."""
    function = subject.find(candidate.facts)
    if function is None:
        return subject.missing
    try:
        task = CompareTarget(workload, candidate.capture.module, function.name)
        answer = runners.request("pure", task)
    except ProtocolError:
        return UNREADABLE
    if isinstance(answer, TaskFailure) and answer.stage == "time":
        return _no_target(told_by(answer))
    if not isinstance(answer, TargetResult):
        return explain_failure(answer)
    try:
        facts = read_module(answer.target)
    except IRError as error:
        return _no_target(error.message)
    (wanted, *more) = facts.functions.values() or (None,)
    if wanted is None or more:
        return _no_target(say("it is not one TIR function"))
    return TargetMatch(answer.equal, answer.place, wanted, function)


def _no_target(reason: Text) -> Problem:
    return Problem(say(NO_TARGET, reason=clause(reason)), NOT_YOURS, again=True, code="no_target")
