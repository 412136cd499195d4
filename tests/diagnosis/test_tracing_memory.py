"""What was in the memory is blamed only where the module is right on memory full of zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tvm import te, tirx
from tvm.script import tirx as T

from grader.diagnosis.report import diagnose
from grader.evidence.oracle import ModelOracle
from grader.messages.runner import TraceModule
from grader.report import Diagnosis
from tests.diagnosis.test_report import Runners, given, oracle

# ruff: noqa: N812 - TVMScript looks like Python and has its own rules


__all__ = ["oracle"]


@T.prim_func(s_tir=True)
def adds_to_memory(x: T.Buffer((4, 16), "float32"), y: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = y[vi, vj] + T.max(x[vi, vj], T.float32(0))


@T.prim_func(s_tir=True)
def adds_twice_to_memory(x: T.Buffer((4, 16), "float32"), y: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = y[vi, vj] + T.max(x[vi, vj], T.float32(0)) * x[vi, vj]


@T.prim_func(s_tir=True)
def leaves_a_column_out(x: T.Buffer((4, 16), "float32"), y: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 15):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(x[vi, vj], T.float32(0))


@T.prim_func(s_tir=True)
def takes_logarithms_of_a_column(x: T.Buffer((4, 16), "float32"), y: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.if_then_else(
                vj < 15,
                T.max(x[vi, vj], x[vi, vj] * x[vi, vj]),
                T.log(T.float32(-1) - x[vi, vj] * x[vi, vj]),
            )


def computed(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: te.compute(x.shape, lambda *place: item(x[place]), name="relu")


OTHER_CAUSES = {
    "0 / 0": computed(lambda x: te.min(x * x, 0.0) / te.min(x * x, 0.0)),
    "two infinities": computed(lambda x: te.exp(x * x + 1e3) / te.exp(x * x + 2e3)),
    "logarithm": computed(lambda x: te.log(-1.0 - x * x)),
    "huge numbers": computed(lambda x: te.exp(x * x + 60.0)),
    "a column of logarithms": takes_logarithms_of_a_column,
    "not initialised, and something else": adds_twice_to_memory,
}


def told(oracle: ModelOracle, **changes: Any) -> tuple[Diagnosis, Runners]:
    runners = Runners()
    found = diagnose(*given(oracle, **changes), runners)
    assert found is not None
    return found, runners


def test_a_sum_that_is_right_on_zeros_was_not_initialised(oracle: ModelOracle) -> None:
    found, runners = told(oracle, relu=adds_to_memory)
    assert ("relu", "sum_not_initialised") == (found.layer.english, found.mistake)
    assert [TraceModule, TraceModule] == runners.tasks


def test_what_is_zero_on_zeros_was_never_written(oracle: ModelOracle) -> None:
    """It is said which axis leaves it out, and not that some of it is missing."""
    assert "short_axis" == told(oracle, relu=leaves_a_column_out)[0].mistake


def no_numbers(_x: Any) -> Any:
    return te.compute((4, 10), lambda *_: tirx.const(0, "float32"), name="none")


def first_numbers(x: Any) -> Any:
    return te.compute((4, 10), lambda i, j: x[0, 10 * i + j], name="first")


@pytest.mark.parametrize(
    ("result", "mistake"), [(first_numbers, "input_returned"), (no_numbers, "zeros")]
)
def test_zeros_are_looked_at_on_other_inputs_where_images_begin_with_zeros(
    result: Any, mistake: str, oracle: ModelOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corner of an image is black: there, its first numbers are no other than zeros."""
    inputs = oracle.inputs.copy()
    inputs[oracle.from_test_set, :64] = 0
    monkeypatch.setattr(oracle, "inputs", inputs)
    found, runners = told(oracle, result=result)
    assert mistake == found.mistake
    assert [TraceModule, TraceModule] == runners.tasks


@pytest.mark.parametrize("cause", OTHER_CAUSES)
def test_other_causes_of_nan_are_not_told_so(cause: str, oracle: ModelOracle) -> None:
    found, _ = told(oracle, relu=OTHER_CAUSES[cause])
    assert ("relu", "") == (found.layer.english, found.mistake)
    assert "T.init" not in found.message.english
    if cause != "huge numbers":
        assert "of its values are NaN or infinite" in found.message.english
        assert "from a division by zero" in found.advice.english
