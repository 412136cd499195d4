"""Which step of a student's function is the first that departs from PyTorch.

A step is right where its value is that of some layer of PyTorch's. Where a value is unlike any
layer but right steps are computed from it, nothing is wrong with it: there is more than one way to
compute a layer. The wrong step is the first that is neither, among those that depend on the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.referee.diagnosis.mistakes import MISSING, Mistake, explain, recognise, swaps
from grader.referee.diagnosis.mistakes_numbers import Found, precision
from grader.referee.diagnosis.operations import SIDE_KINDS, Layer
from grader.referee.diagnosis.program import Program, numbers, one_thread
from grader.referee.diagnosis.values import TOLERANCE, Known, is_equal, is_rearranged, known

Status = Literal["right", "unknown", "wrong", "follows"]

_LEFT_OUT = frozenset({*MISSING.values(), "layer_left_out"})
_SWALLOWING = frozenset({"softmax", *SIDE_KINDS})
_ROUNDED = 0.01
"""How far a rounded parameter is off at most, relative to the largest: bfloat16 by 2**-9."""

_TRIED = 3
"""Steps after an unexplained one that are looked at for a mistake."""


class Observed(NamedTuple):
    """One step of a student's function in one call: its variable, what was called, its value.

    `value` is None where the step was not reached or has no value. `takes` are the numbers of
    earlier steps that it is computed from, `takes_input` says that it takes an argument of the
    function directly. `dtype` is what the module computes in; `is_unwritten` says that what was
    called left its output as it was.
    """

    variable: str
    callee: str
    value: npt.NDArray[np.generic] | None
    takes: tuple[int, ...] = ()
    takes_input: bool = False
    dtype: str = "float32"
    is_unwritten: bool = False


class Alignment(NamedTuple):
    """Steps beside layers. `matched` has for each step the place of its layer, or None.

    `wrong` is the first step that departs, None where all that was seen is right. `last_right` is
    the layer whose right value it is computed from, `expected` the layer that it should have given.
    Both are places among the layers, None where there is none. `mistake` is what explains it.
    """

    statuses: tuple[Status, ...]
    matched: tuple[int | None, ...]
    wrong: int | None = None
    last_right: int | None = None
    expected: int | None = None
    mistake: Mistake | None = None


def align(
    observed: Sequence[Observed],
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
    returned: npt.NDArray[np.generic] | None = None,
) -> Alignment:
    """Find the first step that departs, and the mistake that explains it.

    `returned` is what the function returned in the same call, if that is known: where all steps are
    right, another one than the last may have been returned.
    """
    with one_thread():
        return _Search(observed, Program(layers), tolerance).run(returned)


class _Search:
    """The steps of one call beside the layers of PyTorch."""

    def __init__(self, observed: Sequence[Observed], program: Program, tolerance: float) -> None:
        self.steps = observed
        self.program = program
        self.tolerance = tolerance
        self.known = [known(each.value) for each in program.layers]
        self.ancestors = _ancestors(observed)
        self.depends = [
            each.takes_input or any(observed[other].takes_input for other in before)
            for each, before in zip(observed, self.ancestors, strict=True)
        ]
        self.matched: list[int | None] = []
        for step in range(len(observed)):
            self.matched.append(self._match(step))
        self.redeemed = self._redeemed()
        self.inputs = _inputs(program)

    def run(self, returned: npt.NDArray[np.generic] | None) -> Alignment:
        """Return what came of it."""
        steps = range(len(self.steps))
        candidates = [step for step in steps if self._departs(step)]
        candidates = candidates or [step for step in steps if self._is_wrong_constant(step)]
        if candidates:
            wrong, mistake = self._explained(candidates)
            exchanged = self._exchanged(wrong, mistake)
            if exchanged is not None:
                return self._alignment(wrong, exchanged)
            return self._alignment(self._blamed(wrong, mistake), mistake)
        return self._without_departure(returned)

    def _match(self, step: int) -> int | None:
        """Return the layer whose value a step has; of several, the next one on its way."""
        value = self.steps[step].value
        if value is None:
            return None
        flat = numbers(value)
        if not np.isfinite(flat).all():
            return None
        places = [
            place
            for place, each in enumerate(self.known)
            if self.program.layers[place].name and is_equal(flat, each, self.tolerance)
        ]
        places = places or [
            place
            for place, each in enumerate(self.known)
            if self.program.layers[place].name and is_rearranged(value, each, self.tolerance)
        ]
        if not places:
            return None
        reached = self._reached(step)
        alike = [each for each in places if self.known[each].shape == value.shape] or places
        ahead = [each for each in alike if each > reached]
        return ahead[0] if ahead else alike[-1]

    def _reached(self, step: int) -> int:
        """Return the last layer that a step is computed from, -1 for none."""
        found = [self.matched[each] for each in self.ancestors[step] if each < len(self.matched)]
        return max((each for each in found if each is not None), default=-1)

    def _redeemed(self) -> frozenset[int]:
        """Return the steps that right ones are computed from, but for trivially right ones.

        A softmax swallows differences: it says something only of steps after the values that it is
        taken of.
        """
        found: set[int] = set()
        for step, place in enumerate(self.matched):
            if place is None or self.known[place].is_trivial:
                continue
            operation = self.program.layers[place].operation
            taken = operation.operands[0].layer
            if taken is None or operation.kind not in _SWALLOWING:
                found |= self.ancestors[step]
            else:
                found |= {each for each in self.ancestors[step] if self._comes_after(each, taken)}
        return frozenset(found)

    def _comes_after(self, step: int, place: int) -> bool:
        return any(self.matched[each] == place for each in self.ancestors[step])

    def _departs(self, step: int) -> bool:
        if self.matched[step] is not None or step in self.redeemed:
            return False
        if not self.depends[step]:
            return self._is_rounded_parameter(step)
        if self.steps[step].value is None:
            return self.steps[step].is_unwritten
        return not (self._is_given(step) and self._has_followers(step))

    def _is_wrong_constant(self, step: int) -> bool:
        """Say whether a step is a result that depends on nothing, and is no value of PyTorch's."""
        if self.depends[step] or self.matched[step] is not None or self._has_followers(step):
            return False
        return self.steps[step].value is not None and not self._is_given(step)

    def _is_given(self, step: int) -> bool:
        """Say whether a step is an argument or a parameter, perhaps in another layout."""
        value = self.steps[step].value
        assert value is not None
        flat = numbers(value)
        return any(
            is_equal(flat, each, self.tolerance) or is_rearranged(value, each, self.tolerance)
            for each in self.inputs
        )

    def _is_rounded_parameter(self, step: int) -> bool:
        """Say whether a step is a parameter, in whatever layout, whose numbers were rounded."""
        value = self.steps[step].value
        if value is None or self._is_given(step) or not self._has_followers(step):
            return False
        flat = numbers(value)
        return any(
            not each.is_trivial
            and (is_equal(flat, each, _ROUNDED) or is_rearranged(value, each, _ROUNDED))
            for each in self.inputs
        )

    def _has_followers(self, step: int) -> bool:
        return any(step in before for before in self.ancestors)

    def _right_before(self, step: int) -> tuple[int, ...]:
        """Return the layers whose right values a step is computed from, by whatever way."""
        places = [self.matched[each] for each in sorted(self.ancestors[step])]
        return tuple(
            each for each in places if each is not None and not self.known[each].is_trivial
        )

    def _found(self, step: int) -> Found:
        observed = self.steps[step]
        assert observed.value is not None
        right = self._right_before(step)
        is_result = not self._has_followers(step)
        return Found(observed.value, right, observed.dtype, observed.is_unwritten, is_result)

    def _explained(self, candidates: Sequence[int]) -> tuple[int, Mistake | None]:
        """Return the wrong step and its mistake: the first, unless it only rearranges its input.

        A step that no change explains may be a part of how a layer is computed, such as the windows
        of a convolution. Where a step that is computed from it is explained, that one is wrong.
        """
        first = candidates[0]
        if self.steps[first].value is None:
            return first, Mistake("not_written")
        if not self.depends[first] and self._has_followers(first):
            dtype = precision(numbers(self.steps[first].value))
            return first, Mistake("low_precision", facts={"dtype": dtype}) if dtype else None
        mistake = recognise(self._found(first), self.program.layers, self.tolerance)
        if mistake is not None:
            return first, mistake
        later = [each for each in candidates if first in self.ancestors[each]]
        for step in later[:_TRIED]:
            if self.steps[step].value is not None:
                explained = explain(self._found(step), self.program, self.tolerance)
                if explained is not None:
                    return step, explained
        return first, None

    def _exchanged(self, wrong: int, mistake: Mistake | None) -> Mistake | None:
        """Return that a layer which seems to be left out is done after the wrong step."""
        if mistake is None or mistake.kind not in {*_LEFT_OUT, "operand_missing"}:
            return None
        for step, each in enumerate(self.steps):
            if wrong in each.takes and each.value is not None:
                found = swaps(mistake, self._found(step), self.program, self.tolerance)
                if found is not None:
                    return found
        return None

    def _blamed(self, wrong: int, mistake: Mistake | None) -> int:
        """Return the step that should have given the layer that was left out, if there is one.

        That is the first step after the last right layer that gives nothing but what it is given,
        or else the step that gives a layer without its bias.
        """
        if mistake is None or mistake.kind not in _LEFT_OUT or mistake.place is None:
            return wrong
        reached = [
            step
            for step in sorted(self.ancestors[wrong])
            if self._next_of_match(step) == mistake.place
        ]
        idle = [step for step in reached if self._gives_what_it_takes(step)]
        partial = [step for step in reached if self._is_partial(step)]
        return next(iter(idle or partial), wrong)

    def _next_of_match(self, step: int) -> int | None:
        place = self.matched[step]
        return None if place is None else self.program.next_of(place)

    def _is_partial(self, step: int) -> bool:
        place = self.matched[step]
        return place is not None and self.program.layers[place].is_partial

    def _gives_what_it_takes(self, step: int) -> bool:
        value = self.steps[step].value
        for each in self.steps[step].takes:
            other = self.steps[each].value
            if self.matched[each] == self.matched[step] and other is not None:
                return value is not None and other.shape == value.shape
        return False

    def _without_departure(self, returned: npt.NDArray[np.generic] | None) -> Alignment:
        """Return what is wrong where every step that was seen is right."""
        seen = [step for step, each in enumerate(self.steps) if each.value is not None]
        if not seen:
            return self._alignment(0 if self.steps else None, None)
        if seen[-1] + 1 < len(self.steps):
            return self._alignment(seen[-1] + 1, None)
        swapped = self._swapped_outputs()
        if swapped is not None:
            return swapped
        last = _last_output(self.program)
        if last is not None and last not in self.matched:
            return self._ended_early(seen)
        if returned is None or last is None or is_equal(numbers(returned), self.known[last]):
            return self._alignment(None, None)
        return self._other_returned(returned, last)

    def _ended_early(self, seen: Sequence[int]) -> Alignment:
        """Return that layers are missing after the last step."""
        step = seen[-1]
        place = self.matched[step]
        expected = None if place is None else self.program.next_of(place)
        if expected is None:
            return self._alignment(step, None)
        layer = self.program.layers[expected]
        missing = self._missing_after(expected)
        kind = MISSING.get(layer.operation.kind) if len(missing) == 1 else None
        mistake = Mistake(kind or "layer_left_out", layer.name, {"missing": missing}, expected)
        return self._alignment(step, mistake)._replace(last_right=place, expected=expected)

    def _missing_after(self, place: int | None) -> tuple[str, ...]:
        names = []
        while place is not None:
            layer = self.program.layers[place]
            if layer.name and not layer.is_partial:
                names.append(layer.name)
            place = self.program.next_of(place)
        return tuple(names)

    def _swapped_outputs(self) -> Alignment | None:
        """Return that outputs have the right values in a wrong order."""
        wanted = {
            layer.output: place
            for place, layer in enumerate(self.program.layers)
            if layer.output is not None
        }
        if len(wanted) < 2 or len(self.steps) < len(wanted):
            return None
        first = len(self.steps) - len(wanted)
        for number in range(len(wanted)):
            place = self.matched[first + number]
            if place is not None and place != wanted[number] and place in wanted.values():
                name = self.program.layers[wanted[number]].name
                facts = {"output": number, "found": self.program.layers[place].name}
                mistake = Mistake("outputs_swapped", name, facts, wanted[number])
                return self._alignment(first + number, mistake)._replace(expected=wanted[number])
        return None

    def _other_returned(self, returned: npt.NDArray[np.generic], last: int) -> Alignment:
        """Return that the right output was computed and another value returned."""
        flat = numbers(returned)
        for step in reversed(range(len(self.steps))):
            value = self.steps[step].value
            if value is not None and is_equal(flat, known(value), self.tolerance):
                right = self.matched.index(last)
                facts = {
                    "returned": self.steps[step].variable,
                    "wanted": self.steps[right].variable,
                }
                mistake = Mistake(
                    "other_step_returned", self.program.layers[last].name, facts, last
                )
                return self._alignment(step, mistake)._replace(expected=last)
        return self._alignment(None, None)

    def _alignment(self, wrong: int | None, mistake: Mistake | None) -> Alignment:
        statuses = tuple(self._status(step, wrong) for step in range(len(self.steps)))
        if wrong is None:
            return Alignment(statuses, tuple(self.matched))
        before = self._right_before(wrong)
        last_right = max(before, default=None)
        expected = mistake.place if mistake is not None else None
        if expected is None:
            expected = self._expected(wrong, last_right)
        return Alignment(statuses, tuple(self.matched), wrong, last_right, expected, mistake)

    def _expected(self, wrong: int, last_right: int | None) -> int | None:
        """Return the next layer of the wrong value's shape, or the next one."""
        done = self.program.needed_for(self._right_before(wrong))
        ahead = [
            place
            for place, layer in enumerate(self.program.layers)
            if place not in done and layer.name and not layer.is_partial
        ]
        value = self.steps[wrong].value
        alike = [
            each for each in ahead if value is not None and self.known[each].shape == value.shape
        ]
        return next(iter(alike or ahead), last_right)

    def _status(self, step: int, wrong: int | None) -> Status:
        if step == wrong:
            return "wrong"
        if self.matched[step] is not None:
            return "right"
        if step in self.redeemed or not self.depends[step]:
            return "unknown"
        if wrong is not None and (step > wrong or wrong in self.ancestors[step]):
            return "follows"
        return "unknown"


def _ancestors(observed: Sequence[Observed]) -> tuple[frozenset[int], ...]:
    """Return for each step all those that it is computed from."""
    found: list[frozenset[int]] = []
    for each in observed:
        found.append(frozenset(each.takes).union(*(found[other] for other in each.takes)))
    return tuple(found)


def _inputs(program: Program) -> list[Known]:
    """Return the arguments and parameters of all layers."""
    return [
        known(operand.value.numpy())
        for layer in program.layers
        for operand in layer.operation.operands
        if operand.layer is None
    ]


def _last_output(program: Program) -> int | None:
    """Return the last layer that is an output, or the last of all where none is marked."""
    named = [place for place, layer in enumerate(program.layers) if layer.name]
    marked = [place for place in named if program.layers[place].output is not None]
    return max(marked or named, default=None)
