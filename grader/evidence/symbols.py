"""Symbolic shapes of a `main`, bound to those that the assignment calls it with.

`R.Tensor(("n", "m"))` is what the caller makes of it. Checks that ask for a layer's weight by its
shape, and the arrangement of calls, are told the shapes of the calls that will be made.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from grader.ir.facts import Argument, Call, ModuleFacts, TensorFacts

Wanted = tuple[int | None, ...]
"""The shape of an argument; None for an extent that is free."""


def bind_symbols(facts: ModuleFacts, wanted: Sequence[Wanted]) -> ModuleFacts:
    """Return the facts with the symbols of `main`'s inputs replaced by their extents.

    `wanted` are the shapes of the arguments, in the order that is asked for. The same facts where
    the inputs do not fit them: then that is what is to be said.
    """
    symbols = _solve(facts, wanted) if facts.has_main else {}
    if not symbols:
        return facts
    output = facts.output and _tensor(facts.output, symbols)
    return replace(
        facts,
        inputs=tuple(replace(each, tensor=_tensor(each.tensor, symbols)) for each in facts.inputs),
        output=output,
        calls=tuple(_call(each, symbols) for each in facts.calls),
        result=facts.result and _argument(facts.result, symbols),
    )


def _solve(facts: ModuleFacts, wanted: Sequence[Wanted]) -> dict[str, int]:
    symbols: dict[str, int] = {}
    if len(facts.inputs) != len(wanted):
        return {}
    for buffer, shape in zip(facts.inputs, wanted, strict=True):
        have = buffer.tensor.shape
        if have is None or len(have) != len(shape):
            return {}
        for extent, want in zip(have, shape, strict=True):
            if want is None or extent == "?":  # "?" is what is no variable
                continue
            known = symbols.setdefault(extent, want) if isinstance(extent, str) else extent
            if known != want:
                return {}
    return symbols


def _tensor(tensor: TensorFacts, symbols: dict[str, int]) -> TensorFacts:
    if tensor.shape is None:
        return tensor
    bound = (symbols.get(each, each) if isinstance(each, str) else each for each in tensor.shape)
    return replace(tensor, shape=tuple(bound))


def _argument(argument: Argument, symbols: dict[str, int]) -> Argument:
    return replace(argument, tensor=argument.tensor and _tensor(argument.tensor, symbols))


def _call(call: Call, symbols: dict[str, int]) -> Call:
    return replace(
        call,
        arguments=tuple(_argument(each, symbols) for each in call.arguments),
        result=call.result and _tensor(call.result, symbols),
    )
