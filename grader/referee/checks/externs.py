"""Checks of work that is left to registered external functions."""

from __future__ import annotations

import numpy as np

from grader.assignment import Table
from grader.ir.facts import Call, ModuleFacts
from grader.referee.convolution import find_weight_call
from grader.referee.evidence import Case, Problem
from grader.referee.mismatch import WRITE_THE_BUFFER
from grader.referee.outcome import Outcome, failed, not_graded, passed
from grader.referee.registry import NoOptions, check


class ExternOptions(Table, frozen=True):
    """`weight` is the shape of the weight of the layer that the extern has to compute."""

    weight: tuple[int, ...]


@check("extern_call", options=ExternOptions, needs=("stubs",))
def extern_call(case: Case, options: ExternOptions) -> Outcome:
    """The convolution is done by an external function.

    Two things are looked at. In the graph: the convolution's weight goes to an extern (or an extern
    makes the feature maps from the input), and to no TIR function or operator. In a run: with every
    extern replaced by noise, different noise must give different outputs, otherwise the extern's
    result is not used.
    """
    facts = case.candidate.facts
    externs = [call for call in facts.calls if call.kind == "extern"]
    if not externs:
        return failed(
            "The module calls no external function.",
            'Register a function, for example "env.conv2d", and call it with'
            " relax.op.call_dps_packed(...) through bb.emit(...).",
        )
    weight_call = find_weight_call(facts, options.weight) or _feature_call(externs, options)
    if weight_call is None:
        return failed(
            "No external function is given the convolution's weight.",
            "Pass the input, the weight (and the bias, if you like) to your external function.",
        )
    if weight_call.kind != "extern":
        return failed(
            f"The convolution is computed by `{weight_call.callee}`, inside the module.",
            "Let the external function compute it, and drop the layer made with emit_te.",
        )
    return _depends(case, weight_call)


def _feature_call(externs: list[Call], options: ExternOptions) -> Call | None:
    """Find an extern that holds its weight itself: it makes as many channels as the weight has."""
    channels = options.weight[0]
    for call in externs:
        shape = call.result.shape if call.result is not None else None
        if shape is not None and len(shape) == len(options.weight) and shape[1] == channels:
            return call
    return None


def _depends(case: Case, call: Call) -> Outcome:
    stubs = case.evidence.stubs
    if isinstance(stubs, Problem) or stubs is None:
        return not_graded(stubs or Problem("The module was not run."))
    if np.array_equal(stubs.first, stubs.second, equal_nan=True):
        return failed(
            f"`{call.callee}` is called, but the model's output does not depend on it.",
            "Use the result of the external function as the input of the next layer.",
        )
    return passed(f"The external function `{call.callee}` computes the convolution.")


@check("writes_output", options=NoOptions, needs=("outputs",))
def writes_output(case: Case, _options: NoOptions) -> Outcome:
    """The external functions write their output argument."""
    outputs = case.evidence.outputs
    if isinstance(outputs, Problem) or outputs is None:
        return not_graded(outputs or Problem("The module was not run."))
    unwritten = sorted(set(outputs.unwritten) & _extern_names(case.candidate.facts))
    if unwritten:
        return failed(
            f"`{unwritten[0]}` never wrote to its last argument, the output buffer.",
            WRITE_THE_BUFFER,
        )
    if not np.isfinite(np.asarray(outputs.actual, dtype=np.float64)).all():
        return failed(
            "Some of the output is NaN or infinite: part of a buffer was never written.",
            "Every element of the output argument must be written in every call.",
        )
    return passed("Every output buffer was written in every call.")


def _extern_names(facts: ModuleFacts) -> set[str]:
    return {call.callee for call in facts.calls if call.kind == "extern"}
