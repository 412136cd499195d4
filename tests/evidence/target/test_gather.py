"""Comparing with a target: what a runner is asked, and what its answer comes to."""

from __future__ import annotations

from typing import Any

import pytest

from grader.errors import ProtocolError
from grader.evidence.case import Candidate, Problem
from grader.evidence.subject import NO_FUNCTION
from grader.evidence.target.found import TargetMatch
from grader.evidence.target.gather import UNREADABLE, gather_target
from grader.evidence.target.messages import TargetResult
from grader.language import NOTHING, foreign
from grader.messages.evidence import Examined
from grader.messages.runner import ReplayResult, TaskFailure
from tests.evidence import schedules
from tests.evidence.factory import question
from tests.evidence.products import SUBJECT, WORKLOAD, Written, facts_of, scheduled, transform
from tests.ir import modules


class AnsweringAlike:
    """Runners that answer everything alike, as one that was taken over might."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def request(self, kind: str, task: Any) -> Any:
        assert "pure" == kind
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def compare(runners: Any = None, steps: Any = transform, workload: str = WORKLOAD) -> Any:
    return ask(scheduled(steps), runners or schedules.Runners(), workload)


def ask(subject: Candidate, runners: Any, workload: str = WORKLOAD) -> TargetMatch | Problem:
    return gather_target(question(subject, SUBJECT.comparison, runners, workload))


def answered(equal: bool, document: bytes) -> Examined:
    return Examined.of("target", TargetResult(equal, document))


def reason(answer: Any) -> str:
    found = compare(AnsweringAlike(answer))
    assert isinstance(found, Problem)
    return found.reason.english


def test_the_exercise_done_is_the_target():
    match = compare()
    assert isinstance(match, TargetMatch)
    assert (True, "") == (match.equal, match.place)
    assert "Y_update" in {block.name for block in match.wanted.blocks}


def test_anything_else_is_not_and_both_are_there_to_be_compared():
    match = compare(steps=lambda sch: transform(sch, terms=8))
    assert isinstance(match, TargetMatch)
    assert (False, "<root>.body") == (match.equal, match.place[:11])
    assert {32, 16} == {
        next(
            loop.extent
            for block in each.blocks
            for loop in block.loops
            if loop.variable.startswith("k")
        )
        for each in (match.wanted, match.found)
    }


def test_a_module_without_the_function_is_not_compared():
    runners = schedules.Runners()
    subject = schedules.candidate(schedules.model(), schedules.schedule_topi)
    assert NO_FUNCTION == ask(subject, runners)
    assert [] == runners.tasks


@pytest.mark.parametrize(
    "workload",
    [
        "",
        "def target():\n    raise ValueError",
        "import tvm\ndef target():\n    return tvm.IRModule()",
    ],
    ids=["none", "fails", "empty"],
)
def test_a_target_that_cannot_be_made_is_not_the_students_fault(workload: str):
    found = compare(workload=workload)
    assert isinstance(found, Problem)
    assert "target of this assignment could not be made" in found.reason.english
    assert "not your fault" in found.hint.english


@pytest.mark.parametrize("document", [b"{", modules.save(schedules.model())], ids=["none", "model"])
def test_a_target_that_cannot_be_read_is_told(document: bytes):
    assert "target of this assignment" in reason(
        Examined.of("target", TargetResult(False, document))
    )


def test_what_a_runner_answers_is_read_before_it_is_believed():
    assert "crashed" in reason(TaskFailure("run", "Died", "It died."))
    assert UNREADABLE == compare(AnsweringAlike(ProtocolError(foreign("no message"), NOTHING)))
    assert UNREADABLE == compare(AnsweringAlike(ReplayResult("equal")))


def test_a_runner_that_says_that_all_is_equal_is_believed_as_far_as_it_goes():
    match = compare(
        AnsweringAlike(Examined.of("target", TargetResult(True, modules.save(Written))))
    )
    assert match.equal
    assert facts_of(Written) == match.wanted
