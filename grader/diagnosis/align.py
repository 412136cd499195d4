"""Which step of a student's function is the first that departs from PyTorch.

A step is right where its value is that of some layer of PyTorch's. Where a value is unlike any
layer but right steps are computed from it, nothing is wrong with it: there is more than one way to
compute a layer. The wrong step is the first that is neither, among those that depend on the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from grader.diagnosis.computed_twice import computed_twice
from grader.diagnosis.layers import TOLERANCE, Program, change, is_equal, known, near, numbers, same
from grader.diagnosis.matching import Matching, Observed
from grader.diagnosis.mistakes import (
    MISSING,
    LikelyMistake,
    explain,
    is_vague,
    last_output,
    recognise,
    swaps,
    whole_of,
)
from grader.diagnosis.mistakes_elementwise import left_out_facts
from grader.diagnosis.mistakes_layers import exchanged
from grader.diagnosis.mistakes_numbers import WrongValue, precision
from grader.diagnosis.mistakes_products import axis_from_the_end
from grader.diagnosis.moved import done_aside, is_done_behind, moved
from grader.diagnosis.passed_by import (
    copied_instead,
    is_idle,
    parameter_taken,
    passed_by,
    taken_instead,
    taken_throughout,
)
from grader.evidence.operations import Layer, one_thread

__all__ = ["Alignment", "Observed", "Status", "align", "closest"]

Status = Literal["right", "unknown", "wrong", "follows"]

_LEFT_OUT = frozenset({*MISSING.values(), "layer_left_out"})
_TOO_MANY = {"softmax_extra": "softmax", "relu_extra": "relu"}
_NEARLY = 0.01
"""How far a value is off at most, relative to the largest number, that has nearly a layer's."""
_TRIED = 3
"""Steps after an unexplained one that are looked at for a mistake."""


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
    mistake: LikelyMistake | None = None


def align(
    observed: Sequence[Observed],
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
    returned: npt.NDArray[np.generic] | None = None,
    indices: Sequence[int] = (),
) -> Alignment:
    """Find the first step that departs, and the mistake that explains it.

    `indices` are numbers that stand in the student's module where a buffer is read.
    `returned` is what the function returned in the same call, if that is known: where all steps are
    right, another one than the last may have been returned. Without layers nothing is wrong.
    """
    if not layers:
        return Alignment(tuple("unknown" for _ in observed), tuple(None for _ in observed))
    with one_thread():
        return _Search(Matching(observed, Program(layers, indices), tolerance)).run(returned)


EXACT = 1e-12
"""Largest difference between equal whole numbers, relative to the largest of them."""


def closest(
    observed: Sequence[Observed],
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
    returned: npt.NDArray[np.generic] | None = None,
    indices: Sequence[int] = (),
) -> tuple[Alignment, float]:
    """Return what `align` does, and the tolerance that shows where steps depart.

    A sum of int32 that begins with 1 is off by less than what rounding leaves of large numbers:
    where nothing departs, steps that are all whole numbers are held against PyTorch's exactly.
    """
    found = align(observed, layers, tolerance, returned, indices)
    values = [each.value for each in observed if each.value is not None]
    if found.wrong is not None or not all(each.dtype.kind in "iu" for each in values):
        return found, tolerance
    return align(observed, layers, EXACT, returned, indices), EXACT


class _Search:
    """Looks for the first step that departs from PyTorch, and for the mistake behind it."""

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.steps = matching.steps
        self.program = matching.program
        self.tolerance = matching.tolerance
        self.known = matching.known
        self.ancestors = matching.ancestors
        self.matched = matching.matched

    def run(self, returned: npt.NDArray[np.generic] | None) -> Alignment:
        """Return the steps beside the layers, with the first that departs and its mistake.

        `returned` has as many numbers as the output, shape (samples, ...), or is None.
        """
        steps = range(len(self.steps))
        # What depends on nothing is mostly a prepared weight; where all the rest is right it may be
        # a constant that is returned.
        candidates = [step for step in steps if self.matching.departs(step)]
        candidates = candidates or [step for step in steps if self.matching.is_wrong_constant(step)]
        if candidates:
            wrong, mistake = self._explained(candidates)
            if mistake is None:
                wrong, mistake = self._given_in_vain(wrong)
            passed_by = self._passed_by(wrong, mistake)
            if passed_by is not None:
                return self._alignment(wrong, passed_by)
            twice = computed_twice(self.matching, wrong)
            if twice is not None:
                return self._alignment(*twice)._replace(expected=twice[1].place)
            exchanged = self._exchanged(wrong, mistake) or self._exchanged_before(wrong, mistake)
            if exchanged is not None:
                return self._alignment(*exchanged)
            if self._may_be_moved(mistake):
                elsewhere = self._elsewhere(wrong, mistake)
                if elsewhere is not None:
                    return self._alignment(wrong, elsewhere)
                if self._would_be_twice(wrong, mistake):
                    return self._alignment(wrong, None)
            return self._alignment(self._blamed(wrong, mistake), mistake)
        return self._without_departure(returned)

    def _found(self, step: int) -> WrongValue:
        observed = self.steps[step]
        assert observed.value is not None
        right = self.matching.right_before(step)
        is_result = not self.matching.has_followers(step)
        after = tuple(
            each.value
            for each, before in zip(self.steps, self.ancestors, strict=True)
            if step in before and each.value is not None
        )
        return WrongValue(
            observed.value, right, observed.dtype, observed.is_unwritten, is_result, after
        )

    def _explained(self, candidates: Sequence[int]) -> tuple[int, LikelyMistake | None]:
        """Return the wrong step and its mistake: the first, unless it only rearranges its input.

        A step that no change explains may be a part of how a layer is computed, such as the windows
        of a convolution, if it has not the shape of the layer itself. Where a step that is computed
        from it is explained, that one is wrong.
        """
        first = candidates[0]
        if self.steps[first].value is None:
            return first, LikelyMistake("not_written")
        if not self.matching.depends[first] and self.matching.has_followers(first):
            dtype = precision(numbers(self.steps[first].value))
            return first, LikelyMistake("low_precision", facts={"dtype": dtype}) if dtype else None
        mistake = recognise(
            self._found(first), self.program.layers, self.tolerance, self.program.indices
        )
        if mistake is not None:
            return first, mistake
        # It stands where the layer should: to pass it by for a pooling that can be explained would
        # name the wrong step.
        if self._has_expected_shape(first):
            return first, None
        later = [each for each in candidates if first in self.ancestors[each]]
        # Windows as columns, a product, images again: that the kernel was flipped shows first in
        # the product.
        for step in later[:_TRIED]:
            if self.steps[step].value is not None:
                explained = explain(self._found(step), self.program, self.tolerance)
                if explained is not None:
                    return step, explained
        # The sums of a norm have no layer's shape, and what its function computes from them has: to
        # hold them against the norm would say that their shape is wrong.
        # A later call of the same operator is no part of this one.
        layer, is_one = self._expected(first, None), len({each.callee for each in self.steps}) == 1
        whole = (
            step
            for step in later
            if is_one and self._has_expected_shape(step) and self._expected(step, None) == layer
        )
        return next(whole, first), None

    def _has_expected_shape(self, step: int) -> bool:
        value = self.steps[step].value
        expected = self._expected(step, None)
        return (
            value is not None
            and expected is not None
            and (self.known[expected].shape == value.shape)
        )

    def _given_in_vain(self, wrong: int) -> tuple[int, LikelyMistake | None]:
        """Return the product before an unexplained step that is given its bias and gives none.

        `linear(x, w, b)` without the bias has the product's numbers, and is no right step. Where
        `relu(x, b)` is given the bias as well, that one may add it.
        """
        given = Counter(chain.from_iterable(each.arguments or () for each in self.steps))
        for step in sorted(self.ancestors[wrong]):
            place = self._next_of_match(step)
            own = [each for each in self.steps[step].arguments or () if given[each] == 1]
            is_given = sum(not varies for _, varies in own) > 1
            if place is not None and self._is_partial(step) and is_given:
                layer = self.program.layers[place]
                if layer.operation.kind == "bias":
                    return step, LikelyMistake("bias_missing", layer.name, {}, place)
        return wrong, None

    def _passed_by(self, wrong: int, mistake: LikelyMistake | None) -> LikelyMistake | None:
        """Return that what should be taken is there, and another step is taken."""
        for is_found in (taken_instead, copied_instead, parameter_taken):
            found = is_found(self.matching, wrong)
            if found is not None:
                return found
        if mistake is None or mistake.kind == "other_operand":
            return self._taken_throughout(wrong, mistake)
        if mistake.place is None or mistake.kind not in _LEFT_OUT:
            return None
        return passed_by(self.matching, wrong, mistake.place)

    def _taken_throughout(self, wrong: int, mistake: LikelyMistake | None) -> LikelyMistake | None:
        """Return which step should be taken; of two that it may be, that one is taken wrongly."""
        found = taken_throughout(self.matching, wrong)
        if found is None or mistake is None or is_vague(mistake) or mistake.place in self.matched:
            return found
        if all(found.facts[name] == mistake.facts.get(name) for name in ("taken", "wanted")):
            return found
        # `r * h` is `r * u` with `h` for `u`, and `z * h` with `r` for `z`.
        return mistake._replace(facts={})

    def _exchanged(
        self, wrong: int, mistake: LikelyMistake | None
    ) -> tuple[int, LikelyMistake] | None:
        """Return that a layer which seems to be left out is done after the wrong step."""
        is_extra = mistake is not None and mistake.kind in _TOO_MANY
        mistake = self._seemingly(mistake)
        if mistake is None or mistake.kind not in {*_LEFT_OUT, "operand_missing", "other_operand"}:
            return None
        for step, each in enumerate(self.steps):
            if wrong in each.takes and each.value is not None:
                if is_extra and self._is_done_again(step, mistake.place):
                    return None
                found = swaps(
                    mistake,
                    self._found(step),
                    self.program,
                    self.tolerance,
                    is_idle_after=self._is_idle_after(step),
                )
                if found is not None:
                    return wrong, found
        return None

    def _seemingly(self, mistake: LikelyMistake | None) -> LikelyMistake | None:
        """Return that a product is left out, where what follows it is done too early.

        A softmax too many before the last product is the one that is missing behind it.
        """
        name = "" if mistake is None else _TOO_MANY.get(mistake.kind, "")
        if mistake is None or mistake.place is None or not name:
            return mistake
        product = self.program.next_of(mistake.place)
        whole = None if product is None else whole_of(product, self.program)
        behind = None if whole is None else self.program.next_of(whole)
        if behind is None or self.program.layers[behind].operation.kind != name:
            return mistake
        return LikelyMistake("layer_left_out", place=whole)

    def _is_done_again(self, step: int, place: int | None) -> bool:
        """Say whether the layer behind `place` is done on what a step gives, as it should be."""
        behind = None if place is None else self.program.next_of(place)
        value = self.steps[step].value
        if behind is None or value is None:
            return False
        given = torch.from_numpy(numbers(value).reshape(value.shape))
        again = known(self.program.layers[behind].operation.compute(given).numpy())
        return any(
            is_equal(numbers(each.value), again, self.tolerance)
            for each in self.steps
            if step in each.takes and each.value is not None
        )

    def _is_idle_after(self, step: int) -> bool:
        """Say whether the same is done to what a step gives, and changes nothing of it."""
        one = self.steps[step]
        return any(
            step in each.takes
            and each.callee == one.callee
            and np.array_equal(each.value, one.value)
            for each in self.steps
            if one.value is not None and each.value is not None
        )

    def _may_be_moved(self, mistake: LikelyMistake | None) -> bool:
        """Say whether a mistake does not foretell the last value, and a move may."""
        kinds = {*_LEFT_OUT, *_TOO_MANY, "other_operand"}
        if mistake is not None and not (mistake.kind in kinds or is_vague(mistake)):
            return False
        if mistake is None or mistake.place is None or mistake.kind not in _LEFT_OUT:
            return True
        last, value = last_output(self.program), self.steps[-1].value
        if last is None or value is None:
            return True
        left_out = change("layer_left_out", mistake.place, same)
        found = self.program.following(left_out).get(last)
        return found is None or not is_equal(numbers(value), known(found), self.tolerance)

    def _elsewhere(self, wrong: int, mistake: LikelyMistake | None) -> LikelyMistake | None:
        """Return that a layer which is left out, or too many, stands elsewhere."""
        if mistake is not None and mistake.place is not None and mistake.kind in _LEFT_OUT:
            found = done_aside(self.matching, wrong, mistake.place)
            if found is not None:
                return found
        return moved(self.matching, wrong)

    def _would_be_twice(self, wrong: int, mistake: LikelyMistake | None) -> bool:
        """Say whether a layer that seems to be left out is done behind, on another value."""
        return (
            mistake is not None
            and mistake.kind == "layer_left_out"
            and mistake.place is not None
            and is_done_behind(self.matching, wrong, mistake.place)
        )

    def _exchanged_before(
        self, wrong: int, mistake: LikelyMistake | None
    ) -> tuple[int, LikelyMistake] | None:
        """Return that a layer which seems to be left out was done one layer before its place.

        There it changed nothing: a ReLU of what a ReLU gave.
        """
        if mistake is None or mistake.kind not in _LEFT_OUT or mistake.place is None:
            return None
        for step in sorted(self.ancestors[wrong]):
            first = self._next_of_match(step)
            if first is None:
                continue
            between = whole_of(first, self.program)
            if self.program.next_of(between) != mistake.place:
                continue
            # relu(relu(x)) + b in place of relu(relu(x) + b): both steps are right, and the second
            # should come after the sum.
            matching = self.matching
            if matching.gives_what_it_takes(step) and is_idle(matching, step, mistake.place):
                facts = exchanged(self.program, between, mistake.place, is_whole=between != first)
                return step, LikelyMistake("order_swapped", facts["layers"][0], facts, between)
        return None

    def _blamed(self, wrong: int, mistake: LikelyMistake | None) -> int:
        """Return the step that should have given the layer that was left out, if there is one.

        That is the first step after the last right layer that gives nothing but what it is given,
        or else the step that gives a layer without its bias.
        """
        kinds = {*_LEFT_OUT, "operand_missing"}
        if mistake is None or mistake.kind not in kinds or mistake.place is None:
            return wrong
        reached = [
            step
            for step in sorted(self.ancestors[wrong])
            if self._next_of_match(step) == mistake.place
        ]
        # Where a step is there that only copies, it is the one that should compute; where a product
        # is there whose bias nobody adds, the bias belongs to it.
        idle = [step for step in reached if self.matching.gives_what_it_takes(step)]
        partial = [
            step
            for step in reached
            if self._is_partial(step) or self._lacks_bias(step, wrong, mistake.place)
        ]
        partial = partial if mistake.kind in _LEFT_OUT else []
        # A function of a product and a sum is the one whose ReLU is missing, and not what takes it.
        several = [step for step in reached if self._does_several(step)]
        several = several if mistake.kind in _LEFT_OUT else []
        return next(iter(idle or partial or several), wrong)

    def _does_several(self, step: int) -> bool:
        """Say whether a step does more than one layer of what it takes."""
        place = self.matched[step]
        taken = self.program.needed_for(self.matching.right_before(step))
        done = self.program.needed_for([] if place is None else [place]) - taken
        layers = [self.program.layers[each] for each in done]
        return sum(bool(each.name) and not each.is_partial for each in layers) > 1

    def _next_of_match(self, step: int) -> int | None:
        place = self.matched[step]
        return None if place is None else self.program.next_of(place)

    def _is_partial(self, step: int) -> bool:
        place = self.matched[step]
        return place is not None and self.program.layers[place].is_partial

    def _lacks_bias(self, step: int, wrong: int, place: int) -> bool:
        """Say whether a step is a product by hand whose bias nobody is given to add it."""
        operation = self.program.layers[place].operation
        return (
            operation.kind == "bias"
            and operation.operands[0].layer == self.matched[step]
            and self.steps[wrong].arguments == frozenset()
        )

    def _without_departure(self, returned: npt.NDArray[np.generic] | None) -> Alignment:
        """Return what is wrong where every step that was seen is right."""
        seen = [step for step, each in enumerate(self.steps) if each.value is not None]
        if not seen:
            return self._alignment(0 if self.steps else None, None)
        # The run ended there. A step without a value in the middle is a tuple, and passed by.
        if seen[-1] + 1 < len(self.steps):
            return self._alignment(seen[-1] + 1, None)
        swapped = self._swapped_outputs()
        if swapped is not None:
            return swapped
        last = last_output(self.program)
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
        facts: dict[str, Any] = {"missing": missing} | left_out_facts(layer)
        if kind == "softmax_missing":
            facts["along"] = layer.value.ndim + axis_from_the_end(layer)
        mistake = LikelyMistake(kind or "layer_left_out", layer.name, facts, expected)
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
                mistake = LikelyMistake("outputs_swapped", name, facts, wanted[number])
                return self._alignment(first + number, mistake)._replace(expected=wanted[number])
        return None

    def _other_returned(self, returned: npt.NDArray[np.generic], last: int) -> Alignment:
        """Return that the right output was computed and another value returned."""
        flat = numbers(returned)
        for step in reversed(range(len(self.steps))):
            value = self.steps[step].value
            if value is not None and is_equal(flat, known(value), self.tolerance):
                # Every step is right, and `emit_output` was given another variable.
                right = self.matched.index(last)
                if step == right:
                    return self._laid_out_otherwise(step, last)
                facts = {
                    "returned": self.steps[step].variable,
                    "wanted": self.steps[right].variable,
                }
                mistake = LikelyMistake(
                    "other_step_returned", self.program.layers[last].name, facts, last
                )
                return self._alignment(step, mistake)._replace(expected=last)
        return self._alignment(None, None)

    def _laid_out_otherwise(self, step: int, last: int) -> Alignment:
        """Return that the output's numbers lie in another order: a transpose is left out."""
        mistake = explain(self._found(step), self.program, self.tolerance)
        return self._alignment(step, mistake)._replace(expected=last)

    def _alignment(self, wrong: int | None, mistake: LikelyMistake | None) -> Alignment:
        statuses = tuple(self._status(step, wrong) for step in range(len(self.steps)))
        if wrong is None:
            return Alignment(statuses, tuple(self.matched))
        before = self.matching.right_before(wrong)
        last_right = max(before, default=None)
        expected = mistake.place if mistake is not None else None
        if expected is None:
            expected = self._expected(wrong, last_right)
        elif mistake is not None and mistake.wanted == whole_of(expected, self.program):
            expected = mistake.wanted
        return Alignment(statuses, tuple(self.matched), wrong, last_right, expected, mistake)

    def _expected(self, wrong: int, last_right: int | None) -> int | None:
        """Return the next layer of the wrong value's shape, or of one like it, or the next one.

        Of several of that shape that the value nearly has, the one of which it has most numbers,
        the last of equals: a quotient rounded to zero is no product.
        """
        done = self.program.needed_for(self.matching.right_before(wrong))
        ahead = [
            place
            for place, layer in enumerate(self.program.layers)
            if place not in done and layer.name and not layer.is_partial
        ]
        # Another step has done the first of two products that stand beside each other.
        ahead = [each for each in ahead if each not in self.matched[:wrong]] or ahead
        value = self.steps[wrong].value
        shape = () if value is None else value.shape
        alike = [e for e in ahead if value is not None and self.known[e].shape == shape]
        if value is not None:
            flat = numbers(value)
            nearly = [e for e in reversed(alike) if is_equal(flat, self.known[e], _NEARLY)]
            shared = {e: near(flat, self.known[e], self.tolerance).sum() for e in nearly}
            alike = sorted(nearly, key=shared.__getitem__)[-1:] or alike
        alike = alike or [e for e in ahead if _is_near(self.known[e].shape, shape)]
        # A single function does all layers: what it returns is held against the output, and not
        # against the first layer of that shape.
        if not self.matching.has_followers(wrong):
            alike = [
                each for each in alike if self.program.layers[each].output is not None
            ] or alike
        return next(iter(alike or ahead), last_right)

    def _status(self, step: int, wrong: int | None) -> Status:
        if step == wrong:
            return "wrong"
        if self.matched[step] is not None:
            return "right"
        if step in self.matching.redeemed or not self.matching.depends[step]:
            return "unknown"
        if wrong is not None and (step > wrong or wrong in self.ancestors[step]):
            return "follows"
        return "unknown"


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Say whether two shapes differ along one axis alone."""
    return len(one) == len(other) and sum(n != m for n, m in zip(one, other, strict=True)) == 1
