"""A layer that seems to be left out, or to be one too many, and stands elsewhere: it is moved.

`softmax(x)` before `linear(x)` lacks no linear layer. With the one that would be inserted there are
two, and the second raises. A move is told only where it gives every value that was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from grader.diagnosis.layers import (
    DOES_NOT_FIT,
    Change,
    Program,
    is_equal,
    is_rearranged,
    known,
    numbers,
)
from grader.diagnosis.matching import Matching
from grader.diagnosis.mistakes import LikelyMistake, is_vague, last_output, whole_of
from grader.diagnosis.mistakes_layers import exchanged
from grader.evidence.operations import Compute, Tensor

__all__ = ["done_aside", "is_done_behind", "moved", "moves"]

_FURTHEST = 8
"""Layers over which one may be moved."""

Unit = tuple[int, ...]
"""The places of a layer: of a product with its bias, both."""


def done_aside(matching: Matching, wrong: int, left_out: int) -> LikelyMistake | None:
    """Return that a layer is done too late, of which nothing is computed: the next one comes first.

    `output = softmax(x); x = linear(x)` gives what `softmax(x)` alone gives.
    """
    program, whole = matching.program, whole_of(left_out, matching.program)
    for step in range(wrong + 1, len(matching.steps)):
        is_it = matching.matched[step] in (left_out, whole)
        if not is_it or wrong in matching.ancestors[step] or matching.has_followers(step):
            continue
        following = program.next_of(whole)
        if following is not None:
            facts = exchanged(program, whole, following, is_whole=True)
            return LikelyMistake("order_swapped", program.layers[whole].name, facts, whole)
    return None


def moved(matching: Matching, wrong: int) -> LikelyMistake | None:
    """Return which layer stands elsewhere than in PyTorch, None where no move gives all values."""
    program, last = matching.program, last_output(matching.program)
    seen = [
        step
        for step in range(wrong, len(matching.steps))
        if (step == wrong or wrong in matching.ancestors[step])
    ]
    values = [matching.steps[each].value for each in seen]
    taken = {matching.matched[each] for each in matching.steps[wrong].takes}
    if last is None or any(each is None for each in values):
        return None
    for one in moves(program):
        before = _named(program, program.takes[min(one.computes)])
        if not (taken.issuperset(before) if before else matching.steps[wrong].takes_input):
            continue
        found = program.following(one)
        if (
            last not in found
            or is_vague(one)
            or not is_equal(numbers(values[-1]), known(found[last]), matching.tolerance)
        ):
            continue
        wanted = [known(each) for each in found.values()]
        if all(_is_one_of(each, wanted, matching.tolerance) for each in values):
            name = program.layers[one.place].name
            return LikelyMistake("order_swapped", name, one.facts, one.place)
    return None


def _named(program: Program, places: Sequence[int]) -> set[int]:
    """Return layers, or what they are computed from where they only lay an argument out anew."""
    found, waiting = set[int](), [*places]
    while waiting:
        place = waiting.pop()
        if program.layers[place].name:
            found.add(place)
        else:
            waiting += program.takes[place]
    return found


def _is_one_of(value: Any, wanted: Sequence[Any], tolerance: float) -> bool:
    flat = numbers(value)
    return any(
        is_equal(flat, each, tolerance) or is_rearranged(value, each, tolerance) for each in wanted
    )


def is_done_behind(matching: Matching, wrong: int, left_out: int) -> bool:
    """Say whether a product is done, perhaps with its bias, on what is computed from a step.

    To insert it would have it done twice.
    """
    program, whole = matching.program, whole_of(left_out, matching.program)
    products = [each for each in program.takes[whole] if program.layers[each].is_partial]
    behind = [
        step for step in range(wrong + 1, len(matching.steps)) if wrong in matching.ancestors[step]
    ]
    return any(
        _is_done(matching, step, unit)
        for step in behind
        for product in products or [whole]
        for unit in ((product,), (product, whole))
    )


def _is_done(matching: Matching, step: int, unit: Unit) -> bool:
    """Say whether a step has what layers in a row make of a value that it takes."""
    program, value = matching.program, matching.steps[step].value
    if value is None or all(each.is_running for each in program.layers[unit[0]].operation.operands):
        return False
    for each in matching.steps[step].takes:
        given = matching.steps[each].value
        found = None if given is None else torch.from_numpy(numbers(given).reshape(given.shape))
        for place in dict.fromkeys(unit):
            found = None if found is None else _done(program, place, found)
        if found is not None and is_equal(
            numbers(value), known(found.detach().numpy()), matching.tolerance
        ):
            return True
    return False


def _done(program: Program, place: int, given: Tensor) -> Tensor | None:
    """Return what a layer of one running operand makes of a value, None where it does not fit."""
    operation, index = program.layers[place].operation, _running(program, place)
    if index is None:
        return None
    operands = [each.value for each in operation.operands]
    try:
        return operation.compute(*operands[:index], given, *operands[index + 1 :])
    except DOES_NOT_FIT:
        return None


# --- moves ----------------------------------------------------------------------------------------


def moves(program: Program) -> Iterator[Change]:
    """Yield one layer of one running operand done before, or behind, some that stand in a row."""
    for start in range(len(program.layers)):
        chain = _chain(program, start)
        for count in range(2, len(chain) + 1):
            units = chain[:count]
            yield _move(program, units, [units[-1], *units[:-1]])
            if count > 2:  # of two, the other way round is the same
                yield _move(program, units, [*units[1:], units[0]])


def _chain(program: Program, start: int) -> list[Unit]:
    """Return the layers in a row that begin with one, each with its bias; none within a layer."""
    chain: list[Unit] = []
    at: int | None = start
    if _is_within(program, start):
        return chain
    while at is not None and len(chain) <= _FURTHEST:
        whole = whole_of(at, program)
        unit = (at,) if whole == at else (at, whole)
        if any(_running(program, each) is None for each in unit):
            break
        chain.append(unit)
        at = program.next_of(whole)
    return chain


def _is_within(program: Program, place: int) -> bool:
    return program.is_side(place) or any(program.layers[e].is_partial for e in program.takes[place])


def _running(program: Program, place: int) -> int | None:
    """Return which operand of a layer depends on the input, None where that are none or several."""
    operands = program.layers[place].operation.operands
    running = [at for at, each in enumerate(operands) if each.is_running]
    return running[0] if len(running) == 1 else None


def _move(program: Program, units: Sequence[Unit], order: Sequence[Unit]) -> Change:
    places = [each for unit in units for each in unit]
    done = [each for unit in order for each in unit]
    computes = {
        place: _as(program, place, other)
        for place, other in zip(places, done, strict=True)
        if place != other
    }
    place, facts = _facts(program, units, order)
    return Change("order_swapped", place, computes, facts)


def _as(program: Program, place: int, other: int) -> Compute:
    """Return what does one layer on what another one takes."""
    operation = program.layers[other].operation
    given = [each.value for each in operation.operands]
    taken, index = _running(program, place), _running(program, other)
    assert taken is not None
    assert index is not None
    return lambda *values: operation.compute(*given[:index], values[taken], *given[index + 1 :])


def _facts(
    program: Program, units: Sequence[Unit], order: Sequence[Unit]
) -> tuple[int, dict[str, Any]]:
    """Return the layer that stands elsewhere, and what is told of it.

    Where the layers beside it have one name, that name says neither before nor behind which.
    """
    is_late = order[-1] == units[0]
    one, beside = (units[0], units[1]) if is_late else (units[-1], units[-2])
    other = units[-1] if is_late else units[0]
    name, behind, wanted = (program.layers[each[-1]].name for each in (one, other, beside))
    if len(units) == 2 or behind == wanted:
        pair = (name, wanted) if is_late else (wanted, name)
        return (one if is_late else beside)[-1], {"layers": pair}
    facts = {"layers": (name, behind), "part": "late" if is_late else "early", "wanted": wanted}
    return one[-1], facts
