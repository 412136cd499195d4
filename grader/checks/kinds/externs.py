"""Checks of work that is left to registered external functions."""

from __future__ import annotations

import numpy as np

from grader.assignment import Table
from grader.checks.kinds.graph import input_passes_by
from grader.checks.registry import NOT_RUN, NoOptions, Outcome, check, failed, not_graded, passed
from grader.evidence.case import Case, Problem
from grader.evidence.problems import WRITE_THE_BUFFER
from grader.evidence.subject import takes_weight
from grader.ir.facts import Call, ModuleFacts
from grader.language import say


class ExternOptions(Table, frozen=True):
    """`weight` is the shape of the weight of the layer that the extern has to compute.

    `through`: the model's input reaches its output through this layer only, as in a chain of
    layers, so with the extern replaced by noise it must not matter.
    """

    weight: tuple[int, ...]
    through: bool = False


@check("extern_call", options=ExternOptions, needs=("stubs",))
def extern_call(case: Case, options: ExternOptions) -> Outcome:
    """The convolution is done by an external function.

    Two things are looked at. In the graph: the convolution's weight goes to an extern (or an extern
    makes the feature maps from the input), and to no TIR function or operator. In runs with every
    extern replaced by noise: different noise must give different outputs, otherwise the extern's
    result is not used. With `through`, different inputs must not, and the graph must show no way
    for them either: a module could notice the noise, and behave.
    """
    facts = case.candidate.facts
    externs = [call for call in facts.calls if call.kind == "extern"]
    if not externs:
        return failed(
            say("The module calls no external function."),
            say(
                'Register a function, for example "env.conv2d", and call it with'
                " relax.op.call_dps_packed(...) through bb.emit(...)."
            ),
        )
    inside = [call for call in facts.calls if _is_inside(call, options)]
    if inside:
        return failed(
            say(
                "The convolution is computed by `{callee}`, inside the module.",
                callee=inside[0].callee,
            ),
            say("Let the external function compute it, and drop the layer made with emit_te."),
        )
    layer = [call for call in externs if takes_weight(call, options.weight)]
    layer = layer or _feature_calls(externs, options)
    if not layer:
        return failed(
            say("No external function is given the convolution's weight."),
            say(
                "Pass the input, the weight (and the bias, if you like) to your external function."
            ),
        )
    return _judge_flow(case, layer, options)


def _is_inside(call: Call, options: ExternOptions) -> bool:
    return call.kind != "extern" and takes_weight(call, options.weight)


def _feature_calls(externs: list[Call], options: ExternOptions) -> list[Call]:
    """Find an extern that holds its weight itself: it makes as many channels as the weight has."""
    for call in externs:
        shape = call.result.shape if call.result is not None else None
        if shape and len(shape) == len(options.weight) and shape[1] == options.weight[0]:
            return [each for each in externs if each.callee == call.callee]
    return []


def _judge_flow(case: Case, layer: list[Call], options: ExternOptions) -> Outcome:
    """Judge whether the output depends on the layer's extern, and on the input by way of it."""
    name, facts, stubs = layer[0].callee, case.candidate.facts, case.evidence.stubs
    if isinstance(stubs, Problem) or stubs is None:
        return not_graded(stubs or NOT_RUN)
    if np.array_equal(stubs.first, stubs.second, equal_nan=True):
        return failed(
            say("`{name}` is called, but the model's output does not depend on it.", name=name),
            say("Use the result of the external function as the input of the next layer."),
        )
    if options.through:
        places = {place for place, call in enumerate(facts.calls) if call in layer}
        same = np.array_equal(stubs.first, stubs.elsewhere, equal_nan=True)
        if input_passes_by(facts, places) or not same:
            return failed(
                say(
                    "`{name}` is called, but the model's input reaches its output past it.",
                    name=name,
                ),
                say(
                    "Make the next layer of the external function's result alone, and"
                    " drop what else computes the convolution."
                ),
            )
    return passed(say("The external function `{name}` computes the convolution.", name=name))


@check("writes_output", options=NoOptions, needs=("outputs",))
def writes_output(case: Case, _options: NoOptions) -> Outcome:
    """The external functions write their output argument."""
    outputs = case.evidence.outputs
    if isinstance(outputs, Problem) or outputs is None:
        return not_graded(outputs or NOT_RUN)
    unwritten = sorted(set(outputs.unwritten) & _extern_names(case.candidate.facts))
    if unwritten:
        return failed(
            say("`{name}` never wrote to its last argument, the output buffer.", name=unwritten[0]),
            WRITE_THE_BUFFER,
            code="unwritten",
        )
    if not np.isfinite(np.asarray(outputs.actual, dtype=np.float64)).all():
        return failed(
            say("Some of the output is NaN or infinite, as what is never written is."),
            say(
                "Every element of the output argument must be written in every call. Where that is"
                " so, look for a division by zero, or the exponential of a large number."
            ),
            code="not_finite",
        )
    return passed(say("Every output buffer was written in every call."))


def _extern_names(facts: ModuleFacts) -> set[str]:
    return {call.callee for call in facts.calls if call.kind == "extern"}
