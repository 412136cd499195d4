"""Steps of a student's function beside the layers of PyTorch: which have the same values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.diagnosis.layers import (
    Change,
    KnownValue,
    Program,
    is_equal,
    is_rearranged,
    known,
    numbers,
)
from grader.evidence.operations import SIDE_KINDS

_SWALLOWING = frozenset({"softmax", *SIDE_KINDS})

_ROUNDED = 0.01
"""How far a rounded parameter is off at most, relative to the largest: bfloat16 by 2**-9."""


class Observed(NamedTuple):
    """One step of a student's function in one call: its variable, what was called, its value.

    `value` is None where the step was not reached or has no value. `takes` are the numbers of
    earlier steps that it is computed from, `takes_input` says that it takes an argument of the
    function directly. `dtype` is what the module computes in; `is_unwritten` says that what was
    called left its output as it was. `arguments` are the names of the function's arguments that it
    takes, each with whether it varies over the calls; None where that is not known.
    """

    variable: str
    callee: str
    value: npt.NDArray[np.generic] | None
    takes: tuple[int, ...] = ()
    takes_input: bool = False
    dtype: str = "float32"
    is_unwritten: bool = False
    arguments: frozenset[tuple[str, bool]] | None = None


class Matching:
    """The steps of one call beside the layers of PyTorch.

    `matched` has for each step the place of its layer, or None. `ancestors` are all steps that it
    is computed from, `depends` says that one of them, or it, takes an argument of the function.
    """

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
        self.given = _inputs(program, only_arguments=True)

    def _match(self, step: int) -> int | None:
        """Return the layer whose value a step has; of several, the next one on its way."""
        value = self.steps[step].value
        if value is None:
            return None
        flat = numbers(value)
        if np.isnan(flat).any():
            return None
        places = [
            place
            for place, each in enumerate(self.known)
            if self.program.layers[place].name and is_equal(flat, each, self.tolerance)
        ]
        places = places or [
            place
            for place, each in enumerate(self.known)
            if self.program.layers[place].name
            and each.shape != value.shape  # of the same shape, it is a wrong value
            and is_rearranged(value, each, self.tolerance)
        ]
        # Where one item outweighs all others, a softmax has the numbers of its exponentials.
        places = [each for each in places if not self.program.is_side(each)] or places
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
            before = self.ancestors[step]
            if self.gives_what_it_takes(step):
                # `x - 0` is right, whoever made the 0.
                before = frozenset(each for each in before if not self._is_zeros(each))
            taken = operation.operands[0].layer
            if taken is None or operation.kind not in _SWALLOWING:
                found |= before
            else:
                found |= {each for each in before if self._comes_after(each, taken)}
        return frozenset(found)

    def _is_zeros(self, step: int) -> bool:
        value = self.steps[step].value
        return value is not None and not value.any()

    def _comes_after(self, step: int, place: int) -> bool:
        return any(self.matched[each] == place for each in self.ancestors[step])

    def departs(self, step: int) -> bool:
        """Say whether a step has a value that it should not have, as far as later steps show."""
        if self.matched[step] is not None or step in self.redeemed:
            return False
        if not self.depends[step]:
            # Weights that are transposed or reshaped first are no step of the input's. But in
            # bfloat16 they are the first that is wrong, and all else follows.
            return self._is_rounded_parameter(step)
        if self.steps[step].value is None:
            return self.steps[step].is_unwritten
        # A weight that `main` takes as an argument may be transposed by a separate step. What is
        # returned as it was given is no preparation.
        return not (self._is_prepared(step) and self._may_be_taken(step))

    def is_wrong_constant(self, step: int) -> bool:
        """Say whether a step is a result that depends on nothing, and is no value of PyTorch's."""
        if self.depends[step] or self.matched[step] is not None or self.has_followers(step):
            return False
        return self.steps[step].value is not None and not self._is_given(step)

    def _is_prepared(self, step: int) -> bool:
        """Say whether a step does no more than lay the one thing that it takes out otherwise.

        A linear layer that gives its bias alone has a parameter's value, too, and takes the input.
        """
        around = [self.steps[each].arguments for each in (step, *self.ancestors[step])]
        if None in around:
            return self._is_given(step)
        taken = frozenset[tuple[str, bool]]().union(*(each for each in around if each))
        if len(taken) > 1:
            return False
        if all(varies for _, varies in taken):
            return self._is_given(step, self.given)
        return self._is_given(step)

    def _is_given(self, step: int, inputs: Sequence[KnownValue] | None = None) -> bool:
        """Say whether a step is one of some inputs, or of all, perhaps in another layout."""
        value = self.steps[step].value
        assert value is not None
        flat = numbers(value)
        return any(
            is_equal(flat, each, self.tolerance) or is_rearranged(value, each, self.tolerance)
            for each in (self.inputs if inputs is None else inputs)
        )

    def _is_rounded_parameter(self, step: int) -> bool:
        """Say whether a step is a parameter, in whatever layout, whose numbers were rounded."""
        value = self.steps[step].value
        if value is None or self._is_given(step) or not self.has_followers(step):
            return False
        flat = numbers(value)
        return any(
            not each.is_trivial
            and (is_equal(flat, each, _ROUNDED) or is_rearranged(value, each, _ROUNDED))
            for each in self.inputs
        )

    def has_followers(self, step: int) -> bool:
        """Say whether anything is computed from a step."""
        return any(step in before for before in self.ancestors)

    def open_layers_of(self, one: Change, value: npt.NDArray[Any]) -> Iterator[int]:
        """Yield the layers that no step does and that would have these numbers with a change."""
        flat = numbers(value)
        for place, found in self.program.changed(one, flat.size):
            is_open = self.program.layers[place].name and place not in self.matched
            if is_open and is_equal(flat, known(found), self.tolerance):
                yield place

    def _may_be_taken(self, step: int) -> bool:
        """Say whether anything is computed from a step, or from what is not known.

        A block that is tensorized takes `B_global`, and nothing of it is seen.
        """
        later = self.steps[step + 1 :]
        is_open = any(not (each.takes or each.takes_input) for each in later)
        return self.has_followers(step) or is_open

    def right_before(self, step: int) -> tuple[int, ...]:
        """Return the layers whose right values a step is computed from, by whatever way."""
        places = [self.matched[each] for each in sorted(self.ancestors[step])]
        return tuple(
            each for each in places if each is not None and not self.known[each].is_trivial
        )

    def gives_what_it_takes(self, step: int) -> bool:
        """Say whether a step changes nothing of what it takes, not even the shape."""
        value = self.steps[step].value
        for each in self.steps[step].takes:
            other = self.steps[each].value
            if self.matched[each] == self.matched[step] and other is not None:
                return value is not None and other.shape == value.shape
        return False


def _ancestors(observed: Sequence[Observed]) -> tuple[frozenset[int], ...]:
    """Return for each step all those that it is computed from."""
    found: list[frozenset[int]] = []
    for each in observed:
        found.append(frozenset(each.takes).union(*(found[other] for other in each.takes)))
    return tuple(found)


def _inputs(program: Program, *, only_arguments: bool = False) -> list[KnownValue]:
    """Return the arguments of all layers, and their parameters unless those are not wanted."""
    return [
        known(operand.value.numpy())
        for layer in program.layers
        for operand in layer.operation.operands
        if operand.layer is None and (operand.argument is not None or not only_arguments)
    ]
