"""How a candidate is called: its function, and the arguments of every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from grader.evidence.case import Problem
from grader.ir.facts import BufferFacts
from grader.language import Text, in_a_row, say
from grader.messages import RunArgument, TensorSpec, pack_array

Values = npt.NDArray[np.generic]


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
        """Return the shape that one call sees."""
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

    def first(self, calls: int, repeated: int = 1) -> Arrangement:
        """Return the first calls alone, `repeated` times one after the other."""
        return self._with(lambda each: np.concatenate([each.array[:calls]] * repeated))

    def redrawn(self, generator: np.random.Generator) -> Arrangement:
        """Return as many calls with other inputs."""
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
        """Return how many samples one call takes."""
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
            say("`main` takes {count} arguments.", count=len(inputs)),
            wanted(given),
            code="signature",
        )
    if len({each.shape for each in given}) == len(given):
        by_shape = {each.shape: each for each in given}
        given = tuple(
            by_shape.get(_static(buffer), each) for buffer, each in zip(inputs, given, strict=True)
        )
    for buffer, each in zip(inputs, given, strict=True):
        if not _is_right(buffer, each):
            tensor = buffer.tensor
            reason = say(
                "`main` takes a tensor of shape {shape} and dtype {dtype} as `{name}`.",
                shape=str(tensor.shape),
                dtype=tensor.dtype,
                name=buffer.name,
            )
            return Problem(reason, wanted(given), code="signature")
    return given


def wanted(given: tuple[Given, ...]) -> Text:
    """Say what `main` must take."""
    spelled = [
        say("{name} {tensor}", name=each.name, tensor=f"{each.array.dtype}{list(each.shape)}")
        for each in given
    ]
    return say("`main` must take {arguments}.", arguments=in_a_row(spelled))


def _static(buffer: BufferFacts) -> tuple[int, ...]:
    shape = buffer.tensor.shape or ()
    return tuple(extent for extent in shape if isinstance(extent, int))


def _is_right(buffer: BufferFacts, given: Given) -> bool:
    shape, dtype = buffer.tensor.shape, buffer.tensor.dtype
    if dtype not in (str(given.array.dtype), "") or shape is None or len(shape) != len(given.shape):
        return False
    pairs = zip(shape, given.shape, strict=True)
    return all(not isinstance(extent, int) or extent == have for extent, have in pairs)
