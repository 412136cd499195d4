"""Tasks of kinds of evidence: which boxed code does them."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest

from grader.inside.common.failure import TaskError
from grader.inside.runner import kinds
from grader.inside.runner.entry import perform
from grader.messages.evidence import Examine, Examined
from grader.messages.frames import Message
from grader.messages.runner import TaskFailure


class Double(Message, frozen=True):
    """A task."""

    number: int


class Doubled(Message, frozen=True):
    """Its answer."""

    number: int


@pytest.fixture(autouse=True)
def doubling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a kind that doubles."""
    entry = SimpleNamespace(perform=lambda task: Doubled(2 * task.number))
    boxed = kinds.BoxedKind(SimpleNamespace(Task=Double, Answer=Doubled), entry)
    monkeypatch.setattr(kinds, "_LOADED", {"double": boxed})


def test_a_kind_does_its_task() -> None:
    answer = perform(Examine.of("double", Double(3)))
    assert isinstance(answer, Examined)
    assert Doubled(6) == answer.read(Doubled)


def test_another_kind_is_refused() -> None:
    with pytest.raises(TaskError, match="no kind of evidence called treble"):
        kinds.examine(Examine.of("treble", Double(3)))


def test_another_task_is_refused() -> None:
    task = Examine("double", msgspec.msgpack.encode({"type": "Treble", "number": 3}))
    answer = perform(task)
    assert isinstance(answer, TaskFailure)
    assert "decode" == answer.stage


def test_beside_an_evaluator_no_kind_does_anything() -> None:
    answer = perform(Examine.of("double", Double(3)), evaluator=object())
    assert isinstance(answer, TaskFailure)
    assert "NotHere" == answer.code
