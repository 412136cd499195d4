"""Comparing a schedule with the target: TVM says if they are equal, and facts say where not."""

from grader.errors import IRError
from grader.evidence.case import Problem
from grader.evidence.plug import Question, request
from grader.evidence.problems import explain_failure, told_by
from grader.evidence.target.found import TARGET, TargetMatch
from grader.evidence.target.messages import CompareTarget, TargetResult
from grader.ir.read import read_module
from grader.language import Text, clause, say
from grader.messages.runner import TaskFailure

UNREADABLE = Problem(
    say("answer-process-that-compared-schedule-with-target"),
    say("schedule-may-compute-but-must-not-touch"),
    code="no_answer",
)

NO_TARGET = say("target-this-assignment-could-not-made")
NOT_YOURS = say("this-not-your-fault-tell-your-instructor")


def gather_target(question: Question) -> TargetMatch | Problem:
    """Compare a candidate's function with the target of the assignment's `workload.py`."""
    subject, candidate = question.subject(), question.candidate
    function = subject.find(candidate.facts)
    if function is None:
        return subject.missing
    task = CompareTarget(question.workload(), candidate.capture.module, function.name)
    answer = request(question.runners, TARGET.name, task, TargetResult, UNREADABLE)
    if isinstance(answer, Problem):
        return answer
    if isinstance(answer, TaskFailure):
        # The target is made before the student's module is loaded.
        made = answer.stage != "time"
        return explain_failure(answer) if made else _no_target(told_by(answer))
    try:
        facts = read_module(answer.target)
    except IRError as error:
        return _no_target(error.message)
    (wanted, *more) = facts.functions.values() or (None,)
    if wanted is None or more:
        return _no_target(say("not-single-tir-function"))
    return TargetMatch(answer.equal, answer.place, wanted, function)


def _no_target(reason: Text) -> Problem:
    return Problem(say(NO_TARGET, reason=clause(reason)), NOT_YOURS, again=True, code="no_target")
