"""Finding the function that does the convolution: by the weight it is given, not by its name."""

from __future__ import annotations

from grader.ir.facts import Call, FunctionFacts, ModuleFacts
from grader.referee.evidence import Problem

NO_CONVOLUTION = Problem(
    "No TIR function of the module is given the convolution's weight.",
    "Keep the convolution as a TIR function that takes the weight as an argument.",
)


def takes_weight(call: Call, weight: tuple[int, ...]) -> bool:
    """Say whether a call is given a constant of the weight's shape."""
    return any(
        argument.kind == "constant"
        and argument.tensor is not None
        and argument.tensor.shape == weight
        for argument in call.arguments
    )


def find_weight_call(facts: ModuleFacts, weight: tuple[int, ...]) -> Call | None:
    """Return the first call in `main` that is given the weight."""
    return next((call for call in facts.calls if takes_weight(call, weight)), None)


def find_convolution(facts: ModuleFacts, weight: tuple[int, ...]) -> FunctionFacts | None:
    """Return the PrimFunc that is given the weight, or None when no PrimFunc is."""
    call = find_weight_call(facts, weight)
    if call is None or call.kind != "tir":
        return None
    return facts.functions.get(call.callee)


def find_convolutions(facts: ModuleFacts, weight: tuple[int, ...]) -> tuple[FunctionFacts, ...]:
    """Return every PrimFunc that is given the weight, each once, if the first such call is one."""
    if find_convolution(facts, weight) is None:
        return ()
    names = dict.fromkeys(call.callee for call in facts.calls if takes_weight(call, weight))
    return tuple(facts.functions[name] for name in names if name in facts.functions)
