"""Finding the function that does the convolution: by the weight it is given, not by its name.

The weight may reach it in another shape or layout: what functions make of constants alone stands
for them, and a constant of as many elements stands for the weight where none has its very shape.
"""

from __future__ import annotations

from grader.evidence.case import Problem
from grader.evidence.updates import find_updates, holds_weight
from grader.ir.facts import Argument, Call, FunctionFacts, ModuleFacts
from grader.language import say

NO_CONVOLUTION = Problem(
    say("No TIR function of the module is given the convolution's weight."),
    say("Keep the convolution as a TIR function that takes the weight as an argument."),
    code="unmet",
)


def takes_weight(call: Call, weight: tuple[int, ...]) -> bool:
    """Say whether a call is given a constant of the weight's shape."""
    return any(_is_constant(argument) and _shape(argument) == weight for argument in call.arguments)


def find_weight_call(facts: ModuleFacts, weight: tuple[int, ...]) -> Call | None:
    """Return the first call in `main` that is given the weight, and data to use it on.

    Where there is none, the first one that is given the weight at all.
    """
    calls = _weight_calls(facts, weight)
    return next((call for call in calls if input_places(facts, call)), next(iter(calls), None))


def find_convolution(facts: ModuleFacts, weight: tuple[int, ...]) -> FunctionFacts | None:
    """Return the PrimFunc that is given the weight, or None when no PrimFunc is."""
    call = find_weight_call(facts, weight)
    if call is None or call.kind != "tir":
        return None
    return facts.functions.get(call.callee)


def find_convolutions(facts: ModuleFacts, weight: tuple[int, ...]) -> tuple[FunctionFacts, ...]:
    """Return every PrimFunc that is given the weight, each once, if the first such call is one.

    One that only prepares the weight, when others use it, is none of them. One that is given as
    many numbers in another shape is, if it does as much work with them as the convolution needs:
    the weight may have been handed over twice.
    """
    if find_convolution(facts, weight) is None:
        return ()
    calls = _weight_calls(facts, weight)
    using = [call for call in calls if input_places(facts, call)] or calls
    names = dict.fromkeys(call.callee for call in using)
    names |= dict.fromkeys(_likewise(facts, weight))
    return tuple(facts.functions[name] for name in names if name in facts.functions)


def _likewise(facts: ModuleFacts, weight: tuple[int, ...]) -> list[str]:
    """Return the functions that convolve with a constant of as many elements as the weight."""
    return [
        call.callee
        for call in facts.calls
        if call.callee in facts.functions
        and any(_is_weight(argument, weight, exact=False) for argument in call.arguments)
        and find_updates(facts.functions[call.callee], weight)
    ]


def input_places(facts: ModuleFacts, call: Call) -> tuple[int, ...]:
    """Return the places of the arguments that are made of more than constants."""
    prepared = _prepared(facts)
    return tuple(
        place
        for place, argument in enumerate(call.arguments)
        if not (_is_constant(argument) or argument.source in prepared)
    )


def _prepared(facts: ModuleFacts) -> set[int]:
    """Return the places of the calls that are given nothing but constants, or what these give."""
    places: set[int] = set()
    for place, call in enumerate(facts.calls):
        known = [_is_constant(each) or each.source in places for each in call.arguments]
        if known and all(known):
            places.add(place)
    return places


def _weight_calls(facts: ModuleFacts, weight: tuple[int, ...]) -> list[Call]:
    """Return the calls that are given the weight, or what is made of it and other constants.

    Those that the output depends on, where there are any: another may be there for show.
    """
    used = _used(facts)
    return _weight_calls_among(facts, weight, used) or _weight_calls_among(
        facts, weight, set(range(len(facts.calls)))
    )


def _weight_calls_among(
    facts: ModuleFacts, weight: tuple[int, ...], places: set[int]
) -> list[Call]:
    among = [(place, call) for place, call in enumerate(facts.calls) if place in places]
    exact = any(takes_weight(call, weight) for _, call in among)
    prepared, held = _prepared(facts), set[int]()
    calls = []
    for place, call in among:
        if any(
            each.source in held or _is_weight(each, weight, exact=exact) for each in call.arguments
        ):
            calls.append(call)
            held |= {place} & prepared
    return calls


def _used(facts: ModuleFacts) -> set[int]:
    """Return the places of the calls that the output of `main` depends on, as far as is known."""
    pending = [] if facts.result is None else [facts.result.source]
    used: set[int] = set()
    while pending:
        place = pending.pop()
        if place is not None and place not in used:
            used.add(place)
            pending.extend(argument.source for argument in facts.calls[place].arguments)
    return used


def _is_weight(argument: Argument, weight: tuple[int, ...], *, exact: bool) -> bool:
    """Say whether an argument is the weight: of its shape, or else of as many elements."""
    shape = _shape(argument)
    if not _is_constant(argument) or shape is None:
        return False
    return shape == weight if exact else holds_weight(shape, weight)


def _is_constant(argument: Argument) -> bool:
    return argument.kind == "constant"


def _shape(argument: Argument) -> tuple[int | str, ...] | None:
    return None if argument.tensor is None else argument.tensor.shape
