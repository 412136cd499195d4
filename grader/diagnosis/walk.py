"""The steps of one call beside PyTorch's layers: which are earned, and what is wrong first.

PyTorch's values may have been written over some of the steps (`carrying.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from grader.diagnosis.layers import TOLERANCE, Program, numbers
from grader.diagnosis.matching import Matching, Observed
from grader.evidence.operations import SIDE_KINDS, Layer, one_thread

Lost = Mapping[int, int]
"""The place of the layer whose values are written over a step, by the number of the step."""


class LayerWalk(NamedTuple):
    """One call beside PyTorch's layers, step by step.

    `earned` are the places of layers that are right. `wrong` is the first step that has other
    numbers, None where there is none; `choices` are steps with the places of layers, still ahead,
    whose shape they have: of the wrong step, or of what it is computed from, where a layer that was
    left out belongs. `is_over` says that steps come after the last layer and change its numbers.
    """

    earned: frozenset[int]
    wrong: int | None = None
    choices: tuple[tuple[int, int], ...] = ()
    is_over: bool = False


def walk(
    steps: Sequence[Observed],
    layers: Sequence[Layer],
    lost: Lost,
    tolerance: float = TOLERANCE,
    returned: Set[int] = frozenset(),
) -> LayerWalk:
    """Put the steps of one call beside PyTorch's layers, in the order of both.

    `steps` have their own values, `lost` has the layers whose values were written over them. What
    is lost is lost for all that comes after it, by whatever way a later step may have come to its
    values: two variables may name one memory.

    `returned` are the steps of which the function returns one, none where that is not known. Steps
    that they are not computed from earn nothing: a ReLU that nobody takes, or a softmax that is not
    returned.
    """
    corrected = tuple(
        each._replace(value=layers[lost[number]].value) if number in lost else each
        for number, each in enumerate(steps)
    )
    program = Program(layers)
    with one_thread():
        own = Matching(steps, program, tolerance)
        matching = Matching(corrected, program, tolerance) if lost else own
    places = chain(layers)
    earned: set[int] = set()
    ahead = places
    needed = _needed(own, returned)
    for number, step in enumerate(steps):
        if number not in needed:
            continue
        place = own.matched[number]
        # By a step's own numbers: copies of what was written over another step earn nothing. So do
        # constants of the right shapes (cheats carried_copies, carried_constants); zeros are
        # anybody's.
        if place in ahead and not own.known[place].is_trivial:
            behind = _behind(ahead, place)
            # Layers in one function have no values between them: they are earned, and lost,
            # together.
            earned |= set(ahead) - set(behind)
            ahead = behind
        elif number not in lost and step.value is not None and matching.departs(number):
            passed = places[: len(places) - len(ahead)]
            choices = _choices(number, steps, layers, ahead, lost)
            if choices:
                choices += _too_much(number, steps, layers, passed[-1:], lost)
            if choices:
                return LayerWalk(frozenset(earned), number, choices)
        # Behind a correction nothing before it can be earned, by whatever name its values are
        # found: a view is written over with what it is a view of.
        ahead = _behind(ahead, lost[number]) if number in lost else ahead
    last = own.matched[max(needed)] if needed else None
    return LayerWalk(frozenset(earned), is_over=not ahead and last not in places[-1:])


def _needed(own: Matching, returned: Set[int]) -> frozenset[int]:
    """Return the steps that what is returned is computed from, with itself; else all steps."""
    if not returned:
        return frozenset(range(len(own.steps)))
    return frozenset(returned).union(*(own.ancestors[each] for each in returned))


def _choices(
    number: int,
    steps: Sequence[Observed],
    layers: Sequence[Layer],
    ahead: Sequence[int],
    lost: Lost,
) -> tuple[tuple[int, int], ...]:
    """Return over which steps the values of which layers may be written: those of one shape.

    Where a layer was left out, the step that departs has the shape of the next one: the values
    belong over what it takes.
    """
    near = (number, *(each for each in steps[number].takes if each not in lost))
    return tuple(
        (each, place)
        for each in near
        for place in ahead
        if _shape(steps[each]) == layers[place].value.shape
    )


def _too_much(
    number: int,
    steps: Sequence[Observed],
    layers: Sequence[Layer],
    passed: Sequence[int],
    lost: Lost,
) -> tuple[tuple[int, int], ...]:
    """Return the steps before one that may have changed the last layer that was passed.

    A bias that is added behind a ReLU has no layer of its own to be corrected to: the pooling after
    it would be lost for it.
    """
    return tuple(
        (each, place)
        for each in steps[number].takes
        for place in passed
        if each not in lost
        and _shape(steps[each]) == layers[place].value.shape != _shape(steps[number])
    )


def _behind(places: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(each for each in places if each > place)


def _shape(step: Observed) -> tuple[int, ...] | None:
    return None if step.value is None else step.value.shape


def chain(layers: Sequence[Layer]) -> tuple[int, ...]:
    """Return the places of PyTorch's layers and their parts, nothing where they are no chain.

    They are one where each is computed from the one before it, from parameters, and from arguments
    that no other takes: those of a computation have weights among them.
    """
    named = [
        place
        for place, each in enumerate(layers)
        if each.name and each.operation.kind not in SIDE_KINDS
    ]
    used: set[int] = set()
    for before, place in zip([None, *named], named, strict=False):
        taken, arguments = _sources(layers, place)
        if taken != {before} - {None} or arguments & used:
            return ()
        used |= arguments
    return tuple(named)


def _sources(layers: Sequence[Layer], place: int) -> tuple[set[int], set[int]]:
    """Return the layers and the arguments that one takes.

    What has no name is looked through: a case that is taken out of an argument is no layer.
    """
    found: set[int] = set()
    arguments: set[int] = set()
    seen = {place}
    waiting = [place]
    while waiting:
        for operand in layers[waiting.pop()].operation.operands:
            taken = operand.layer
            if taken is None:
                arguments |= set() if operand.argument is None else {operand.argument}
            elif layers[taken].name or layers[taken].operation.kind in SIDE_KINDS:
                found.add(taken)
            elif taken not in seen:
                seen.add(taken)
                waiting.append(taken)
    return found, arguments


class Part(NamedTuple):
    """One layer of a chain, as points are given for it.

    `places` are those of its parts and its own, the last one. `before` are those of layers before
    it that change no number, such as flattening.
    """

    places: tuple[int, ...]
    before: tuple[int, ...] = ()

    def is_right(self, right: frozenset[int], *, is_next: bool) -> bool:
        """Say whether it is among the places that are right.

        Who leaves flattening out has the same numbers, so no points are given for it. Numbers in
        another order are lost with this layer where the one before it is right (`is_next`), else
        with that one.
        """
        return right.issuperset(self.places) and (not is_next or right.issuperset(self.before))


def parts_of(layers: Sequence[Layer]) -> list[Part]:
    """Return the layers of a chain that points are given for."""
    found: list[Part] = []
    parts: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    for place in chain(layers):
        parts = (*parts, place)
        if layers[place].is_partial:
            continue
        if _is_idle(layers, parts):
            before += parts
        else:
            found.append(Part(parts, before))
            before = ()
        parts = ()
    return found


def judge(parts: Sequence[Part], right: frozenset[int]) -> list[bool]:
    """Say of each layer of a chain whether it is right."""
    return [
        part.is_right(right, is_next=previous is None or right.issuperset(previous.places))
        for previous, part in zip([None, *parts], parts, strict=False)
    ]


def _is_idle(layers: Sequence[Layer], parts: tuple[int, ...]) -> bool:
    taken = layers[parts[0]].operation.operands[0].layer
    if taken is None:
        return False
    return np.array_equal(numbers(layers[parts[-1]].value), numbers(layers[taken].value))
