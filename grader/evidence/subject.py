"""What is scheduled, timed and replayed: the convolution of a weight, or a computation's function.

The convolution is found by its weight in a model, whatever is around it. Without a weight it is
the PrimFunc that computes what the part's computation says, and there need not be a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from grader.assignment import ArgumentTable, Comparison, Computation, TensorTable
from grader.errors import CourseError
from grader.evidence.case import Problem
from grader.evidence.updates import find_updates, holds_weight
from grader.ir.facts import Argument, BufferFacts, Call, FunctionFacts, ModuleFacts
from grader.language import say
from grader.messages.frames import BFLOAT16

Shape = tuple[int, ...]

NO_FUNCTION = Problem(
    say("no-tir-function-module-takes-arguments"),
    say("keep-shapes-dtype-and-order-parameters"),
    code="signature",
)
FEW = 4
NO_IMAGES = say("has-no-argument-that-could-images")


@dataclass(frozen=True)
class Subject:
    """What a part's schedule is of. `weight` is the convolution's shape, or empty.

    Raises CourseError where it is empty and the part has no computation that can be timed: with one
    output, and without bfloat16.
    """

    weight: Shape
    comparison: Comparison

    def __post_init__(self) -> None:
        if self.weight:
            return
        if not isinstance(self.comparison, Computation):
            raise CourseError(
                say("schedule-check-has-no-weight-and-part"),
                say("give-one-them-say-which-function-scheduled"),
            )
        tensors = (*self.comparison.arguments, *self.comparison.outputs)
        if len(self.comparison.outputs) != 1 or BFLOAT16 in {each.dtype for each in tensors}:
            raise CourseError(
                say("computation-cannot-schedules", id=str(self.comparison.id)),
                say("give-one-output-and-arrays-another-type"),
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
                say("keep-convolution-function-input-weight-and-output"),
                code="signature",
            )
        return convolution_arrays(images, self.weight)

    def tables(self, shapes: dict[str, Shape]) -> tuple[ArgumentTable, ...]:
        """Return the arrays of these shapes as the assignment has them: their dtype and range."""
        if self.weight:
            return tuple(ArgumentTable(shape) for shape in shapes.values())
        return self.computation.arguments

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


# --- by a computation -----------------------------------------------------------------------------
# Finding the TIR function that computes what is asked for: by what it takes, not by its name.


def find_function(facts: ModuleFacts, computation: Computation) -> FunctionFacts | None:
    """Return the PrimFunc that takes a computation's arguments and then its outputs.

    Where several do, the one called like the computation (with `_` for `-`), else the first.
    """
    wanted = (*computation.arguments, *computation.outputs)
    fitting = [each for each in facts.functions.values() if _takes(each, wanted)]
    name = computation.id.replace("-", "_")
    return next((each for each in fitting if each.name == name), next(iter(fitting), None))


def _takes(function: FunctionFacts, wanted: tuple[TensorTable, ...]) -> bool:
    return len(function.parameters) == len(wanted) and all(
        fits(parameter, table) for parameter, table in zip(function.parameters, wanted, strict=True)
    )


def fits(buffer: BufferFacts, table: TensorTable) -> bool:
    """Say whether a buffer has a table's shape and dtype.

    An axis that varies from case to case may have a symbolic extent.
    """
    shape, named = buffer.tensor.shape, [bool(each) for each in table.axes]
    if shape is None or len(shape) != len(table.shape) or buffer.tensor.dtype != table.dtype:
        return False
    named += [False] * (len(shape) - len(named))
    triples = zip(shape, table.shape, named, strict=True)
    return all(have == want or (free and isinstance(have, str)) for have, want, free in triples)


# --- by a weight ----------------------------------------------------------------------------------
# Finding the function that does the convolution: by the weight it is given, not by its name.
#
# The weight may reach it in another shape or layout: what functions make of constants alone stands
# for them, and a constant of as many elements stands for the weight where none has its very shape.


NO_CONVOLUTION = Problem(
    say("no-tir-function-module-takes-convolutions-weight"),
    say("keep-convolution-as-tir-function-that-takes"),
    code="unmet",
)


def takes_weight(call: Call, weight: tuple[int, ...]) -> bool:
    """Say whether a call is given a constant of the weight's shape."""
    return any(_is_weight(argument, weight, exact=True) for argument in call.arguments)


def takes_as_many(call: Call, weight: tuple[int, ...]) -> bool:
    """Say whether a call is given a constant of as many numbers as the weight has."""
    return any(_is_weight(argument, weight, exact=False) for argument in call.arguments)


def find_weight_call(facts: ModuleFacts, weight: tuple[int, ...]) -> Call | None:
    """Return the first call in `main` that is given the weight, and data to use it on.

    Where there is none, the first one that is given the weight at all.
    """
    calls = _weight_calls(facts, weight)
    # Where the module itself reshapes the weight, the first call that is given it computes with
    # nothing else.
    return next((call for call in calls if input_places(facts, call)), next(iter(calls), None))


def find_convolution(facts: ModuleFacts, weight: tuple[int, ...]) -> FunctionFacts | None:
    """Return the PrimFunc that is given the weight, or None when no PrimFunc is."""
    call = find_weight_call(facts, weight)
    if call is None or call.kind != "tir":
        return None
    return facts.functions.get(call.callee)


def find_convolutions(facts: ModuleFacts, weight: tuple[int, ...]) -> tuple[FunctionFacts, ...]:
    """Return every PrimFunc that is given the weight, each once, if the first such call is one.

    One that only prepares the weight, when others use it, is none of them. One that is given as
    many numbers in another shape is, if it does as much work with them as the convolution needs:
    the weight may have been handed over twice.
    """
    if find_convolution(facts, weight) is None:
        return ()
    calls = _weight_calls(facts, weight)
    using = [call for call in calls if input_places(facts, call)] or calls
    names = dict.fromkeys(call.callee for call in using)
    names |= dict.fromkeys(_likewise(facts, weight))
    return tuple(facts.functions[name] for name in names if name in facts.functions)


def _likewise(facts: ModuleFacts, weight: tuple[int, ...]) -> list[str]:
    """Return the functions that convolve with a constant of as many elements as the weight."""
    return [
        call.callee
        for call in facts.calls
        if call.callee in facts.functions
        and takes_as_many(call, weight)
        # Constants of as many numbers are no rare thing: one that is only added does less than a
        # convolution.
        and find_updates(facts.functions[call.callee], weight)
    ]


def input_places(facts: ModuleFacts, call: Call) -> tuple[int, ...]:
    """Return the places of the arguments that are made of more than constants."""
    prepared = _prepared(facts)
    return tuple(
        place
        for place, argument in enumerate(call.arguments)
        if not (_is_constant(argument) or argument.source in prepared)
    )


def _prepared(facts: ModuleFacts) -> set[int]:
    """Return the places of the calls that are given nothing but constants, or what these give."""
    places: set[int] = set()
    for place, call in enumerate(facts.calls):
        known = [_is_constant(each) or each.source in places for each in call.arguments]
        if known and all(known):
            places.add(place)
    return places


def _weight_calls(facts: ModuleFacts, weight: tuple[int, ...]) -> list[Call]:
    """Return the calls that are given the weight, or what is made of it and other constants.

    Those that the output depends on, where there are any: another may be there for show.
    """
    # A fast convolution whose result nobody uses was found first, and timed.
    used = _used(facts)
    return _weight_calls_among(facts, weight, used) or _weight_calls_among(
        facts, weight, set(range(len(facts.calls)))
    )


def _weight_calls_among(
    facts: ModuleFacts, weight: tuple[int, ...], places: set[int]
) -> list[Call]:
    among = [(place, call) for place, call in enumerate(facts.calls) if place in places]
    # As many numbers in another shape may be another parameter: they stand for the weight only
    # where nothing has its shape.
    exact = any(takes_weight(call, weight) for _, call in among)
    prepared, held = _prepared(facts), set[int]()
    calls = []
    for place, call in among:
        if any(
            each.source in held or _is_weight(each, weight, exact=exact) for each in call.arguments
        ):
            calls.append(call)
            # `reshape(weight)` holds the weight. A call that takes images too holds a result.
            held |= {place} & prepared
    return calls


def _used(facts: ModuleFacts) -> set[int]:
    """Return the places of the calls that the output of `main` depends on, as far as is known."""
    pending = [] if facts.result is None else [facts.result.source]
    used: set[int] = set()
    while pending:
        place = pending.pop()
        if place is not None and place not in used:
            used.add(place)
            pending.extend(argument.source for argument in facts.calls[place].arguments)
    return used


def _is_weight(argument: Argument, weight: tuple[int, ...], *, exact: bool) -> bool:
    """Say whether an argument is the weight: of its shape, or else of as many elements."""
    shape = None if argument.tensor is None else argument.tensor.shape
    is_alike = shape == weight if exact else holds_weight(shape, weight)
    return _is_constant(argument) and is_alike


def _is_constant(argument: Argument) -> bool:
    return argument.kind == "constant"
