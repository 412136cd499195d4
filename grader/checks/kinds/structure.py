"""Checks of how a module is built, decided from its facts alone."""

from __future__ import annotations

from grader.assignment import Table
from grader.checks.outcome import Outcome, failed, partial, passed
from grader.checks.registry import NoOptions, check
from grader.evidence.case import Case
from grader.evidence.subject import takes_weight
from grader.ir.facts import Call, ModuleFacts
from grader.language import say

_MADE = {
    "extern": say("`{binding}` is made by the external function `{callee}`, not by call_tir."),
    "operator": say("`{binding}` is made by the operator `{callee}`, not by call_tir."),
    "function": say("`{binding}` is made by `{callee}`, not by call_tir."),
}


class GraphOptions(Table, frozen=True):
    """`weights` are the shapes of the model's weights: each must be given to some call."""

    weights: tuple[tuple[int, ...], ...]


@check("call_tir_graph", options=GraphOptions)
def call_tir_graph(case: Case, options: GraphOptions) -> Outcome:
    """The model is a graph of `call_tir` into TIR functions.

    Full points when every call of `main` is a call_tir and every weight of the model is used. Half
    of them when operators of Relax are mixed in.
    """
    facts = case.candidate.facts
    wrong = _foreign_calls(facts)
    missing = [shape for shape in options.weights if not _is_used(facts, shape)]
    if not any(call.kind == "tir" for call in facts.calls):
        return failed(
            say("No call in `main` is a call_tir into a TIR function."),
            say(
                "Add each layer with bb.emit_te(...): it writes the TIR function and the call_tir."
            ),
        )
    if missing:
        return failed(
            say("No layer is given the weight of shape {shape}.", shape=_spell(missing[0])),
            say("Build all layers of the model, each with its own weight and bias."),
        )
    if wrong:
        return partial(
            0.5,
            say(_MADE[wrong[0].kind], binding=wrong[0].binding, callee=wrong[0].callee),
            say("Write this layer with bb.emit_te(...) as well."),
        )
    return passed(
        say("All {count} calls of `main` are call_tir into TIR functions.", count=len(facts.calls))
    )


@check("pure_tir", options=NoOptions)
def pure_tir(case: Case, _options: NoOptions) -> Outcome:
    """The scheduled module calls TIR functions only."""
    wrong = [call for call in case.candidate.facts.calls if call.kind == "extern"]
    if wrong:
        return failed(
            say(
                "`{binding}` is computed by the external function `{callee}`.",
                binding=wrong[0].binding,
                callee=wrong[0].callee,
            ),
            say("Schedule the module that create_model_via_emit_te() builds."),
        )
    return passed(say("No external function is called."))


def _foreign_calls(facts: ModuleFacts) -> list[Call]:
    return [call for call in facts.calls if call.kind != "tir"]


def _is_used(facts: ModuleFacts, weight: tuple[int, ...]) -> bool:
    return any(takes_weight(call, weight) for call in facts.calls)


def _spell(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(str(extent) for extent in shape) + ")"
