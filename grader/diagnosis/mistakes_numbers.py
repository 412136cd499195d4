"""What shows in the numbers themselves, whatever operation gave them.

An output that was never written, memory that was never cleared, lesser precision, a constant that
was added or multiplied.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.diagnosis.layers import TOLERANCE, Doubles, Program, is_equal, known, near, numbers
from grader.diagnosis.mistake_messages import ALL_BUT_RIGHT, ROUNDING
from grader.diagnosis.mistakes_elementwise import factor_facts
from grader.messages.runner import integer_poison
from grader.report import MistakeKind

HALF = 0.05
"""How far numbers of half precision are off at most, relative to the largest, for that to be the
reason. One rounding is off by 2**-11 (float16) or 2**-9 (bfloat16); a sum that is rounded after
each of thousands of terms stands still once its terms are less than that."""

_GARBAGE = 1e6
"""Numbers that are larger by this factor are no result of computing, but what was in the memory."""

_LOOKED_AT = 4
_HALF_RIGHT = 0.5
_MOSTLY_WRONG = 0.25
"""Of the numbers at a loop's end: there are right ones among them by chance, as zeros of ReLU."""
_LAST_DIGITS = 1e-3
"""How far an exponential of a large number is off that is rounded, relative to itself."""

_BFLOAT_BITS = np.uint32(0xFFFF)


Values = npt.NDArray[Any]


class WrongValue(NamedTuple):
    """A wrong value, and what is known of it.

    `right` are the places of layers whose right values it is computed from. `is_result` says that
    nothing is computed from it. `after` are the values of the steps that are computed from it, None
    where they were not looked at.
    """

    value: Values
    right: tuple[int, ...] = ()
    dtype: str = "float32"
    is_unwritten: bool = False
    is_result: bool = False
    after: tuple[Values, ...] | None = None


class Sight(NamedTuple):
    """A mistake that was seen: its kind, the place of its layer if there is one, its facts."""

    kind: MistakeKind
    place: int | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012


def at_sight(found: WrongValue, program: Program, tolerance: float = TOLERANCE) -> Sight | None:
    """Return a mistake that shows whatever the layers are.

    A larger `tolerance` than usual is that of an assignment in lesser precision, where this is no
    mistake.
    """
    value = found.value
    right = expected(found, program)
    if found.is_unwritten:
        return Sight("not_written", right)
    if value.size == 0:
        return None
    overflown = _overflown(value, program, right)
    if overflown is not None:
        return overflown
    if not value.any():
        return Sight("zeros", right)
    if value.dtype.kind in "biu":
        return _stale_integers(value, program, right)
    flat = numbers(value)
    unmasked = _unmasked(flat, program, _of_the_same_size(found, program), tolerance)
    if unmasked is not None:
        return unmasked
    if np.isnan(flat).any():
        return _not_numbers(flat, program, right, _of_the_same_size(found, program))
    return None if tolerance > TOLERANCE else _low_precision(found, flat, program)


def _unmasked(
    flat: Doubles, program: Program, places: Sequence[int], tolerance: float
) -> Sight | None:
    """Say whether all is right but what a mask should hide: a softmax does not make 0 of 0."""
    for place in places:
        wanted = known(program.layers[place].value)
        filled = np.isneginf(wanted.numbers)
        if filled.any() and filled.size == flat.size:
            right = near(flat, wanted, tolerance)
            if right[~filled].all() and not right[filled].any():
                return Sight("partly_right", place, {"at": "masked"})
    return None


_SQUARED = frozenset({"rms_norm"})
"""Layers of PyTorch's that divide by the root of a mean of squares."""


def _overflown(value: Values, program: Program, place: int | None) -> Sight | None:
    """Say whether a value is wrong only in the rows in which float32 has no room for an exponential
    of a softmax, or for a square: 0 or not finite there, as what is divided by infinity."""
    layer = None if place is None else program.layers[place]
    if layer is None or value.dtype.kind != "f" or layer.value.size != value.size:
        return None
    x = np.asarray(layer.operation.operands[0].value, np.float32)
    with np.errstate(over="ignore"):
        if layer.operation.kind == "softmax":
            of, large, axis = "exponential", np.exp(x), layer.operation.options["axis"]
        elif layer.name in _SQUARED:
            of, large, axis = "square", x * x, -1
        else:
            return None
    rows = np.isinf(large).any(axis, keepdims=True)
    if not rows.any() or x.size != value.size:
        return None
    found, bad = numbers(value), np.broadcast_to(rows, x.shape).reshape(-1)
    is_undivided = np.isclose(found, large.reshape(-1).astype(np.float64), rtol=_LAST_DIGITS)
    if of == "exponential" and is_undivided.all():
        return Sight("overflows", place, {"of": of})
    wanted, gone = known(layer.value), ~np.isfinite(found) | (found == 0)
    rest = wanted._replace(numbers=np.where(bad, 0.0, wanted.numbers))
    is_right = is_equal(np.where(bad, 0.0, found), rest)
    return Sight("overflows", place, {"of": of}) if is_right and gone[bad].all() else None


def in_the_end(found: WrongValue, program: Program, tolerance: float = TOLERANCE) -> Sight | None:
    """Return what shows where nothing else explains a value.

    It is an argument as it was, or the right value with a factor or a vector too much.
    """
    flat = numbers(found.value)
    returned = _input_returned(flat, program)
    place = expected(found, program)
    if returned is not None or not np.isfinite(flat).all():
        return returned
    ahead = [] if place is None else [place, *_of_the_same_size(found, program)]
    # Who scales what a pooling gives has scaled no flattening, which has the same numbers.
    candidates = sorted(
        [*ahead, *found.right[-1:]],
        key=lambda each: program.layers[each].value.shape != found.value.shape,
    )
    for other in candidates:
        wanted = known(program.layers[other].value)
        if wanted.numbers.size != flat.size or wanted.is_trivial:
            continue
        if known(found.value).scale > _GARBAGE * wanted.scale:
            return Sight("sum_not_initialised", other)
        largest = int(np.abs(wanted.numbers).argmax())
        factor = float(flat[largest] / wanted.numbers[largest])
        # Divided by one wrong sum for all rows, exponentials have another factor on other inputs.
        is_divided = program.layers[other].operation.kind == "exponential"
        if factor and not is_divided and is_equal(flat / factor, wanted, tolerance):
            told = factor_facts(program.layers[other], factor) if other in ahead else {}
            return Sight("scaled", other, {"factor": factor, **told})
        added = _added_vector(flat - wanted.numbers, wanted.shape, tolerance * wanted.scale)
        # A mean that is to be taken away is a vector: with another one no vector is too many.
        if added is not None and not _take_vector(program, candidates, added):
            is_bias = other == place and program.layers[other].operation.kind == "bias"
            facts = {"axis": added} | _amount(flat - wanted.numbers, tolerance * wanted.scale)
            return Sight("bias_differs" if is_bias else "bias_extra", other, facts)
    scaled = _input_scaled(found.value, program, tolerance)
    return scaled or _partly(flat, program, ahead, tolerance)


def _partly(
    flat: Doubles, program: Program, places: Iterable[int], tolerance: float
) -> Sight | None:
    """Say of which of the next layers a value is the greater part."""
    for at, other in enumerate(places):
        partly = _partly_right(flat, program, other, tolerance)
        if partly is not None:
            return partly
        if at == 0 and _differs(flat, program, other, tolerance).mean() < 1 - ALL_BUT_RIGHT:
            return None  # a few numbers are off: no other layer is meant
    return None


def _of_the_same_size(found: WrongValue, program: Program) -> list[int]:
    """Return the next few layers of as many numbers, also partial ones."""
    done = program.needed_for(found.right)
    places = [
        place
        for place, layer in enumerate(program.layers)
        if place not in done and layer.name and layer.value.size == found.value.size
    ]
    return places[:_LOOKED_AT]


def _partly_right(flat: Doubles, program: Program, place: int, tolerance: float) -> Sight | None:
    """Say how much of a value is right, and along which axis the rest lies at an end."""
    wanted = known(program.layers[place].value)
    is_wrong = _differs(flat, program, place, tolerance)
    share, largest = 1 - float(is_wrong.mean()), float(np.abs(flat - wanted.numbers).max())
    if wanted.is_trivial or not _HALF_RIGHT <= share < 1:
        return None
    facts: dict[str, Any] = {"share": math.floor(100 * share) / 100}  # never "100% are right"
    if largest == 1 < wanted.scale and _is_rounded(flat, program, place):
        return Sight("partly_right", place, facts | {"at": "rounded"})
    # Products in float16 are right where they are small, and nothing is wrong with their loops.
    if largest < ROUNDING * wanted.scale:
        return None
    for axis, extent in enumerate(wanted.shape):
        places = np.unique(is_wrong.nonzero()[axis])
        is_in_a_row = places[-1] - places[0] + 1 == len(places)
        is_whole = float(is_wrong.take(places, axis).mean()) >= _MOSTLY_WRONG
        if len(places) < extent and is_in_a_row and is_whole:
            facts |= {"axis": axis, "start": int(places[0]), "stop": int(places[-1]) + 1}
            return Sight("partly_right", place, facts)
    # max(x, 0.01 * x) has no edge to look at.
    is_relu = program.layers[place].operation.kind == "relu"
    if is_relu and not wanted.numbers.reshape(wanted.shape)[is_wrong].any():
        facts["at"] = "negative"
    return Sight("partly_right", place, facts) if share <= ALL_BUT_RIGHT else None


_ROUNDS = re.compile("shift|floor|ceil|round|trunc|div|quant")


def _is_rounded(flat: Doubles, program: Program, place: int) -> bool:
    """Say whether whole numbers differ that PyTorch rounds, as its layers' names say.

    Those at an end of their range alone are another clamp's, and a sum that lacks a 1 is no half.
    """
    right = known(program.layers[place].value).numbers
    off = right[flat != right]
    is_within = ((off > right.min()) & (off < right.max())).any()
    is_whole = all((each % 1 == 0).all() for each in (flat, right))
    names = (program.layers[each].name for each in program.needed_for((place,)))
    return bool(is_within and is_whole and any(map(_ROUNDS.search, names)))


def _differs(
    flat: Doubles, program: Program, place: int, tolerance: float
) -> npt.NDArray[np.bool_]:
    """Return where a value is not a layer's, in the layer's shape."""
    wanted = known(program.layers[place].value)
    found = np.abs(flat - wanted.numbers) > tolerance * wanted.scale
    return np.asarray(found.reshape(wanted.shape))


def expected(found: WrongValue, program: Program) -> int | None:
    """Return the layer that was to be computed: the next whole one of as many numbers."""
    done = program.needed_for(found.right)
    places = [
        place
        for place, layer in enumerate(program.layers)
        if place not in done and layer.name and layer.value.size == found.value.size
    ]
    whole = [each for each in places if not program.layers[each].is_partial]
    if found.is_result:
        whole = [each for each in whole if program.layers[each].output is not None] or whole
    return next(iter(whole or places), None)


def _added_vector(rest: Doubles, shape: tuple[int, ...], largest: float) -> int | None:
    """Return the axis of a vector that is all of a difference, counted from the last one."""
    # Behind another approximation of a GELU, numbers are off by hardly more than rounding.
    spread = min(2 * largest, float(np.abs(rest).max(initial=0.0)) / 2)
    # A vector is added along columns, as a bias of a linear layer, or along channels.
    for axis in (-1, -3):
        if len(shape) < max(2, -axis):
            continue
        rows = np.moveaxis(rest.reshape(shape), axis, -1).reshape(-1, shape[axis])
        if len(rows) > 1 and float(np.ptp(rows, axis=0).max(initial=0.0)) <= spread:
            return axis
    return None


def _amount(rest: Doubles, largest: float) -> dict[str, Any]:
    """Return the one number that all of a difference is: a sum began with it. Else nothing."""
    if float(np.ptp(rest)) > 2 * largest:
        return {}
    return {"form": "constant", "amount": float(rest.mean())}


def _take_vector(program: Program, places: Iterable[int], axis: int) -> bool:
    """Say whether one of some layers takes a vector along an axis that depends on the input."""
    layers = (program.layers[place] for place in places)
    return any(
        each.is_running and each.value.numel() == layer.value.shape[axis] < layer.value.size
        for layer in layers
        if layer.value.ndim >= -axis
        for each in layer.operation.operands
    )


def _not_numbers(
    flat: Doubles, program: Program, right: int | None, others: Sequence[int]
) -> Sight | None:
    """Return why there is NaN, which every output holds until it is written.

    `others` are layers of the same size: one function may do several of them.
    """
    missing = np.isnan(flat)
    if missing.all():
        return Sight("sum_not_initialised", right)
    if right is None:
        return None
    for place in dict.fromkeys((right, *others)):
        wanted = known(program.layers[place].value)
        # Where all that was written is right, the rest was never written; else NaN has come from
        # somewhere, and which way is not known.
        rest = wanted._replace(numbers=np.where(missing, 0.0, wanted.numbers))
        if is_equal(np.where(missing, 0.0, flat), rest):
            return Sight("partly_written", place, {"share": float(missing.mean())})
    return None


def _stale_integers(value: npt.NDArray[Any], program: Program, right: int | None) -> Sight | None:
    """Return what shows in whole numbers, which have no NaN: the memory's own number is in them."""
    if right is None:
        return None
    flat, wanted = value.reshape(-1), known(program.layers[right].value)
    poison: Values = integer_poison(str(value.dtype), flat.size)
    if value.dtype.kind != "b":
        # A sum of integers that goes on from the poison is off by just that, and wraps round as it
        # does.
        rest = (flat - poison).astype(np.float64)
        if is_equal(rest, wanted):
            return Sight("sum_not_initialised", right)
    stale = flat == poison
    if stale.any() and is_equal(np.where(stale, wanted.numbers, flat), wanted):
        return Sight("partly_written", right, {"share": float(stale.mean())})
    return None


def _input_returned(flat: Doubles, program: Program) -> Sight | None:
    """Say whether a value is an argument of the function, repeated or cut to its size."""
    for layer in program.layers:
        for operand in layer.operation.operands:
            if operand.argument is None:
                continue
            wanted = known(np.resize(numbers(operand.value), flat.size))
            if not wanted.is_trivial and is_equal(flat, wanted, 1e-7):
                return Sight("input_returned", None, {"argument": operand.argument})
    return None


def _input_scaled(value: Values, program: Program, tolerance: float) -> Sight | None:
    """Say whether a value is an argument of the function times a number, in the same shape."""
    for layer in program.layers:
        for operand in layer.operation.operands:
            wanted = None if operand.argument is None else known(operand.value.numpy())
            if wanted is None or wanted.is_trivial or wanted.shape != value.shape:
                continue
            flat, largest = numbers(value), int(np.abs(wanted.numbers).argmax())
            factor = float(flat[largest] / wanted.numbers[largest])
            if factor and is_equal(flat / factor, wanted, tolerance):
                return Sight("scaled", None, {"of": "input", "factor": factor})
    return None


def _low_precision(found: WrongValue, flat: Doubles, program: Program) -> Sight | None:
    """Say whether a value is the right one but for the precision of its numbers."""
    dtype = found.dtype if found.dtype in ("float16", "bfloat16") else precision(flat)
    if not dtype:
        return None
    done = program.needed_for(found.right)
    ahead = [each for each in range(len(program.layers)) if each not in done]
    for place in (*ahead, *sorted(done)):  # a step may do nothing but round
        layer = program.layers[place]
        if layer.name and layer.value.size == flat.size:
            wanted = known(layer.value)
            if not wanted.is_trivial and is_equal(flat, wanted, HALF):
                return Sight("low_precision", place, {"dtype": dtype})
    # A copy of an argument that a block reads is no layer, and is rounded before all others.
    operands = (each for layer in program.layers for each in layer.operation.operands)
    for each in operands:
        given = None if each.argument is None else known(each.value.numpy())
        if given is not None and not given.is_trivial and is_equal(flat, given, HALF):
            return Sight("low_precision", None, {"dtype": dtype})
    return None


def precision(flat: Doubles) -> str:
    """Return the lesser precision that all of these numbers have, or nothing.

    Whole numbers have it whatever they were computed in.
    """
    single = np.ascontiguousarray(flat, np.float32)
    if (single == np.rint(single)).all():
        return ""
    if not (single.view(np.uint32) & _BFLOAT_BITS).any():
        return "bfloat16"
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    return "float16" if (half.astype(np.float32) == single).all() else ""
