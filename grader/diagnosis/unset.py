"""A sum that nothing begins: read in the module where a ReLU hides that it is NaN.

`max(NaN, 0)` is 0, and so is a result that is never stored: the numbers do not say which. Who wrote
a scheduled function by hand and left the initialisation out was told to look for the latter.
"""

from __future__ import annotations

from grader.diagnosis.align import Alignment
from grader.diagnosis.mistakes import LikelyMistake
from grader.ir.facts import FunctionFacts, ModuleFacts


def with_unset_sum(alignment: Alignment, facts: ModuleFacts, callee: str) -> Alignment:
    """Return an alignment that says so of zeros that a function with such a sum gives.

    The step calls the TIR function `callee`.
    """
    mistake, function = alignment.mistake, facts.functions.get(callee)
    if mistake is None or mistake.kind != "zeros" or function is None:
        return alignment
    if not unset_sums(function):
        return alignment
    return alignment._replace(
        mistake=LikelyMistake("sum_not_initialised", mistake.layer, {}, mistake.place)
    )


def unset_sums(function: FunctionFacts) -> frozenset[str]:
    """Return the buffers of a function's own in which nothing is stored but what was in them and
    more."""
    own = {each.name for each in function.allocations}
    found: dict[str, bool] = {}
    for block in function.blocks:
        for store in (*block.initial, *block.statements):
            goes_on = store.value is not None and store.buffer in store.value.loaded
            found[store.buffer] = found.get(store.buffer, True) and goes_on
    return frozenset(name for name, goes_on in found.items() if goes_on and name in own)
