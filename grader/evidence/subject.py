"""What is scheduled, timed and replayed: the convolution of a weight, or a computation's function.

The convolution is found by its weight in a model, whatever is around it. Without a weight it is
the PrimFunc that computes what the part's computation says, and there need not be a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from grader.assignment import Comparison, Computation
from grader.errors import CourseError
from grader.evidence.case import Problem
from grader.evidence.convolution import (
    NO_CONVOLUTION,
    find_convolution,
    find_weight_call,
    input_places,
)
from grader.evidence.functions import find_function
from grader.ir.facts import FunctionFacts, ModuleFacts
from grader.language import say

Shape = tuple[int, ...]

NO_FUNCTION = Problem(
    say(
        "No TIR function of the module takes the arguments that are asked for, and after them the"
        " output."
    ),
    say("Keep the shapes, the dtype and the order of the parameters as the notebook gives them."),
    code="signature",
)
FEW = 4
NO_IMAGES = say("`{name}` has no argument that could be the images.")


@dataclass(frozen=True)
class Subject:
    """What a part's schedule is of. `weight` is the convolution's shape, or empty.

    Raises CourseError where it is empty and the part has no computation that can be timed: of
    float32 arrays, with one output.
    """

    weight: Shape
    comparison: Comparison

    def __post_init__(self) -> None:
        if self.weight:
            return
        if not isinstance(self.comparison, Computation):
            raise CourseError(
                "A check of a schedule has no `weight`, and its part no `computation`.",
                "Give one of them: it says which function is scheduled. See docs/assignment.md.",
            )
        tensors = (*self.comparison.arguments, *self.comparison.outputs)
        if len(self.comparison.outputs) != 1 or {each.dtype for each in tensors} != {"float32"}:
            raise CourseError(
                f"Computation {self.comparison.id} cannot be that of a schedule.",
                "Give it float32 arguments and one output, or no check of a schedule.",
            )

    @property
    def computation(self) -> Computation:
        """Return the computation of a subject without a weight."""
        assert isinstance(self.comparison, Computation)
        return self.comparison

    @property
    def missing(self) -> Problem:
        """Return what is to be said of a module without it."""
        return NO_CONVOLUTION if self.weight else NO_FUNCTION

    def find(self, facts: ModuleFacts) -> FunctionFacts | None:
        """Return the function of a module, None where it has none."""
        if self.weight:
            return find_convolution(facts, self.weight)
        return find_function(facts, self.computation)

    def arrays(self, function: FunctionFacts) -> dict[str, Shape] | Problem:
        """Return the arrays that it may take, by name and in order, with the shapes of one call.

        The first is another one at every call.
        """
        if not self.weight:
            return array_shapes(self.computation)
        images = _images(function, self.weight)
        if images is None:
            return Problem(
                say(NO_IMAGES, name=function.name),
                say("Keep the convolution a function of the input, the weight and the output."),
                code="signature",
            )
        return convolution_arrays(images, self.weight)

    def example(self) -> dict[str, Shape]:
        """Return the arrays of an unscheduled solution, of a few images where it has images."""
        if not isinstance(self.comparison, Computation):
            return convolution_arrays((FEW, *self.comparison.input_shape), self.weight)
        return array_shapes(self.comparison)

    def data(self, facts: ModuleFacts, function: FunctionFacts) -> Data | None:
        """Return where a convolution has its images, None where that is not clear.

        Only a convolution's batch can be made larger: of another function it is not known how.
        """
        call = find_weight_call(facts, self.weight) if self.weight else None
        places = input_places(facts, call) if call is not None else ()
        if len(places) != 1 or places[0] >= len(function.parameters):
            return None
        shape = function.parameters[places[0]].tensor.shape
        batch = shape[0] if shape else None
        return Data(places[0], batch) if isinstance(batch, int) else None


class Data(NamedTuple):
    """The place among a function's parameters of its images, and how many there are."""

    place: int
    batch: int


def convolution_arrays(images: Shape, weight: Shape) -> dict[str, Shape]:
    """Return the arrays of a convolution of some images."""
    return {"data": images, "weight": weight, "bias": weight[:1]}


def array_shapes(computation: Computation) -> dict[str, Shape]:
    """Return a computation's arguments by name; one without a name goes by its place."""
    return {
        each.name or f"argument{place}": each.shape
        for place, each in enumerate(computation.arguments)
    }


def _images(function: FunctionFacts, weight: Shape) -> Shape | None:
    """Return the images' shape: the four-dimensional parameter with the weight's input channels."""
    for buffer in function.parameters:
        shape = buffer.tensor.shape
        if shape is None or shape == weight or len(shape) != len(weight):
            continue
        extents = tuple(extent for extent in shape if isinstance(extent, int))
        if len(extents) != len(shape) or extents[1] != weight[1]:
            continue
        if extents[0] != 1 or min(extents[2:]) > 1:  # (1, 1, 1, 1) would be a bias
            return extents
    return None
