"""What flows where in `main`: what its output is made of, and what its input reaches."""

from __future__ import annotations

from collections.abc import Collection

from grader.ir.facts import Argument, Call, ModuleFacts

_OF_SHAPES = frozenset({"relax.shape_of", "relax.size"})
"""Operators that tell nothing of a tensor but its shape."""


def input_passes_by(facts: ModuleFacts, layer: Collection[int]) -> bool:
    """Say whether the input reaches the output on a way that leads through no call of `layer`.

    Calls are named by their places in `facts.calls`. What comes from an `if` may come from
    anywhere. What else cannot be followed is left to a run.
    """
    reached: set[int] = set()

    def carries(argument: Argument) -> bool:
        return argument.kind == "input" or _is_hidden(argument) or argument.source in reached

    for place, call in enumerate(facts.calls):
        if place not in layer and not _is_of_shapes(call) and any(map(carries, call.arguments)):
            reached.add(place)
    return facts.result is not None and carries(facts.result)


def used_calls(facts: ModuleFacts) -> tuple[Call, ...]:
    """Return the calls that the output of `main` may depend on, in their order.

    An external or Relax function that is called outside of a dataflow block counts as well: it may
    do its work by writing into its arguments. All calls count where the output cannot be followed.
    """
    calls = facts.calls
    pending = [] if facts.result is None else [facts.result]
    if not pending or _is_hidden(pending[0]):
        return calls
    effects = ("extern", "function")
    used = {place for place, call in enumerate(calls) if call.kind in effects and not call.dataflow}
    pending += [argument for place in used for argument in calls[place].arguments]
    while pending:
        argument = pending.pop()
        if _is_hidden(argument):
            return calls
        if argument.source is not None and argument.source not in used:
            used.add(argument.source)
            pending.extend(calls[argument.source].arguments)
    return tuple(calls[place] for place in sorted(used))


def _is_of_shapes(call: Call) -> bool:
    return call.kind == "operator" and call.callee in _OF_SHAPES


def _is_hidden(argument: Argument) -> bool:
    """Say whether a tensor is from nowhere that can be seen: from an `if`, which has no source."""
    tensor = argument.tensor
    return argument.kind == "value" and argument.source is None and bool(tensor and tensor.shape)
