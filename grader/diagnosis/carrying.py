"""Error carried forward: which layers are right when each is given PyTorch's values.

A module is run step by step beside PyTorch. Where a step has the shape of a layer and other
numbers, that layer is lost, PyTorch's values are written over the step's, and what comes after is
judged on those. A layer is earned by a step that has its numbers; so identities, constants and a
thousand small steps earn nothing. All layers between two values are earned or lost together.

What is written into the runner are values for public test images, and for inputs that are drawn for
this and used for nothing else: never for inputs that the submission is compared on.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from grader.diagnosis.layers import tolerance_of
from grader.diagnosis.report import Diagnosed
from grader.diagnosis.tracing import (
    Runnable,
    Traced,
    arguments_of,
    most_passes,
    trace_passes,
)
from grader.diagnosis.walk import LayerWalk, Lost, Part, judge, parts_of, walk
from grader.errors import GraderError
from grader.evidence.case import JudgedLayer, Outputs, Problem
from grader.evidence.operations import Layer
from grader.evidence.oracle import Arrangement
from grader.evidence.problems import wrong_samples
from grader.evidence.runners import RunnerPool
from grader.messages.frames import RUNNER_FRAME_LIMIT, DType, number_type

CORRECTIONS = 5
"""Most steps that are corrected: who has more wrong layers is not paid for what follows them."""

GUESSES = 32
"""Most guesses at which layer's values belong over which step, for each correction. A step that
takes dozens of constants of one shape has hundreds, and each is a run."""

SECONDS = 120.0
"""Seconds that the guesses of a part may take together. A module may be quick on its own values and
slow on others, and whatever is to be timed on the machine waits as long."""

PATIENCE = 4
LEAST_SECONDS = 20.0
"""A task of guesses may take so many times as long as the first run did, and at least so long."""

_Known = frozenset[tuple[int, int]]


class _Calls:
    """Calls of a candidate, run with PyTorch's values in place of wrong ones.

    All of them are made in every run, and several runs in one task, so that the module is built as
    seldom as can be. Of a run only the walks are kept: the values of hundreds would fill memory.
    What there is no time for is not run.
    """

    def __init__(
        self, runnable: Runnable, calls: Sequence[Arrangement], clock: Callable[[], float]
    ) -> None:
        self._runnable, self._calls = runnable, calls
        self._clock = clock
        self._ends = self._first = math.inf
        oracle = runnable.oracle
        self.layers = [oracle.layers_for(arguments_of(each, oracle)) for each in calls]
        self._tolerance = tolerance_of(oracle.options.dtype)
        self._most = most_passes(runnable.part)
        self._outline: list[_Outline] = []
        self._walks: dict[_Known, tuple[LayerWalk, ...]] = {}

    def mended(self, call: int, lost: Lost) -> Lost:
        """Correct wrong steps of a call, the first one first, as long as there are any."""
        while len(lost) < CORRECTIONS:
            found = self.walk(call, lost)
            if found is None or found.wrong is None:
                break
            corrected = [{**lost, step: place} for step, place in found.choices[:GUESSES]]
            self._run(corrected)
            could_run = [each for each in corrected if self._walks.get(_known(each))]
            if not could_run:
                break
            # Of several layers of one shape, the one with which most of what follows is right.
            lost = max(could_run, key=partial(self._earned, call))
        return lost

    def walk(self, call: int, lost: Lost) -> LayerWalk | None:
        """Walk through a call with corrections; None where it cannot be run with them."""
        self._run([lost])
        walks = self._walks.get(_known(lost))
        return walks[call] if walks else None

    def _earned(self, call: int, lost: Lost) -> int:
        return len(self._walks[_known(lost)][call].earned)

    def _run(self, wanted: Sequence[Lost]) -> None:
        """Make the calls with each of some sets of corrections, unless that has been done."""
        waiting = [each for each in wanted if _known(each) not in self._walks]
        while waiting and (left := self._ends - self._clock()) > 0:
            most = self._most_in(left)
            some, waiting = waiting[:most], waiting[most:]
            walks = self._run_together(some, min(left, self._patience()))
            if isinstance(walks, Problem) and len(some) > 1:
                # One that takes too long, or takes the runner with it, ends those beside it.
                self._most, waiting = 1, [*some, *waiting]
                continue
            found = [()] * len(some) if isinstance(walks, Problem) else walks
            self._walks.update(zip(map(_known, some), found, strict=True))

    def _run_together(
        self, some: Sequence[Lost], seconds: float
    ) -> list[tuple[LayerWalk, ...]] | Problem:
        """Make the calls with some sets of corrections in one task, and walk through each."""
        began = self._clock()
        passes = [self._values(each) for each in some]
        sets = iter(some)

        def walk_next(calls: Iterator[Traced]) -> tuple[LayerWalk, ...]:
            return self._walk_all(next(sets), calls)

        found = trace_passes(self._runnable, self._calls, passes, walk_next, seconds=seconds)
        if not some[0]:  # the first run
            self._first = self._clock() - began
            self._ends = self._clock() + SECONDS
        return found

    def _most_in(self, seconds: float) -> int:
        """Return how many sets of corrections are run in one task, so that there is time for two.

        Each may take as long as the first run.
        """
        in_time = int(seconds / 2 / max(self._first, 0.001)) if self._outline else 1
        return max(1, min(self._most, in_time))

    def _patience(self) -> float:
        return max(PATIENCE * self._first, LEAST_SECONDS)

    def _walk_all(self, lost: Lost, calls: Iterator[Traced]) -> tuple[LayerWalk, ...]:
        """Walk through all calls of a run; nothing where one of them did not come to its end."""
        walks = []
        for layers in self.layers:  # of each call, none of which is kept while the next one is read
            found = self._walk_one(lost, next(calls), layers)
            if found is None:
                return ()
            walks.append(found)
        return tuple(walks)

    def _walk_one(self, lost: Lost, traced: Traced, layers: Sequence[Layer]) -> LayerWalk | None:
        if traced.failure is not None:
            return None
        if not lost and not self._outline:
            self._begin(traced)
        # The runner has run the submission's code, and may say of each run what it likes.
        if _outline(traced) != self._outline:
            return None
        returned = self._returned(traced)
        return walk(traced.steps, layers, lost, self._tolerance, returned)

    def _returned(self, traced: Traced) -> frozenset[int]:
        """Return the steps of the call that `main` returns the value of, all that it makes.

        There are none for an argument, a constant, or several values.
        """
        result = self._runnable.candidate.facts.result
        source = None if result is None else result.source
        return frozenset(
            step
            for step, binding in enumerate(traced.bindings)
            if source is not None and binding == source
        )

    def _begin(self, traced: Traced) -> None:
        """Note which steps there are, and how many runs' values fit into one message.

        What is written over steps takes no more than their values.
        """
        values = [step.value for step in traced.steps if step.value is not None]
        size = len(self._calls) * sum(each.nbytes for each in values)
        self._outline = _outline(traced)
        self._most = min(self._most, max(1, RUNNER_FRAME_LIMIT // (2 * size + 1)))

    def _values(self, lost: Lost) -> dict[int, npt.NDArray[np.generic]]:
        """Return what is written over steps: shape (calls, *shape) for each."""
        return {step: self._value(step, place) for step, place in lost.items()}

    def _value(self, step: int, place: int) -> npt.NDArray[np.generic]:
        values = np.stack([layers[place].value for layers in self.layers])
        return _rounded(values, self._outline[step].dtype)


class _Outline(NamedTuple):
    """What of a step is the same in every run."""

    variable: str
    dtype: str
    takes: tuple[int, ...]


def _outline(traced: Traced) -> list[_Outline]:
    return [_Outline(each.variable, each.dtype, each.takes) for each in traced.steps]


def _known(lost: Lost) -> _Known:
    return frozenset(lost.items())


def _rounded(value: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.generic]:
    """Return PyTorch's value in the dtype of a step, which a runner has named."""
    return value.astype(number_type(dtype if dtype in get_args(DType) else "float32"))


def judge_layers(
    diagnosed: Diagnosed,
    outputs: Outputs,
    runners: RunnerPool,
    generator: np.random.Generator,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[JudgedLayer, ...]:
    """Return which of PyTorch's layers a candidate with wrong outputs has right.

    Nothing is returned where PyTorch's layers are no chain, where the candidate cannot be run step
    by step, or where nothing is found that is wrong. `generator` draws inputs that nothing else is
    tried on. What `SECONDS` by the `clock` are not enough for is lost. Raises GraderError where a
    runner cannot be had.
    """
    try:
        return _judge(diagnosed, outputs, runners, generator, clock)
    except GraderError:
        raise
    except Exception as error:  # noqa: BLE001 - points for layers must not cost all others
        warnings.warn(f"Layers could not be judged: {error!r}.", RuntimeWarning, stacklevel=2)
        return ()


def _judge(
    diagnosed: Diagnosed,
    outputs: Outputs,
    runners: RunnerPool,
    generator: np.random.Generator,
    clock: Callable[[], float],
) -> tuple[JudgedLayer, ...]:
    candidate, part, _, oracle = diagnosed
    arrangement = oracle.arrange(part, candidate.signature)
    if isinstance(arrangement, Problem) or candidate.is_python:
        return ()
    # One call on noise, and one on images that the submission was wrong on.
    calls = [arrangement.first(1).redrawn(generator)]
    images = _images(outputs, diagnosed)
    if len(images) >= arrangement.batch:
        calls.append(arrangement.chosen(images)[0])
    return _judged(_Calls(Runnable(candidate, part, oracle, runners), calls, clock), len(calls))


def _judged(calls: _Calls, count: int) -> tuple[JudgedLayer, ...]:
    """Return the layers in PyTorch's order, each right if it is in every one of the calls."""
    lost: Lost = {}
    for call in range(count):
        lost = calls.mended(call, lost)
    walks = [calls.walk(call, lost) for call in range(count)]
    known = [each for each in walks if each is not None]
    if len(known) < len(walks):
        return ()
    # A step that looks at the input to be right on some is right on one call only.
    # What had to be written is lost, though a step before may have had it.
    right = frozenset.intersection(*(each.earned for each in known)) - {*lost.values()}
    layers = calls.layers[0]
    parts = parts_of(layers)
    verdicts = judge(parts, right)
    if all(verdicts) and not any(each.is_over for each in known):
        return ()
    return tuple(
        JudgedLayer(
            layers[part.places[-1]].name,
            verdict,
            "" if verdict else _lost_for(part, right, layers),
        )
        for part, verdict in zip(parts, verdicts, strict=True)
    )


def _lost_for(part: Part, right: frozenset[int], layers: Sequence[Layer]) -> str:
    """Return the layer before one that is right itself for which it is lost, or nothing."""
    if not right.issuperset(part.places):
        return ""
    return next((layers[each].name for each in part.before if each not in right), "")


def _images(outputs: Outputs, diagnosed: Diagnosed) -> list[int]:
    """Return the places of test images, wrong ones first: students have them, and their answers."""
    wrong = wrong_samples(outputs, diagnosed.oracle.options)
    order = np.lexsort((~wrong, ~outputs.from_test_set))
    return [int(each) for each in order if outputs.from_test_set[each]]
