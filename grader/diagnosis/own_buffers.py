"""What a function keeps in buffers of its own: read in the module where numbers do not say it.

A sum that nothing begins: `max(NaN, 0)` is 0, and so is a result that is never stored. Who wrote a
scheduled function by hand and left the initialisation out was told to look for the latter.

A sum in float16 that is cast back: most of its numbers are off by little, none has fewer digits.
Who had that was told to look at the edges of the loops. So it is with weights in float16.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.align import Alignment
from grader.diagnosis.layers import TOLERANCE, is_equal, known, numbers
from grader.diagnosis.matching import Observed
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.mistakes_numbers import HALF
from grader.evidence.operations import Layer
from grader.ir.content import RUNS
from grader.ir.facts import BufferFacts, FunctionFacts, ModuleFacts
from grader.language import Sentence

_LESSER = ("float16", "bfloat16")


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


def with_misplaced_init(alignment: Alignment, facts: ModuleFacts, callee: str) -> Alignment:
    """Return an alignment that names what T.init() sets in place of the sum of its block.

    The step calls the TIR function `callee`.
    """
    mistake, function = alignment.mistake, facts.functions.get(callee)
    if mistake is None or mistake.kind != "sum_not_initialised" or function is None:
        return alignment
    for block in function.blocks:
        initial = {each.buffer for each in block.initial}
        summed = {each.buffer for each in block.statements}
        if len(initial) == len(summed) == 1 and initial != summed:
            told = {"of": "init", "block": block.name, "found": min(initial), "buffer": min(summed)}
            return alignment._replace(mistake=mistake._replace(facts={**mistake.facts, **told}))
    return alignment


def with_unwritten_buffer(alignment: Alignment, facts: ModuleFacts, callee: str) -> Alignment:
    """Return an alignment that names a buffer which a function reads and never writes, or the
    parameter that it writes into where it reads the last one, its output.

    The step calls the TIR function `callee`, and nothing else explains it.
    """
    function, wrong, mistake = facts.functions.get(callee), alignment.wrong, alignment.mistake
    if wrong is None or function is None or (mistake and mistake.kind != "not_written"):
        return alignment
    stores = list(function.stores)
    read = {name for each in stores if each.value is not None for name in each.value.loaded}
    written = {each.buffer for each in stores}
    if mistake is not None:  # te.create_prim_func([Y, X])
        names = [each.name for each in function.parameters]
        found = next((each for each in names if each in written), "")
        if not found or names[-1] not in read - written:
            return alignment
        told = {"written_in": "input", "found": found, "buffer": names[-1]}
        return alignment._replace(mistake=mistake._replace(facts={**mistake.facts, **told}))
    for each in function.allocations:
        if each.name in read - written:
            told = {"written_in": "own", "buffer": each.name}
            return alignment._replace(mistake=LikelyMistake("not_written", "", told))
    return alignment


def with_conditional_store(alignment: Alignment, facts: ModuleFacts, callee: str) -> Alignment:
    """Return an alignment that says so where numbers are never written as an `if` has no `else`.

    The step calls the TIR function `callee`. A second store to its output may be the `else`.
    """
    mistake, function = alignment.mistake, facts.functions.get(callee)
    if mistake is None or mistake.kind != "partly_written" or function is None:
        return alignment
    outputs = {each.name for each in function.parameters[-1:]}
    if sum(each.buffer in outputs for each in function.stores) > 1:
        return alignment
    told = {each.message.id for each in function.decisions if isinstance(each.message, Sentence)}
    if not isinstance(RUNS, Sentence) or RUNS.id not in told:
        return alignment
    known = {**mistake.facts, "written_in": "condition"}
    return alignment._replace(mistake=mistake._replace(facts=known))


def unset_sums(function: FunctionFacts) -> frozenset[str]:
    """Return the buffers of a function's own in which nothing is stored but what was in them and
    more."""
    own = {each.name for each in function.allocations}
    found: dict[str, bool] = {}
    for store in function.stores:
        goes_on = store.value is not None and store.buffer in store.value.loaded
        found[store.buffer] = found.get(store.buffer, True) and goes_on
    return frozenset(name for name, goes_on in found.items() if goes_on and name in own)


def with_lesser_sum(
    alignment: Alignment,
    facts: ModuleFacts,
    step: Observed,
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
) -> Alignment:
    """Return an alignment that names the buffer of lesser precision behind a value nearly right.

    `step` is the wrong one. A larger `tolerance` than usual is that of an assignment in lesser
    precision, where such a buffer is no mistake.
    """
    mistake, function = alignment.mistake, facts.functions.get(step.callee)
    if function is None or (mistake and mistake.kind != "partly_right") or tolerance > TOLERANCE:
        return alignment
    buffer, place = _lesser(function), _nearly(step, alignment, layers)
    if buffer is None or place is None:
        return alignment
    told = {"dtype": buffer.tensor.dtype}
    told |= {"buffer": buffer.name} if buffer in function.allocations else {}
    named = LikelyMistake("low_precision", layers[place].name, told, place)
    return alignment._replace(mistake=named, expected=place)


def _nearly(step: Observed, alignment: Alignment, layers: Sequence[Layer]) -> int | None:
    """Return the layer whose value a step has but for rounding: the expected one, or another.

    A product whose bias is added later is a part of the layer that is expected.
    """
    if step.value is None:
        return None
    value = numbers(step.value)
    ahead = (at for at, each in enumerate(layers) if each.name and at not in alignment.matched)
    expected: tuple[int, ...] = () if alignment.expected is None else (alignment.expected,)
    for place in (*expected, *ahead):
        if is_equal(value, known(layers[place].value), HALF):
            return place
    return None


def _lesser(function: FunctionFacts) -> BufferFacts | None:
    """Return the first buffer in lesser precision: of a function's own, or that it is given."""
    buffers = (*function.allocations, *function.parameters)
    return next((each for each in buffers if each.tensor.dtype in _LESSER), None)
