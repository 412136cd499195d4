"""How a candidate is called: its function, and the arguments of every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from types import ModuleType
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from grader.assignment import Comparison, OracleOptions, PartTable
from grader.data import DataSet
from grader.evidence.case import FloatArray, Problem
from grader.evidence.named_cases import NamedCase
from grader.evidence.operations import Layer, one_thread
from grader.evidence.problems import NO_MAIN
from grader.evidence.recorder import record, replay
from grader.ir.facts import BufferFacts, ModuleFacts
from grader.language import NOTHING, Text, foreign, in_a_row, say
from grader.messages.frames import pack_array
from grader.messages.runner import RunArgument, TensorSpec

Values = npt.NDArray[np.generic]

Wanted = tuple[int | None, ...]
"""The shape of an argument; None for an extent that is free."""


@dataclass(frozen=True)
class Given:
    """One argument. Where it `varies`, `array` has a leading axis over the calls.

    `redraw` makes other values of the same shape from a generator; None for what stays the same.
    """

    name: Text
    array: Values
    varies: bool = True
    redraw: Callable[[np.random.Generator, tuple[int, ...]], Values] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape that one call sees: without the axis over calls, if there is one."""
        return self.array.shape[1:] if self.varies else self.array.shape


@dataclass(frozen=True)
class Arrangement:
    """All calls of a candidate's function.

    `outputs` are what a function in destination-passing style writes; empty for a Relax function
    with one output. `samples` of the calls' results count, the rest only fills up. `is_batched`:
    each call's result has an axis over samples.
    """

    function: str
    arguments: tuple[Given, ...]
    samples: int
    outputs: tuple[TensorSpec, ...] = ()
    is_batched: bool = False

    def packed(self) -> tuple[RunArgument, ...]:
        """Return the arguments as a message carries them."""
        return tuple(RunArgument(pack_array(each.array), each.varies) for each in self.arguments)

    def first(self, calls: int) -> Arrangement:
        """Return the first calls alone, or all where there are fewer."""
        return self._with(lambda each: each.array[:calls])

    def followed_by(self, other: Arrangement) -> Arrangement:
        """Return these calls and then another arrangement's, of the same function."""
        theirs = iter(other.arguments)
        return self._with(lambda each: np.concatenate([each.array, next(theirs).array]))

    def redrawn(self, generator: np.random.Generator) -> Arrangement:
        """Return as many calls, with the inputs that can be drawn drawn anew from `generator`."""
        return self._with(
            lambda each: (
                each.array if each.redraw is None else each.redraw(generator, each.array.shape)
            )
        )

    def chosen(self, rows: Sequence[int]) -> tuple[Arrangement, tuple[int, ...]]:
        """Return one call on chosen samples, and which samples it has, one for each row.

        `rows` are places among the samples. Of a batch, they come first, as many as fit; others
        fill it up. Without a batch the first one is taken. Raises IndexError for a place that there
        is not, or for none.
        """
        size = self.batch
        wanted = list(dict.fromkeys(rows))[:size]
        if not wanted or min(wanted) < 0 or max(wanted) >= self.samples:
            raise IndexError(f"samples {wanted} of {self.samples}")
        others = (place for place in range(self.samples) if place not in wanted)
        samples = (*wanted, *islice(others, size - len(wanted)))
        filled = (*samples, *range(self.samples, self.samples + size - len(samples)))

        def choose(each: Given) -> Values:
            if not self.is_batched:
                return each.array[list(filled)]
            flat = each.array.reshape(-1, *each.shape[1:])
            return flat[list(filled)][None]

        return replace(self._with(choose), samples=len(samples)), samples

    @property
    def batch(self) -> int:
        """Return how many samples one call takes: 1 where the function has no batch."""
        if not self.is_batched:
            return 1
        return next(each.shape[0] for each in self.arguments if each.varies)

    def _with(self, change: Callable[[Given], Values]) -> Arrangement:
        arguments = tuple(
            replace(each, array=change(each)) if each.varies else each for each in self.arguments
        )
        return replace(self, arguments=arguments)


def match_inputs(
    inputs: tuple[BufferFacts, ...], given: tuple[Given, ...]
) -> tuple[Given, ...] | Problem:
    """Return the arguments in the order in which a Relax function takes them.

    Where their shapes tell them apart, any order will do; otherwise it is the one asked for.
    """
    if len(inputs) != len(given):
        return Problem(
            say("main-takes-arguments", count=len(inputs)), wanted(given), code="signature"
        )
    # Who takes the weights before the images has computed the same.
    if len({each.shape for each in given}) == len(given):
        by_shape = {each.shape: each for each in given}
        given = tuple(
            by_shape.get(_static(buffer), each) for buffer, each in zip(inputs, given, strict=True)
        )
    for buffer, each in zip(inputs, given, strict=True):
        if not _is_right(buffer, each):
            tensor = buffer.tensor
            reason = say(
                "main-takes-tensor-shape-and-dtype-sentence",
                shape=str(tensor.shape),
                dtype=tensor.dtype,
                name=buffer.name,
            )
            return Problem(reason, wanted(given), code="signature")
    return given


def wanted(given: tuple[Given, ...]) -> Text:
    """Return the sentence on what `main` must take."""
    return say("main-must-take", arguments=spell(given))


def spell(given: tuple[Given, ...]) -> Text:
    """Return the names, dtypes and shapes of arguments, in order."""
    return in_a_row(
        say("name-tensor", name=each.name, tensor=f"{each.array.dtype}{list(each.shape)}")
        for each in given
    )


def _static(buffer: BufferFacts) -> tuple[int, ...]:
    shape = buffer.tensor.shape or ()
    return tuple(extent for extent in shape if isinstance(extent, int))


def _is_right(buffer: BufferFacts, given: Given) -> bool:
    shape, dtype = buffer.tensor.shape, buffer.tensor.dtype
    # A dtype or an extent that `main` leaves open is the caller's.
    if dtype not in (str(given.array.dtype), "") or shape is None or len(shape) != len(given.shape):
        return False
    pairs = zip(shape, given.shape, strict=True)
    return all(not isinstance(extent, int) or extent == have for extent, have in pairs)


# --- the model's answers --------------------------------------------------------------------------
# The answers: what PyTorch gives for the test set and for hidden inputs of this run.
#
# Nothing of this module's values ever leaves the referee but the inputs.


DYNAMIC_BATCH = 4
"""Batch size used where `main` leaves it open; the assignment's own notebooks use it too."""

BATCH_LIMIT = 4096
"""Largest batch that `main` may take: the last one is filled up with inputs of our own."""

_FILLERS = 64

LAYER_SAMPLES = 64
"""Largest batch for which the values of all layers are kept: 11 MB for each convolution."""

_RECORDED = 4
"""Samples for which the course's function is recorded: too few for it to divide them up."""


class Oracle(Protocol):
    """Expected outputs of one grading run, which gradings of many submissions may share."""

    @property
    def options(self) -> Comparison:
        """Return tolerances, dtype and shape that outputs are compared by."""

    @property
    def desired(self) -> FloatArray:
        """Return the right outputs, shape (samples, *output shape)."""

    @property
    def from_test_set(self) -> npt.NDArray[np.bool_]:
        """Return which samples are test images, bool (samples,); the others are hidden inputs."""

    @property
    def cases(self) -> tuple[NamedCase, ...]:
        """Return the cases that have a name, by which samples these are."""

    @property
    def groups(self) -> Sequence[Oracle]:
        """Return the oracles for each of the shapes that samples have: often only itself.

        The first is itself: the samples of all that is not asked for by group.
        """

    @property
    def extents(self) -> Text:
        """Return which shapes its samples have, where there are others."""

    def shapes(self, part: PartTable) -> tuple[Wanted, ...]:
        """Return the shapes of a part's arguments."""

    def arrange(self, part: PartTable, facts: ModuleFacts | None) -> Arrangement | Problem:
        """Return how a candidate of a part is to be called; without facts it is Python."""

    def layers(self, rows: Sequence[int]) -> tuple[Layer, ...]:
        """Return what PyTorch does on the samples at these places: of a case, the first alone."""

    def layers_for(self, arguments: Sequence[Values]) -> tuple[Layer, ...]:
        """Return what PyTorch does in one call: on a batch, or on the arguments of one case.

        There is nothing for a batch that is too large to keep the values of all layers.
        """


class Workload(Protocol):
    """The answers for what is timed."""

    def workload(self, variant: str, *arrays: FloatArray) -> FloatArray:
        """Return the right outputs of the timed function; the first array is a ring of inputs."""


class ModelOracle:
    """The answers for the model of `[oracle]`: a batch of samples in, a batch of outputs out.

    `generator` is seeded with the run's secret seed. Test images and hidden inputs are mixed in an
    order of this run, so that a module cannot know which is which. The first of them hold far more
    hidden inputs than the rest: a part that is run on few samples is tried on both. `places` has
    the place of each test image in the test set, and beyond that numbers for hidden inputs.
    """

    cases: tuple[NamedCase, ...] = ()
    extents = NOTHING

    @property
    def groups(self) -> tuple[Oracle, ...]:
        """Return itself alone: a batch is divided into batches of one size."""
        return (self,)

    def __init__(
        self,
        module: ModuleType,
        options: OracleOptions,
        data: DataSet,
        generator: np.random.Generator,
    ) -> None:
        self._module = module
        self._parameters = data.parameters
        self.data = data
        self.options = options
        images = data.inputs().reshape(-1, *options.input_shape)
        hidden = self._draw(generator, (options.hidden_inputs, *options.input_shape))
        order = _mixed(len(images), len(hidden), generator)
        self.inputs = np.concatenate([images, hidden])[order]
        self.inputs.setflags(write=False)
        self.places = order
        self.from_test_set: npt.NDArray[np.bool_] = order < len(images)
        self._filler = self._draw(generator, (_FILLERS, *options.input_shape))

    def _draw(
        self, generator: np.random.Generator, shape: tuple[int, ...]
    ) -> npt.NDArray[np.float32]:
        scale = np.float32(self.options.hidden_scale)
        return np.asarray(scale * generator.standard_normal(shape, dtype=np.float32))

    @cached_property
    def desired(self) -> FloatArray:
        """PyTorch's outputs in double precision, shape (samples, *output shape)."""
        private = self.inputs.copy()
        desired = cast(FloatArray, self._module.expected(self._parameters, private))
        desired.setflags(write=False)
        return desired

    def layers(self, rows: Sequence[int]) -> tuple[Layer, ...]:
        """Return what PyTorch does on a batch of the samples at these places."""
        return self.layers_for([self.inputs[list(rows)]])

    def layers_for(self, arguments: Sequence[Values]) -> tuple[Layer, ...]:
        """Return what PyTorch does on a batch, (batch, *input shape); nothing for a large one."""
        if len(arguments[0]) > LAYER_SAMPLES:
            return ()
        few = [each[:_RECORDED].copy() for each in arguments]
        with one_thread():
            layers = record(lambda: self._module.expected(self._parameters, few[0]), few)
            return layers if len(arguments[0]) <= _RECORDED else replay(layers, arguments)

    def shapes(self, part: PartTable) -> tuple[Wanted, ...]:
        """Return the shapes of `main`'s arguments: a batch of any size, and the parameters."""
        parameters = (self._parameters[each].shape for each in part.parameters)
        return ((None, *self.options.input_shape), *parameters)

    def arrange(self, part: PartTable, facts: ModuleFacts | None) -> Arrangement | Problem:
        """Return calls on all inputs, or on the first `samples` of them, a batch at a time."""
        batch = 1 if facts is None else self._batch(part, facts)
        if isinstance(batch, Problem):
            return batch
        samples = min(part.samples or len(self.inputs), len(self.inputs))
        image = Given(say("the-input"), self.batches(batch, samples), redraw=self._draw)
        fixed = [
            Given(foreign(each), self._parameters[each], varies=False) for each in part.parameters
        ]
        arguments = (image, *fixed)
        if facts is None:
            output = TensorSpec("float32", (batch, *self.options.output_shape))
            return Arrangement("main", arguments, samples, (output,), is_batched=True)
        matched = match_inputs(facts.inputs, arguments)
        if isinstance(matched, Problem):
            return matched
        return Arrangement("main", matched, samples, is_batched=True)

    def batches(self, batch: int, samples: int | None = None) -> npt.NDArray[np.float32]:
        """Return (batches, batch, *input shape); more hidden inputs fill up the last batch."""
        inputs = self.inputs[:samples]
        missing = -len(inputs) % batch
        filler = np.resize(self._filler, (missing, *self.options.input_shape))
        return np.concatenate([inputs, filler]).reshape(-1, batch, *self.options.input_shape)

    def _batch(self, part: PartTable, facts: ModuleFacts) -> int | Problem:
        """Return the batch that `main` takes, or what is wrong with its signature."""
        if not facts.has_main:
            return NO_MAIN
        shape = ", ".join(map(str, self.options.input_shape))
        hint = say(
            "main-must-take", arguments=", ".join([f"float32 (batch, {shape})", *part.parameters])
        )
        if len(facts.inputs) != 1 + len(part.parameters):
            return Problem(
                say("main-takes-arguments", count=len(facts.inputs)), hint, code="signature"
            )
        # The images are the argument whose shape is no parameter's, wherever it stands.
        taken = {self._parameters[each].shape for each in part.parameters}
        left = [each for each in facts.inputs if each.tensor.shape not in taken]
        tensor = (left or facts.inputs)[0].tensor
        if not self._is_input(tensor.shape) or tensor.dtype not in ("float32", ""):
            reason = say(
                "main-takes-tensor-shape-and-dtype", shape=str(tensor.shape), dtype=tensor.dtype
            )
            return Problem(reason, hint, code="signature")
        extent = (tensor.shape or (0,))[0]
        batch = extent if isinstance(extent, int) else DYNAMIC_BATCH
        if not 1 <= batch <= BATCH_LIMIT:
            return Problem(
                say("main-takes-batch", batch=batch),
                say("take-one-1", limit=BATCH_LIMIT),
                code="signature",
            )
        return batch

    def _is_input(self, shape: tuple[int | str, ...] | None) -> bool:
        return shape is not None and shape[1:] == tuple(self.options.input_shape)


def _mixed(images: int, hidden: int, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return an order of all images and, after them, all hidden inputs.

    Each goes to a random place, hidden inputs to the square of one. Of the first samples, a share t
    of all images, there are then t * images images and sqrt(t) * hidden hidden inputs: with 10,000
    images and 256 hidden inputs about 10 hidden inputs among 24, and 80 among 1,000.
    """
    places = generator.random(images + hidden)
    # Squares of random numbers are small: without them a part that is run on 24 samples would see
    # no hidden input in every other run.
    places[images:] **= 2
    return np.argsort(places)
