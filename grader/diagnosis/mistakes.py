"""Which mistake explains a value: PyTorch's operations are done again with one thing changed.

A mistake is recognised where exactly one change, from the last right values on, gives the numbers
that were found. Where several do, the first one counts that later values bear out: changes of
earlier layers come before those of later ones, and for each layer those of its own kind before
those that any layer may have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from grader.diagnosis.fixed import fixed_at, rivals
from grader.diagnosis.layers import (
    TOLERANCE,
    Change,
    Doubles,
    KnownValue,
    Program,
    change,
    is_equal,
    is_rearranged,
    known,
    numbers,
    same,
)
from grader.diagnosis.mistakes_elementwise import elementwise_mistakes
from grader.diagnosis.mistakes_layers import (
    convolution_mistakes,
    delayed,
    extra_mistakes,
    hurried,
    moved_behind,
    order_mistakes,
    pooling_mistakes,
    swapped,
)
from grader.diagnosis.mistakes_numbers import Sight, Values, WrongValue, at_sight, in_the_end
from grader.diagnosis.mistakes_products import (
    add_mistakes,
    bias_mistakes,
    flatten_mistakes,
    linear_mistakes,
    matmul_mistakes,
    relu_mistakes,
    softmax_mistakes,
    term_mistakes,
)
from grader.evidence.operations import Layer
from grader.report import MistakeKind

Own = Callable[[int, Layer], Iterator[Change]]

_OWN: Mapping[str, Own] = {
    "convolution": convolution_mistakes,
    "pool": pooling_mistakes,
    "linear": linear_mistakes,
    "matmul": matmul_mistakes,
    "bias": bias_mistakes,
    "add": add_mistakes,
    "relu": relu_mistakes,
    "softmax": softmax_mistakes,
    "flatten": flatten_mistakes,
}

_LAST: Mapping[str, Own] = {"linear": term_mistakes, "matmul": term_mistakes}
"""Mistakes that are looked for behind all others of all layers."""

_ENOUGH = 64
_TELLING = 0.25
_NEARLY = 0.97
"""Of at least as many numbers, this share must be another than the right one after a change, and of
those this share must be what was found."""

_WORK = 40_000_000
"""Numbers that are computed at most for one alignment: a second. A value of a batch of four that
nothing explains takes a quarter of that."""

MISSING: Mapping[str, MistakeKind] = {
    "bias": "bias_missing",
    "relu": "relu_missing",
    "softmax": "softmax_missing",
}
"""What it is called where an operation is left out, for those that students leave out most."""


class LikelyMistake(NamedTuple):
    """What explains a wrong value: a stable name, and what a sentence about it needs.

    `layer` is the name of PyTorch's layer that is concerned, `place` its place among the layers,
    None where there is no one layer. `wanted` is the layer that the value would be without it,
    where that is known: of a function that adds the bias to a wrong product, the one with the bias.
    The page on diagnosis lists the kinds and their facts.
    """

    kind: MistakeKind
    layer: str = ""
    facts: Mapping[str, Any] = {}
    place: int | None = None
    wanted: int | None = None


def recognise(
    found: WrongValue,
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
    indices: Sequence[int] = (),
) -> LikelyMistake | None:
    """Return the mistake that explains a value, None where none is known that does."""
    program = Program(layers, indices)
    seen = at_sight(found, program, tolerance)
    if seen is None:
        explained = explain(found, program, tolerance)
        if explained is not None:
            return explained
        seen = in_the_end(found, program, tolerance)
    return None if seen is None else _seen(seen, program)


def _seen(sight: Sight, program: Program) -> LikelyMistake:
    name = "" if sight.place is None else _whole_name(sight.place, program)
    return LikelyMistake(sight.kind, name, sight.facts, sight.place)


def whole_of(place: int, program: Program) -> int:
    """Return the layer that an operation is a part of: of a product, the one with its bias."""
    whole = program.next_of(place) if program.layers[place].is_partial else None
    return place if whole is None else whole


def _whole_name(place: int, program: Program) -> str:
    return program.layers[whole_of(place, program)].name


def explain(
    found: WrongValue, program: Program, tolerance: float = TOLERANCE
) -> LikelyMistake | None:
    """Return the mistake that gives exactly these numbers, or else nearly all of them.

    Of several the first counts that gives the last value, too: of `s(x) * y + s(x)`, who adds first
    and then multiplies begins as who adds `s(x)` to itself. Nearly all numbers are left where a
    loop is divided and one of its pieces, at an edge, is right.
    """
    value = known(found.value)
    # Zeros and ones are what many changes give, of which none was made.
    if value.is_trivial or not np.isfinite(value.numbers).all():
        return None
    right = [known(each.value) for each in program.layers]
    done = program.needed_for(found.right)
    open_places = [
        place
        for place in range(len(program.layers))
        if place not in done and not program.is_side(place)
    ]
    nearly: tuple[Change, int] | None = None
    explaining: list[tuple[bool, bool, bool, Change, int]] = []
    for one in chain(_changes(program, open_places), _additions(program, found.right)):
        if program.computed > _WORK:
            break
        for place, other in program.changed(one, value.numbers.size):
            if is_equal(other, right[place], tolerance):
                continue
            stored = _as_stored(other, found.value.dtype)
            if is_equal(value.numbers, known(stored), tolerance):
                if not stands_the_trial(one, place, found, program, tolerance):
                    break
                one = _wrapped(one, other, stored, found.value.dtype, program)
                is_unnamed = is_vague(one)
                is_doubted = not is_borne_out(one, place, found, program, tolerance)
                if not is_unnamed and not is_doubted:
                    return _told(one, place, value.numbers.size, program, tolerance)
                is_later = place not in one.computes and place > min(one.computes)
                explaining.append((is_doubted, is_unnamed, is_later, one, place))
                break
            if nearly is None and _is_nearly(value.numbers, other, right[place], tolerance):
                nearly = one, place
    second = min(explaining, key=lambda each: each[:3])[3:] if explaining else nearly
    return None if second is None else _told(*second, value.numbers.size, program, tolerance)


def _wrapped(
    one: Change, other: Doubles, stored: Doubles, dtype: np.dtype[Any], program: Program
) -> Change:
    """Return a change that says of a clamp left out that numbers wrap round for that, and of a bias
    left out that those without it do: a product in int8 lacks a wider type, and no bias."""
    if np.array_equal(other, stored):
        return one
    facts = {"of": "wrapped", "dtype": str(dtype)}
    if one.kind in MISSING.values():
        place = program.takes[one.place][0]
        return one._replace(kind="overflows", place=place, facts={**facts, "of": "integer"})
    return one._replace(facts={**one.facts, **facts}) if one.kind == "layer_left_out" else one


def _told(one: Change, wanted: int, size: int, program: Program, tolerance: float) -> LikelyMistake:
    """Return the mistake of a change; of an operand that another one may stand for, less of it."""
    mistake = _mistake(one, program)._replace(wanted=wanted)
    operand = mistake.facts.get("operand")
    if one.kind != "operand_missing" or operand not in ("first", "second"):
        return mistake
    if not _is_swallowed(one, size, program, tolerance):
        return mistake
    return mistake._replace(facts={**mistake.facts, "operand": f"{operand}_swallowed"})


def _is_swallowed(one: Change, size: int, program: Program, tolerance: float) -> bool:
    """Say whether 1 in place of an operand that is left out gives nearly the same numbers.

    Before a quotient is rounded down, 1 is nothing beside 2**20: whether another number is added,
    or none, is not seen.
    """
    left = one.computes[one.place]
    again = one._replace(computes={**one.computes, one.place: lambda *x: left(*x) + 1})
    without = foretold(one, size, program)
    for place, other in foretold(again, size, program).items():
        if place > one.place and place in without:
            off = np.abs(other - without[place]) > tolerance * known(other).scale
            if off.mean() <= 1 - _NEARLY:
                return True
    return False


_TOLD = {"wanted_argument", "result"}


def is_vague(one: Change | LikelyMistake) -> bool:
    """Say whether a change says no more than that something else is taken, or exchanges what has no
    name: a clamp of int8 after its cast, which changes nothing, is one left out before it.

    A step or a factor that is left out says more, where it gives the same.
    """
    if one.kind == "order_swapped":
        return "" in one.facts["layers"]
    names = {one.facts.get("taken"), one.facts.get("wanted")}
    is_told = len(names - {""}) > 1 or not one.facts.keys().isdisjoint(_TOLD)
    return one.kind == "other_operand" and not is_told


def _is_nearly(value: Doubles, changed: Doubles, right: KnownValue, tolerance: float) -> bool:
    """Say whether nearly all numbers are those of a change, which are not the right ones.

    The others must be right: of a softmax, most numbers are as near to 0 as those that a ReLU cuts.
    """
    if value.size < _ENOUGH or changed.size != right.numbers.size:
        return False
    if not (np.isfinite(changed).all() and np.isfinite(right.numbers).all()):
        return False
    close = tolerance * min(right.scale, float(np.abs(changed).max(initial=0.0)))
    telling = np.abs(changed - right.numbers) > close
    if telling.mean() < _TELLING:
        return False
    as_changed = np.abs(value - changed) <= close
    # One piece of a divided loop is right, the rest has its kernel flipped. What is neither is
    # another mistake.
    if not (as_changed | (np.abs(value - right.numbers) <= close)).all():
        return False
    return bool(as_changed[telling].mean() >= _NEARLY)


_ROOM = 2.0**53
"""Whole numbers below this are exact in float64."""

_EXCHANGES = (swapped, hurried, delayed, moved_behind)


def swaps(
    mistake: LikelyMistake,
    following: WrongValue,
    program: Program,
    tolerance: float,
    *,
    is_idle_after: bool,
) -> LikelyMistake | None:
    """Return that two layers were exchanged, where one seemed to be left out at first.

    `following` is what was computed from the value that the mistake was recognised in. Where what
    comes after that changes nothing (`is_idle_after`), there is a step for each layer, in another
    order: a ReLU of a ReLU's values is the one that seemed to be left out.
    """
    value = numbers(following.value)
    for at in _seemingly_left_out(mistake, program):
        left_out = change("layer_left_out", at, same)
        is_explained = any(
            is_equal(value, known(other), tolerance)
            for _, other in program.changed(left_out, value.size)
        )
        # A ReLU left out before another one is no exchange, though the second does its work; with
        # one too many behind it is.
        if is_explained and not is_idle_after:
            continue
        for one in chain.from_iterable(each(program, at) for each in _EXCHANGES):
            for place, other in program.changed(one, value.size):
                stored = known(_as_stored(other, following.value.dtype))
                is_same = place >= max(one.computes) and is_equal(value, stored, tolerance)
                if is_same and not is_vague(one):
                    return _mistake(one, program)
    return None


def _as_stored(values: Doubles, dtype: np.dtype[Any]) -> Doubles:
    """Return whole numbers as an integer type stores them: what has no room wraps round."""
    if dtype.kind not in "iu" or not (np.abs(values) < _ROOM).all() or (values % 1).any():
        return values
    return values.astype(np.int64).astype(dtype).astype(np.float64)


def _seemingly_left_out(mistake: LikelyMistake, program: Program) -> tuple[int, ...]:
    """Return the layer that a mistake says is left out, or those whose result is not taken."""
    if mistake.place is None:
        return ()
    if mistake.kind != "other_operand":
        return (mistake.place,)
    return tuple(
        each
        for each in program.takes[mistake.place]
        if program.layers[each].name == mistake.facts["wanted"]
    )


def _changes(program: Program, places: Sequence[int]) -> Iterator[Change]:
    """Return single changes, layer by layer, then those of all layers of a kind at once."""
    for place in places:
        layer = program.layers[place]
        own = _OWN.get(layer.operation.kind)
        if own is not None:
            yield from own(place, layer)
            yield from fixed_at(place, layer, program.indices)
        yield from elementwise_mistakes(program, place)
    for place in places:
        yield from order_mistakes(program, place)
    yield from _everywhere(program, places, _OWN)
    for place in places:
        layer = program.layers[place]
        last = _LAST.get(layer.operation.kind)
        yield from () if last is None else last(place, layer)
    yield from _everywhere(program, places, _LAST)


def _additions(program: Program, right: Sequence[int]) -> Iterator[Change]:
    """Return what may have been done after the last right values, and should not have been."""
    before = {each for place in right for each in program.needed_for(program.takes[place])}
    for place in sorted(set(right) - before):
        yield from extra_mistakes(program, place)


def _everywhere(
    program: Program, places: Sequence[int], mistakes: Mapping[str, Own]
) -> Iterator[Change]:
    """Make the same mistake in all layers of a kind: they may be one function."""
    for kind, own in mistakes.items():
        alike = [each for each in places if program.layers[each].operation.kind == kind]
        by_mistake: dict[tuple[MistakeKind, int], list[Change]] = {}
        for place in alike if len(alike) > 1 else ():
            counts: Counter[str] = Counter()
            for one in own(place, program.layers[place]):
                by_mistake.setdefault((one.kind, counts[one.kind]), []).append(one)
                counts[one.kind] += 1
        for together in by_mistake.values():
            # One function for all linear layers, its sum one term short in each.
            if len(together) == len(alike):
                computes = {place: c for one in together for place, c in one.computes.items()}
                yield together[0]._replace(computes=computes)


def _mistake(one: Change, program: Program) -> LikelyMistake:
    layer = program.layers[one.place]
    kind = one.kind
    if kind == "layer_left_out" and len(one.computes) == 1:
        kind = MISSING.get(layer.operation.kind, kind)
    facts = dict(one.facts)
    # Two that are exchanged, a product with its bias, or halves that are joined, are one mistake.
    is_one = kind in ("order_swapped", "layer_left_out") or facts.get("of") == "neighbours"
    if len(one.computes) > 1 and not is_one:
        facts["layers"] = len(one.computes)
    return LikelyMistake(kind, _whole_name(one.place, program), facts, one.place)


# --- trials ---------------------------------------------------------------------------------------
# Trying an advice before it is given: what its mistake foretells of the steps that come after.
#
# Two things may give the same numbers up to a step. Who has a softmax where PyTorch's exponential
# is next has one too many, or has one along another axis: that shows in what is computed from it.
# So an advice to take a step out is given only where all the rest, without that step, is PyTorch's.


DOUBTFUL = frozenset(
    {"softmax_extra", "relu_extra", "layer_repeated", "bias_twice", "order_swapped"}
)
"""Mistakes that say of a step that it should not be there, or not yet. All others are the layer
itself with something changed: without that, the step's numbers are the layer's."""


def stands_the_trial(
    one: Change, place: int, found: WrongValue, program: Program, tolerance: float
) -> bool:
    """Say whether a value would be right with a change taken back, and what is computed from it.

    `place` is the layer that has the value's numbers after the change.
    """
    if one.kind == "index_fixed" and "index" in one.facts:
        value = known(found.value)
        return not any(
            is_equal(other, value, tolerance)
            for each in rivals(one, program.layers[one.place])
            for _, other in program.changed(each, value.numbers.size)
        )
    if one.kind not in DOUBTFUL or found.after is None:
        return True
    if one.kind == "bias_twice" and place in one.computes:
        return True  # what is added once too often is the bias
    if one.kind == "order_swapped" and place >= max(one.computes):
        return True  # both layers are in the value; the next function may have its own mistake
    if found.is_result:
        return place == last_output(program)
    return any(_is_foretold(value, one, place, found, program, tolerance) for value in found.after)


def is_borne_out(
    one: Change, place: int, found: WrongValue, program: Program, tolerance: float
) -> bool:
    """Say whether a change that gives a value gives the last value too, if there is one.

    Who takes the ReLU of a product before the bias is added has the same numbers as who forgets the
    bias and takes the ReLU in its place. Where nothing bears a change out, there is a second
    mistake: then one that gives the value in the layer that it changes comes before one that gives
    it in a later layer, since a step may do several layers at once.
    """
    return not found.after or _is_foretold(found.after[-1], one, place, found, program, tolerance)


def last_output(program: Program) -> int | None:
    """Return the last layer that is an output, or the last of all where none is marked."""
    named = [place for place, layer in enumerate(program.layers) if layer.name]
    marked = [place for place in named if program.layers[place].output is not None]
    return max(marked or named, default=None)


def foretold(one: Change, size: int, program: Program) -> Mapping[int, Doubles]:
    """Return the values of `size` numbers that a change gives, by the places of their layers."""
    return dict(program.changed(one, size))


def _is_foretold(
    value: Values, one: Change, place: int, found: WrongValue, program: Program, tolerance: float
) -> bool:
    """Say whether a later value is that of a later layer, and neither right nor the same again."""
    given = numbers(found.value)
    for at, other in foretold(one, value.size, program).items():
        if at <= place or not np.isfinite(other).all():
            continue
        # What is right whether or not the step is there says nothing for the change, nor does the
        # same value once more.
        if is_equal(other, known(program.layers[at].value), tolerance):
            continue
        if other.size == given.size and is_equal(other, known(given), tolerance):
            continue
        shaped = other.reshape(value.shape)
        if program.layers[at].value.size == other.size:
            shaped = other.reshape(program.layers[at].value.shape)
        if is_equal(numbers(value), known(shaped), tolerance):
            return True
        if is_rearranged(value, known(shaped), tolerance):
            return True
    return False
