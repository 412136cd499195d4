"""What `main` returns in place of what it computes."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from grader.diagnosis.align import align
from grader.diagnosis.returned import with_returned_argument
from grader.ir.facts import Argument, ModuleFacts
from tests.diagnosis import network
from tests.diagnosis.network import but, run

LAYERS = network.layers()


def facts(kind: Literal["input", "value"] = "input", *, has_main: bool = True) -> ModuleFacts:
    return ModuleFacts(has_main, (), None, (), {}, (), (), result=Argument(kind, "out_bias", None))


def told(facts: ModuleFacts, **changed: Any) -> tuple[str, Any] | None:
    steps = run(but(**changed))
    found = with_returned_argument(align(steps, LAYERS), facts, steps, LAYERS).mistake
    return None if found is None else (found.kind, found.facts.get("returned"))


def test_a_parameter_that_is_returned_is_told() -> None:
    steps = run(network.RIGHT)
    found = with_returned_argument(align(steps, LAYERS), facts(), steps, LAYERS)
    assert found.mistake is not None
    assert "other_step_returned" == found.mistake.kind
    assert {"returned": "out_bias", "wanted": steps[-1].variable} == found.mistake.facts
    assert len(steps) - 1 == found.wrong


@pytest.mark.parametrize("other", [facts("value"), facts(has_main=False)])
def test_nothing_else_is(other: ModuleFacts) -> None:
    assert told(other) is None


def test_a_step_that_is_wrong_comes_first() -> None:
    assert ("relu_missing", None) == told(facts(), relu1=None)


def test_where_the_output_is_nowhere_it_is_not_told_to_be_returned() -> None:
    found = told(facts(), softmax=None)
    assert found is None or found[0] != "other_step_returned"
