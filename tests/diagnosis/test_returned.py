"""What `main` returns in place of what it computes."""

from __future__ import annotations

from typing import Literal

import pytest

from grader.diagnosis.align import align
from grader.diagnosis.returned import with_returned_argument
from grader.ir.facts import Argument, ModuleFacts
from tests.diagnosis import network
from tests.diagnosis.network import run

LAYERS = network.layers()


def facts(kind: Literal["input", "value"] = "input", *, has_main: bool = True) -> ModuleFacts:
    return ModuleFacts(has_main, (), None, (), {}, (), (), result=Argument(kind, "out_bias", None))


def test_a_parameter_that_is_returned_is_told() -> None:
    steps = run(network.RIGHT)
    found = with_returned_argument(align(steps, LAYERS), facts(), steps, LAYERS)
    assert found.mistake is not None
    assert "other_step_returned" == found.mistake.kind
    assert {"returned": "out_bias", "wanted": steps[-1].variable} == found.mistake.facts
    assert len(steps) - 1 == found.wrong


@pytest.mark.parametrize("other", [facts("value"), facts(has_main=False)])
def test_nothing_else_is(other: ModuleFacts) -> None:
    steps = run(network.RIGHT)
    assert with_returned_argument(align(steps, LAYERS), other, steps, LAYERS).mistake is None


def test_a_step_that_is_wrong_comes_first() -> None:
    steps = run(network.RIGHT)
    wrong = align(steps, LAYERS)._replace(wrong=2)
    assert wrong == with_returned_argument(wrong, facts(), steps, LAYERS)


def test_where_the_output_is_nowhere_it_is_not_told_to_be_returned() -> None:
    steps = run(network.RIGHT)
    early = align(steps, LAYERS)
    early = early._replace(matched=(*early.matched[:-1], None))
    assert early == with_returned_argument(early, facts(), steps, LAYERS)
