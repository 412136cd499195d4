"""A sum that its terms are multiplied into, in place of being added: read in the module itself.

`Y = Y * A * B` behind `Y = 0` is 0, and so is what is never computed: the numbers do not say which.
"""

from __future__ import annotations

from collections.abc import Iterator

from grader.diagnosis.align import Alignment
from grader.diagnosis.mistakes import LikelyMistake
from grader.ir.facts import Expression, FunctionFacts, ModuleFacts, Store

_SEEN_AS = frozenset({"zeros", "operand_missing"})
"""What such a sum looks like, alone or with a bias."""


def with_multiplied_sum(
    alignment: Alignment, facts: ModuleFacts, callee: str, variable: str
) -> Alignment:
    """Return an alignment that says so where the wrong step has such a sum.

    The step calls the TIR function `callee`; where the module has no `main`, it is that function's
    buffer `variable`, which may also be one that takes such a sum: a ReLU of it is 0, too.
    """
    mistake, function = alignment.mistake, facts.functions.get(callee)
    if mistake is None or mistake.kind not in _SEEN_AS or function is None:
        return alignment
    if mistake.kind == "operand_missing" and mistake.facts.get("operand") != "product":
        return alignment
    buffers = multiplied_sums(function)
    seen = {variable, *_taken(function, variable)}
    if not buffers or not (facts.has_main or buffers & seen):
        return alignment
    told = LikelyMistake("multiplied", mistake.layer, {"of": "sum"}, mistake.place)
    return alignment._replace(mistake=told)


def multiplied_sums(function: FunctionFacts) -> frozenset[str]:
    """Return the buffers that begin with 0, and that nothing is stored in but their own multiples.

    They are 0 whatever the input is.
    """
    stores: dict[str, list[Store]] = {}
    for store in function.stores:
        stores.setdefault(store.buffer, []).append(store)
    return frozenset(
        buffer
        for buffer, each in stores.items()
        if any(_is_zero(one.value) for one in each)
        and any(_is_multiple(one) for one in each)
        and all(_is_zero(one.value) or _is_multiple(one) for one in each)
    )


def _taken(function: FunctionFacts, buffer: str) -> Iterator[str]:
    """Yield the buffers that what is stored in a buffer is computed from."""
    for store in function.stores:
        if store.buffer == buffer and store.value is not None:
            yield from store.value.loaded


def _is_zero(value: Expression | None) -> bool:
    return value is not None and value.kind == "constant" and value.value == 0


def _is_multiple(store: Store) -> bool:
    """Say whether what is stored is a product of which one factor is what stands there."""
    waiting = [store.value]
    while waiting:
        value = waiting.pop()
        if value is None:
            continue
        if value.kind == "load" and value.name == store.buffer and value.arguments == store.index:
            return value is not store.value
        if value.kind == "operation" and value.name == "mul":
            waiting += value.arguments
    return False
