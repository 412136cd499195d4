"""Calls of TensorIR functions that do not fit the functions: TVM refuses them and names no place.

A call's arguments come first among the function's parameters, its output last. What differs in its
shape or dtype is looked for the least change that makes the call fit: two arguments exchanged, one
left out or added, another value of `main`, another function. Where several do, none is named.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from grader.ir.facts import (
    Argument,
    BufferFacts,
    Call,
    Facts,
    FunctionFacts,
    ModuleFacts,
    TensorFacts,
)

MisfitKind = Literal["missing", "extra", "exchanged", "order", "callee", "argument", "output"]

_Item = TypeVar("_Item")

MOST = 3
"""Most misfits of a module: those after them are not looked for."""

_COUNTED = 32
"""Most arguments of which it is tried to leave each out."""

_PERMUTED = 6
"""Most arguments of which every order is tried."""


class Misfit(Facts, frozen=True):
    """An argument that does not fit in a call of `callee`, whose result is bound to `binding`.

    | kind | parameter | argument | other |
    |---|---|---|---|
    | `missing` | that which gets no argument, or None | None | the value of `main` for it, or "" |
    | `extra` | None | that which is one too many, or None | |
    | `exchanged` | the first one's | the first of the two | the second |
    | `order` | | | the names in the right order, with commas |
    | `callee` | | | the function that takes these arguments |
    | `argument` | what is wanted | what is given | the value of `main` that fits, or "" |
    | `output` | what is wanted | what is declared | |

    `given` and `taken` are how many arguments the call has, and how many the function takes.
    """

    kind: MisfitKind
    callee: str
    binding: str
    parameter: BufferFacts | None = None
    argument: Argument | None = None
    place: int = 0
    other: str = ""
    given: int = 0
    taken: int = 0


class _Called(NamedTuple):
    """A call, its arguments as they would be if earlier calls fitted, and what they must fit."""

    call: Call
    arguments: tuple[Argument, ...]
    inputs: tuple[BufferFacts, ...]
    output: BufferFacts


def find_misfits(facts: ModuleFacts) -> tuple[Misfit, ...] | None:
    """Return the first that does not fit in the calls of `main`, in their order.

    None where nothing was found and some calls could not be looked at: of several outputs, in
    place, with numbers among the parameters.
    """
    found: list[Misfit] = []
    outputs: dict[int, TensorFacts] = {}
    is_all = True
    for place, call in enumerate(facts.calls):
        if len(found) >= MOST:
            break
        if call.kind != "tir":
            continue
        called = _called(call, facts.functions.get(call.callee), outputs)
        if called is None:
            is_all = False
            continue
        misfits = [*_misfits(called, facts, place)]
        found += misfits
        other = next((each.other for each in misfits if each.kind == "callee"), call.callee)
        outputs[place] = facts.functions[other].parameters[-1].tensor
    return tuple(found[:MOST]) if found or is_all else None


def _called(
    call: Call, function: FunctionFacts | None, outputs: Mapping[int, TensorFacts]
) -> _Called | None:
    """Return a call beside its function's parameters; None where these are not all tensors."""
    parameters = () if function is None else function.parameters
    is_known = bool(parameters) and all(each.tensor.shape for each in parameters)
    if call.is_in_place or call.result is None or not is_known:
        return None
    *inputs, output = parameters
    arguments = tuple(
        each
        if each.source is None or each.source not in outputs
        else Argument(each.kind, each.name, outputs[each.source], each.source)
        for each in call.arguments
    )
    return _Called(call, arguments, tuple(inputs), output)


def _misfits(called: _Called, facts: ModuleFacts, place: int) -> Iterator[Misfit]:
    call = called.call
    is_written = _fits(call.result, called.output.tensor)
    wrong = [
        at
        for at, (each, buffer) in enumerate(zip(called.arguments, called.inputs, strict=False))
        if not _fits(each.tensor, buffer.tensor)
    ]
    count = len(called.arguments) - len(called.inputs)
    if count or len(wrong) + (not is_written) > 1:
        other = _other_callee(called, facts)
        if other:
            yield Misfit("callee", call.callee, call.binding, other=other)
            return
    if count:
        yield _counted(called, facts, place)
        return
    yield from _misplaced(called, wrong, facts, place)
    if not is_written:
        declared = Argument("other", call.binding, call.result)
        yield Misfit("output", call.callee, call.binding, called.output, declared)


def _fits(given: TensorFacts | None, wanted: TensorFacts) -> bool:
    """Say whether a tensor may be what a parameter takes: what is not known fits."""
    if given is None:
        return True
    if given.dtype != wanted.dtype:
        return False
    if given.shape is None or wanted.shape is None:
        return True
    if len(given.shape) != len(wanted.shape):
        return False
    pairs = zip(given.shape, wanted.shape, strict=True)
    return all(one == other or not _are_numbers(one, other) for one, other in pairs)


def _are_numbers(*extents: int | str) -> bool:
    return all(isinstance(each, int) for each in extents)


def _all_fit(arguments: Sequence[Argument], inputs: Sequence[BufferFacts]) -> bool:
    return len(arguments) == len(inputs) and all(
        _fits(each.tensor, buffer.tensor) for each, buffer in zip(arguments, inputs, strict=True)
    )


def _other_callee(called: _Called, facts: ModuleFacts) -> str:
    """Return the one other function that takes what the call gives; empty without one."""
    fitting = [
        name
        for name, each in facts.functions.items()
        if each.parameters
        and _all_fit(called.arguments, each.parameters[:-1])
        and _fits(called.call.result, each.parameters[-1].tensor)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def _counted(called: _Called, facts: ModuleFacts, place: int) -> Misfit:
    """Return which argument is missing or one too many, if that is certain."""
    call, arguments, inputs, _ = called
    unknown = Misfit("extra", call.callee, call.binding, given=len(arguments), taken=len(inputs))
    if len(arguments) == len(inputs) - 1 < _COUNTED:
        left_out = [at for at in range(len(inputs)) if _all_fit(arguments, _without(inputs, at))]
        if len(left_out) == 1:
            (at,) = left_out
            other = _other_value(inputs[at].tensor, facts, place)
            wanted = inputs[at]
            return replace(unknown, kind="missing", parameter=wanted, place=at, other=other)
    if len(arguments) == len(inputs) + 1 <= _COUNTED:
        added = [at for at in range(len(arguments)) if _all_fit(_without(arguments, at), inputs)]
        if len(added) == 1:
            (at,) = added
            return replace(unknown, argument=arguments[at], place=at)
    return unknown if len(arguments) > len(inputs) else replace(unknown, kind="missing")


def _without(items: Sequence[_Item], at: int) -> tuple[_Item, ...]:
    return (*items[:at], *items[at + 1 :])


def _misplaced(
    called: _Called, wrong: Sequence[int], facts: ModuleFacts, place: int
) -> Iterator[Misfit]:
    """Yield what is wrong with arguments of which there are as many as there should be."""
    call, arguments, inputs, _ = called
    if len(wrong) > 1:
        order = _order(arguments, inputs)
        moved = [at for at, each in enumerate(order) if each != at]
        if len(moved) == 2:
            first, second = (arguments[at] for at in moved)
            at = moved[0]
            yield Misfit("exchanged", call.callee, call.binding, inputs[at], first, at, second.name)
            return
        if moved:
            names = ", ".join(arguments[at].name for at in order)
            yield Misfit("order", call.callee, call.binding, other=names)
            return
    for at in wrong[:MOST]:
        other = _other_value(inputs[at].tensor, facts, place)
        yield Misfit("argument", call.callee, call.binding, inputs[at], arguments[at], at, other)


def _order(arguments: Sequence[Argument], inputs: Sequence[BufferFacts]) -> tuple[int, ...]:
    """Return the one order of the arguments that fits; empty without one, or with several."""
    if len(arguments) > _PERMUTED or not all(each.name for each in arguments):
        return ()
    fitting = [
        order
        for order in itertools.permutations(range(len(arguments)))
        if _all_fit([arguments[at] for at in order], inputs)
    ]
    return fitting[0] if len(fitting) == 1 else ()


def _other_value(wanted: TensorFacts, facts: ModuleFacts, place: int) -> str:
    """Return the one value of `main` that fits, of those that nothing uses if there are any."""
    values = [(each.name, each.tensor) for each in facts.inputs]
    values += [(each.binding, each.result) for each in facts.calls[:place] if each.result]
    fitting = [name for name, tensor in values if _fits(tensor, wanted)]
    used = {each.name for call in facts.calls for each in call.arguments}
    unused = [each for each in fitting if each not in used]
    chosen = unused or fitting
    return chosen[0] if len(chosen) == 1 else ""
