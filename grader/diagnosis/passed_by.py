"""A layer that seems to be left out and is there: what should take its result takes another step.

`lv1 = relu(lv0); lv2 = linear(lv0)`: to advise a ReLU would have the student write a second one.
So it is with a sum that nobody takes, or several layers in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grader.diagnosis.layers import Change, Program, change, is_equal, is_rearranged, known, numbers
from grader.diagnosis.matching import Matching
from grader.diagnosis.mistakes import LikelyMistake, whole_of
from grader.evidence.operations import Operation

__all__ = [
    *("copied_instead", "is_idle", "parameter_taken", "passed_by"),
    *("taken_instead", "taken_throughout"),
]

Values = npt.NDArray[Any]

_MANY = 64
"""Most layers of a program whose parameters are tried."""

_AXES = 4
"""Largest number of axes whose orders are tried."""


def passed_by(matching: Matching, wrong: int, left_out: int) -> LikelyMistake | None:
    """Return which step the wrong one takes and which it should take; None where neither is known.

    `left_out` is the place of the layer without which PyTorch has the wrong step's value.
    """
    for taken in matching.steps[wrong].takes:
        # What is taken must be for that layer alone: a step that does `x + linear(relu(x))` takes
        # `x` for both, and should take another one for one of them.
        if matching.matched[taken] is None or _takers(matching, taken) != [left_out]:
            continue
        wanted = _wanted(matching, taken, wrong, left_out)
        place = None if wanted is None else matching.matched[wanted]
        after = None if place is None else matching.program.next_of(place)
        if wanted is not None and after is not None:
            return _mistake(matching, taken, wanted, after)
    return _in_place_of_argument(matching, wrong, left_out)


def _in_place_of_argument(matching: Matching, wrong: int, left_out: int) -> LikelyMistake | None:
    """Return that a step takes an argument in place of a layer of it, which another step is.

    `lv = norm(x); lv1 = linear(x, gate)` needs no second norm.
    """
    program, after = matching.program, matching.program.next_of(left_out)
    is_there = any(
        matching.matched[each] == left_out
        and each not in matching.ancestors[wrong]
        and _lies_as_its_layer(matching, each)
        for each in range(wrong)
    )
    arguments = _arguments_of(program, left_out)
    if after is None or not is_there or len(arguments) != 1 or matching.steps[wrong].takes:
        return None
    told = {"taken_argument": arguments.pop() + 1, "result": program.layers[left_out].name}
    whole = whole_of(after, program)
    return LikelyMistake("other_operand", program.layers[whole].name, told, whole)


def _arguments_of(program: Program, place: int) -> set[int]:
    """Return the arguments that a layer is computed from and that have as many numbers."""
    size = program.layers[place].value.size
    found, pending, seen = set[int](), [place], {place}
    while pending:
        at = pending.pop()
        operands = program.layers[at].operation.operands
        alike = (each.argument for each in operands if each.value.numel() == size)
        found |= {each for each in alike if each is not None}
        pending += {*program.takes[at]} - seen
        seen |= {*program.takes[at]}
    return found


def taken_instead(matching: Matching, wrong: int) -> LikelyMistake | None:
    """Return which right step the wrong one should take, where it does the next layer on another.

    So several layers are passed by at once, or a sum: `lv3 = linear(lv0)` where PyTorch's linear
    takes `lv2 = lv0 + lv1`; or it is the other one of two products: `silu(up)` for `silu(gate)`. It
    is the layer itself, done on one value, that gives the numbers.
    """
    value = matching.steps[wrong].value
    if value is None or known(value).is_trivial:
        return None
    for taken in matching.steps[wrong].takes:
        for wanted in range(wrong):
            if any(is_meant(matching, wanted, taken, wrong) for is_meant in (_is_ahead, _is_apart)):
                for after in _takers(matching, wanted):
                    if _does(matching, wrong, after, taken):
                        return _mistake(matching, taken, wanted, after)
    return None


def taken_throughout(matching: Matching, wrong: int) -> LikelyMistake | None:
    """Return which right step the wrong one should take, where it does several layers on another.

    A state `(1 - z) * n + z * h` takes the gate `r` for `z`, in both products.
    """
    value = matching.steps[wrong].value
    if value is None or known(value).is_trivial:
        return None
    for taken in matching.steps[wrong].takes:
        for wanted in range(wrong):
            if wanted not in matching.steps[wrong].takes and _may_stand_for(
                matching, wanted, taken
            ):
                place = _done_on(matching, wrong, taken, wanted)
                if place is not None:
                    return _mistake(matching, taken, wanted, place)
    return None


def _may_stand_for(matching: Matching, wanted: int, taken: int) -> bool:
    """Say whether two right steps have values of one shape, and different ones."""
    places = {matching.matched[wanted], matching.matched[taken]}
    values = [matching.known[each] for each in places if each is not None]
    return (
        len(values) == 2
        and values[0].shape == values[1].shape
        and not any(each.is_trivial for each in values)
        and all(_lies_as_its_layer(matching, each) for each in (wanted, taken))
    )


def _done_on(matching: Matching, wrong: int, taken: int, wanted: int) -> int | None:
    """Return the layer whose numbers a step has if all layers take one value for another.

    A layer that needs the other value anyway is none: of `silu(gate) * up`, done on `up` alone, the
    step is right that multiplies by `up`; `silu(y)` for `x * sigmoid(y)` lacks `x`, and to take it
    for `y` would lack `y`. Nor is there any known where one of them changes nothing
    of the value: `lv6 = relu(lv2); lv7 = linear(lv6)` for a ReLU of `lv5` is no linear of `lv5`.
    """
    program, other, place = matching.program, matching.matched[taken], matching.matched[wanted]
    value = matching.steps[wrong].value
    if value is None or other is None or place is None:
        return None
    given = torch.from_numpy(program.layers[other].value)
    computes = {
        after: partial(_with_other, program.layers[after].operation, place, given)
        for after in _takers(matching, wanted)
    }
    if not computes or any(is_idle(matching, taken, after) for after in computes):
        return None
    one = Change("other_operand", min(computes), computes, {})
    found = matching.open_layers_of(one, value)
    kept = {matching.matched[each] for each in matching.steps[wrong].takes if each != taken}
    return next((each for each in found if not _needs(program, each, other, kept | {place})), None)


def _needs(program: Program, place: int, other: int, kept: set[int | None]) -> bool:
    """Say whether a layer is computed from another one by any way but through those kept."""
    waiting = [place]
    for each in waiting:
        waiting += {*program.takes[each]} - kept - {*waiting}
    return other in waiting


def _with_other(operation: Operation, place: int, given: Any, *values: Any) -> Any:
    """Do an operation with another value for those of its operands that a layer gives."""
    operands = zip(operation.operands, values, strict=True)
    return operation.compute(*(given if each.layer == place else x for each, x in operands))


def parameter_taken(matching: Matching, wrong: int) -> LikelyMistake | None:
    """Return which right step the wrong one should take, where it does the next layer on a weight.

    `softmax(conv_weight)` for `softmax(hidden)`: of what nobody takes, the last is meant. Equal
    numbers are of no parameter: a constant 0.1 is a softmax of a bias of zeros, too.
    """
    program, value = matching.program, matching.steps[wrong].value
    if matching.depends[wrong] or len(program.layers) > _MANY:
        return None
    if value is None or known(value).is_trivial:
        return None
    places = set[int]()
    for wanted in reversed(range(wrong)):
        place = matching.matched[wanted]
        if place is None or place in places or matching.has_followers(wanted):
            continue
        places.add(place)
        for after in _takers(matching, wanted):
            whole = whole_of(after, program)
            for name, given in () if whole in matching.matched else _parameters(program):
                if _is_done_on(matching, wrong, after, given):
                    facts = {"parameter": name, "wanted_step": matching.steps[wanted].variable}
                    return LikelyMistake("other_operand", program.layers[whole].name, facts, whole)
    return None


def _parameters(program: Program) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield each layer's name with a parameter, as PyTorch has it and, of a matrix, transposed."""
    for place, layer in enumerate(program.layers):
        name = program.layers[whole_of(place, program)].name
        for operand in layer.operation.operands:
            if not operand.is_running and name:
                yield name, operand.value
                if operand.value.ndim == 2:
                    yield name, operand.value.mT


def copied_instead(matching: Matching, wrong: int) -> LikelyMistake | None:
    """Return which right step the wrong one should take, where it only flattens or transposes.

    `lv2 = pool2d(lv1); lv3 = relu(lv2); lv4 = flatten(lv2)`: no layer was done on `lv2`, which is
    none of PyTorch's, so that a ReLU seemed to be missing. The same copy of `lv3` is a layer.
    """
    value = matching.steps[wrong].value
    if value is None:
        return None
    for taken in matching.steps[wrong].takes:
        given = matching.steps[taken].value
        if given is None or known(given).is_trivial:
            continue
        for copy in _copies(given, value):
            for wanted in range(wrong):
                if _is_beside(matching, wanted, taken, wrong, given.shape):
                    place = _copied_layer(matching, wanted, copy)
                    if place is not None:
                        return _mistake(matching, taken, wanted, place)
    return None


def _copies(given: Values, value: Values) -> Iterator[Callable[[Values], Values]]:
    """Return what makes one value of another and changes none of its numbers."""
    if given.size != value.size:
        return
    if np.array_equal(given.reshape(-1), value.reshape(-1)):
        yield lambda x: x.reshape(value.shape)
    if given.ndim != value.ndim or given.ndim > _AXES:
        return
    for axes in list(permutations(range(given.ndim)))[1:]:
        turned = given.transpose(axes)
        if turned.shape == value.shape and np.array_equal(turned, value):
            yield partial(np.transpose, axes=axes)


def _is_beside(
    matching: Matching, wanted: int, taken: int, wrong: int, shape: tuple[int, ...]
) -> bool:
    """Say whether a right step is computed from one that is taken, and nobody takes it."""
    value = matching.steps[wanted].value
    return (
        matching.matched[wanted] is not None
        and value is not None
        and value.shape == shape
        and taken in matching.ancestors[wanted]
        and wanted not in matching.ancestors[wrong]
    )


def _copied_layer(matching: Matching, wanted: int, copy: Callable[[Values], Values]) -> int | None:
    """Return the layer whose value a copy of a step has, or that lies as the copy does."""
    value = matching.steps[wanted].value
    assert value is not None
    copied = copy(value)
    flat, place = numbers(copied), matching.matched[wanted]
    alike = [
        at
        for at, each in enumerate(matching.known)
        if matching.program.layers[at].name and is_equal(flat, each, matching.tolerance)
    ]
    exact = [at for at in alike if matching.known[at].shape == copied.shape]
    is_other_layout = place is not None and is_rearranged(copied, matching.known[place])
    return next(iter(exact), place if is_other_layout else None)


def _is_ahead(matching: Matching, wanted: int, taken: int, wrong: int) -> bool:
    """Say whether a step is computed from one that is taken, and could be taken in its place."""
    place, other = matching.matched[wanted], matching.matched[taken]
    return (
        place is not None
        and other is not None
        and place != other
        and _fits(matching, wanted, taken, wrong, place)
        and matching.known[place].shape == matching.known[other].shape
    )


def _is_apart(matching: Matching, wanted: int, taken: int, wrong: int) -> bool:
    """Say whether neither of two right steps of one shape is computed from the other: of two
    products beside each other, the wrong one is taken.
    """
    return (
        _may_stand_for(matching, wanted, taken)
        and wanted not in matching.ancestors[wrong]
        and wanted not in matching.ancestors[taken]
        and taken not in matching.ancestors[wanted]
    )


def _does(matching: Matching, wrong: int, after: int, taken: int) -> bool:
    """Say whether a step has the numbers of a layer that is done on the one that is taken.

    A layer of two values is not looked at: `l + linear(l)` may take the same step for both. Nor is
    one that another step has done already: this one may be a later one, of the same weight.
    """
    other = matching.matched[taken]
    if other is None or whole_of(after, matching.program) in matching.matched:
        return False
    given = torch.from_numpy(matching.program.layers[other].value)
    return _is_done_on(matching, wrong, after, given)


def _is_done_on(matching: Matching, wrong: int, after: int, given: torch.Tensor) -> bool:
    """Say whether a step has the numbers of a layer of one value that is done on another one."""
    program, value = matching.program, matching.steps[wrong].value
    operation = program.layers[after].operation
    running = [at for at, each in enumerate(operation.operands) if each.is_running]
    if value is None or len(running) > 1:
        return False
    index = running[0]
    one = change(
        "other_operand",
        after,
        lambda *values: operation.compute(*values[:index], given, *values[index + 1 :]),
    )
    flat, whole = numbers(value), whole_of(after, program)
    return any(
        place in (after, whole) and is_equal(flat, known(found), matching.tolerance)
        for place, found in program.changed(one, flat.size)
    )


def _takers(matching: Matching, step: int) -> list[int]:
    """Return the layers that take the one that a step has."""
    program, place = matching.program, matching.matched[step]
    return [
        after
        for after, taken in enumerate(program.takes)
        if place in taken and not program.is_side(after)
    ]


def _wanted(matching: Matching, taken: int, wrong: int, place: int) -> int | None:
    """Return the step with a layer's value that the wrong step could take, of several the furthest.

    Where `relu(dense(x))` is there and an `x` is taken that a ReLU changes nothing of, the dense
    layer alone seems to be left out. To take its result would leave out the ReLU.
    """
    after = matching.program.next_of(place)
    if after is not None and is_idle(matching, taken, after):
        further = _wanted(matching, taken, wrong, after)
        if further is not None:
            return further
    return next((e for e in range(wrong) if _fits(matching, e, taken, wrong, place)), None)


def _fits(matching: Matching, step: int, taken: int, wrong: int, place: int) -> bool:
    """Say whether a step has the layer's value, is computed from what the taken one has (zeros that
    lie about are nobody's ReLU), and lies as PyTorch has it, as the taken one does."""
    before = matching.ancestors[step]
    return (
        matching.matched[step] == place
        and step not in matching.ancestors[wrong]
        and matching.matched[taken] in {matching.matched[each] for each in before}
        and all(_lies_as_its_layer(matching, each) for each in (step, taken))
    )


def _lies_as_its_layer(matching: Matching, step: int) -> bool:
    place, value = matching.matched[step], matching.steps[step].value
    return place is not None and value is not None and matching.known[place].shape == value.shape


def _mistake(matching: Matching, taken: int, wanted: int, after: int) -> LikelyMistake | None:
    """Return the mistake of a layer that takes another step; None where a step has no name."""
    program, places = matching.program, (matching.matched[taken], matching.matched[wanted])
    variables = matching.steps[taken].variable, matching.steps[wanted].variable
    names = ["" if place is None else program.layers[place].name for place in places]
    if not all(variables):
        return None
    facts = dict(zip(("taken", "wanted"), names, strict=True))
    facts |= dict(zip(("taken_step", "wanted_step"), variables, strict=True))
    whole = whole_of(after, program)
    return LikelyMistake("other_operand", program.layers[whole].name, facts, whole)


def is_idle(matching: Matching, step: int, place: int) -> bool:
    """Say whether a layer changes nothing of a step's value."""
    matched = matching.matched[step]
    operation = matching.program.layers[place].operation
    if matched is None or len(operation.operands) > 1:
        return False
    value = matching.known[matched]
    given = torch.from_numpy(matching.program.layers[matched].value)
    return is_equal(numbers(operation.compute(given)), value, matching.tolerance)
