"""What all kinds of evidence have in common: questions, answers, what is shown and who sees it."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Literal

import msgspec
import pytest

from grader.assignment import Table
from grader.checks import kinds as checks
from grader.errors import ProtocolError
from grader.evidence import plug, registry
from grader.evidence.case import Problem
from grader.evidence.plug import UNREADABLE, EvidenceKind, Gathered, Question, ask, request
from grader.evidence.registry import NOT_RUN, NoOptions, check, passed
from grader.language import foreign, say
from grader.messages.evidence import Examine, Examined
from grader.messages.frames import Message
from grader.messages.runner import TaskFailure
from grader.report import Paragraph, Section
from tests.evidence.factory import case, module

assert checks.__all__  # importing the package registers the checks


class Weigh(Message, frozen=True):
    """A task."""

    module: bytes


class Weight(Message, frozen=True):
    """Its answer."""

    bytes: int


class Answering:
    """Runners that answer every task with one answer, or raise it."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Examine]] = []

    def request(self, kind: str, task: Examine) -> object:
        self.asked.append((kind, task))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


TASK = Weigh(b"{}")


class TestAsking:
    """A kind's task goes into a box, and what comes out is decoded strictly."""

    def test_a_task_travels_in_a_pure_runner_and_its_answer_comes_back(self) -> None:
        runners = Answering(Examined.of("weight", Weight(3)))
        assert Weight(3) == ask(runners, "weight", TASK, Weight)
        ((kind, sent),) = runners.asked
        assert ("pure", "weight") == (kind, sent.kind)
        assert TASK == msgspec.msgpack.decode(sent.task, type=Weigh)

    @pytest.mark.parametrize(
        "answer",
        [
            Examined("weight", b"no message"),
            Examined("weight", msgspec.msgpack.encode({"type": "Weight", "bytes": 3, "more": 1})),
            Examined("weight", msgspec.msgpack.encode({"type": "Weight", "bytes": "3"})),
            Examined.of("weight", TASK),
            Examined.of("another", Weight(3)),
            ProtocolError(say("runner-answered-different-question")),
        ],
    )
    def test_an_answer_that_breaks_the_protocol_is_a_problem(self, answer: object) -> None:
        assert UNREADABLE == ask(Answering(answer), "weight", TASK, Weight)

    def test_a_failure_is_told_in_words_or_left_to_whoever_has_their_own(self) -> None:
        failure = TaskFailure("build", "Raised", "no such axis")
        told = ask(Answering(failure), "weight", TASK, Weight)
        assert isinstance(told, Problem)
        assert "no such axis" in told.reason.english
        assert failure == request(Answering(failure), "weight", TASK, Weight)


class Scale(Table, frozen=True):
    """Options of a check."""

    most: int = 1


def test_a_question_has_the_options_of_the_first_check_that_has_such() -> None:
    question = Question(*[None] * 4, (NoOptions(), Scale(2), Scale(3)), *[None] * 3)
    assert Scale(2) == question.options(Scale)
    assert None is replace(question, tables=()).options(Scale)


WEIGHT = Gathered[int]("weight")
KIND = EvidenceKind(
    WEIGHT,
    lambda _: 3,
    lambda grams: Section(foreign("Weight"), (Paragraph(foreign(f"{grams} g")),)),
    admits=frozenset({"heavy"}),
)


class TestOneKind:
    """What its check and its page are given."""

    def test_a_check_reads_what_was_found_or_why_there_is_nothing(self) -> None:
        problem = Problem(foreign("No."))
        assert 3 == WEIGHT.of(case(module(), found={"weight": 3}))
        assert problem is WEIGHT.of(case(module(), found={"weight": problem}))
        assert NOT_RUN is WEIGHT.of(case(module()))

    def test_a_page_says_which_checks_it_explains(self, registered: None) -> None:
        section = KIND.shown(case(module(), found={"weight": 3}))
        assert section is not None
        assert ("weight", ("light",)) == (section.kind, section.explains)

    def test_nothing_is_shown_of_a_problem(self) -> None:
        assert None is KIND.shown(case(module(), found={"weight": NOT_RUN}))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register that kind, with a check."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    monkeypatch.setattr(registry, "_NEEDS", registry._NEEDS | {"weight"})
    monkeypatch.setattr(plug, "KINDS", ("weight",))
    for name in ("", ".kind", ".checks"):
        made = ModuleType(f"grader.evidence.weight{name}")
        monkeypatch.setitem(sys.modules, made.__name__, made)
    sys.modules["grader.evidence.weight.kind"].KIND = KIND
    plug.kinds.cache_clear()

    @check("light", options=Scale, needs=("weight",))
    def light(_case: object, _options: Scale) -> registry.Outcome:
        """It is light."""
        return passed("Yes.")

    yield
    plug.kinds.cache_clear()


def part(kind: Literal["light", "one_function"], withheld: bool = False) -> SimpleNamespace:
    table = SimpleNamespace(id="a", kind=kind, options={"most": 5} if kind == "light" else {})
    return SimpleNamespace(made=() if withheld else (table,))


class TestAParts:
    """Which kinds a part needs."""

    def test_those_that_its_checks_name(self, registered: None) -> None:
        assert (KIND,) == plug.kinds_of(part("light"))
        assert () == plug.kinds_of(part("one_function"))

    def test_none_for_a_check_that_is_withheld(self, registered: None) -> None:
        assert () == plug.kinds_of(part("light", withheld=True))

    def test_a_kind_is_given_the_options_of_its_checks(self, registered: None) -> None:
        assert (Scale(5),) == plug.tables_of(part("light"), KIND)
        assert () == plug.tables_of(part("one_function"), KIND)

    def test_findings_are_admitted_where_a_kind_can_run_them(self, registered: None) -> None:
        assert frozenset({"heavy"}) == plug.admission(part("light")).codes
        assert frozenset() == plug.admission(part("one_function")).codes
