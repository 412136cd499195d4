"""What a runner says of a schedule's step is believed only as far as it fits the trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from grader.diagnosis.report import Diagnosed
from grader.diagnosis.schedule import find_step
from grader.evidence.case import Outputs, Problem
from grader.evidence.oracle import ModelOracle
from grader.ir.read import read_module
from grader.messages import (
    FindStep,
    FoundStep,
    TaskFailure,
    TraceResult,
    decode_payload,
    encode_frame,
    pack_array,
    unpack_array,
)
from tests.diagnosis.test_report import expected, given, model, oracle
from tests.ir.modules import save

__all__ = ["oracle"]

TRACE = [
    ["GetSBlock", [], ["compute", "relu"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1", "l2"]],
    ["Parallel", ["l1"], [], []],
    ["GetLoops", ["b0"], [], ["l3", "l4"]],
    ["Vectorize", ["l4"], [], []],
]

Answer = FoundStep | TaskFailure | TraceResult
Make = Callable[[FindStep], Answer]


class Says:
    """A runner that answers as it is told; the answer goes through a message."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.asked = 0

    def request(self, _kind: str, task: Any) -> object:
        self.asked += 1
        answer = self.make(task)
        return decode_payload(encode_frame(answer)[8:], type(answer))


def found(**changes: Any) -> Make:
    """Return an answer that says the truth, but for some changes."""

    def make(task: FindStep) -> FoundStep:
        images = unpack_array(task.run.arguments[0].array)
        right = np.stack([expected(None, each) for each in images]).astype(np.float32)
        truth = FoundStep(pack_array(right), 2, 2, "Vectorize", ("compute",), ("j",))
        return msgspec.structs.replace(truth, **changes)

    return make


def ask(oracle: ModelOracle, make: Make, trace: object = TRACE) -> tuple[Problem | None, Says]:
    """Return what is said of a schedule whose result is wrong, of a module that is right."""
    wrong, outputs = given(oracle, axis=0)
    base = save(model())
    document = json.dumps([trace, []]).encode()
    capture = msgspec.structs.replace(wrong.candidate.capture, base=base, trace=document)
    candidate = replace(wrong.candidate, capture=capture, base=read_module(base))
    diagnosed: Diagnosed = wrong._replace(candidate=candidate)
    runner = Says(make)
    return find_step(diagnosed, cast(Outputs, outputs), cast(Any, runner)), runner


def test_a_step_of_the_trace_is_told(oracle: ModelOracle) -> None:
    told, _ = ask(oracle, found(may_go=True))
    assert told is not None
    assert "in step 2 of 2, `vectorize(compute, j)`" in told.reason.english
    assert "Leave this step out" in told.hint.english


LIES: dict[str, Make] = {
    "no step": found(number=0),
    "a step behind the last": found(number=3),
    "a step far behind the last": found(number=2**40),
    "other steps": found(steps=9),
    "another instruction": found(instruction="Fuse"),
    "an instruction that is none": found(instruction="\x1b[2J`<b>"),
    "an instruction that looks something up": found(number=1, instruction="GetLoops"),
    "outputs that are not right": found(outputs=pack_array(np.ones((1, 4, 10), "float32"))),
    "no numbers": found(outputs=pack_array(np.full((1, 4, 10), np.nan, "float32"))),
    "infinite outputs": found(outputs=pack_array(np.full((1, 4, 10), np.inf, "float32"))),
    "too few outputs": found(outputs=pack_array(np.ones((1, 1), "float32"))),
    "a name of a megabyte": found(blocks=("b" * 2**20,)),
    "a reader of a megabyte": found(within="sum", reader="b" * 2**20),
    "a hundred names": found(loops=("j",) * 100),
    "a failure": lambda _task: TaskFailure("run", "TimeLimit", "It took too long."),
    "another answer": lambda _task: TraceResult(()),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_cannot_be_says_nothing(lie: str, oracle: ModelOracle) -> None:
    told, runner = ask(oracle, LIES[lie])
    assert (None, 1) == (told, runner.asked)


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "a`b", "line\nline", "\u202eright to left", "n" * 200]
)
def test_names_are_shown_short_and_printable(name: str, oracle: ModelOracle) -> None:
    changes = {"blocks": (name,) * 8, "reader": name, "writer": name, "within_loop": name}
    told, _ = ask(oracle, found(within="lanes", other_loop=name, **changes))
    assert told is not None
    for text in (told.reason, told.hint):
        assert text.english.isprintable()
        assert len(text.english) < 600
        assert 0 == text.english.count("`") % 2


HOSTILE: dict[str, object] = {
    "2,001 instructions": [TRACE[0], *[TRACE[1]] * 2000],
    "names that are given twice": [*TRACE, *TRACE],
    "a name of a megabyte": [["GetSBlock", [], ["b" * 2**20, "relu"], ["b0"]]],
    "control characters": [["GetSBlock", [], ["\x1b[2J", "relu"], ["b0"]]],
    "a function of the student's": [["GetSBlock", [], ["compute", "relu"], ["b0"]], ["Tensorize"]],
    "no list": "",
    "deeply nested": json.loads("[" * 90 + "]" * 90),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_trace_reaches_no_runner(kind: str, oracle: ModelOracle) -> None:
    told, runner = ask(oracle, found(), HOSTILE[kind])
    assert (None, 0) == (told, runner.asked)
