"""Error carried forward: which layers are right when each is given PyTorch's values.

A module is run step by step beside PyTorch. Where a step has the shape of a layer and other
numbers, that layer is lost, PyTorch's values are written over the step's, and what comes after is
judged on those. A layer is earned by a step that has its numbers; so identities, constants and a
thousand small steps earn nothing. All layers between two values are earned or lost together.

What is written into the runner are values for public test images, and for inputs that are drawn for
this and used for nothing else: never for inputs that the submission is compared on.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from grader.diagnosis.layers import (
    TOLERANCE,
    Matching,
    Observed,
    Program,
    numbers,
    tolerance_of,
)
from grader.diagnosis.report import Diagnosed
from grader.diagnosis.tracing import (
    Runnable,
    Traced,
    arguments_of,
    most_passes,
    trace_passes,
)
from grader.errors import GraderError
from grader.evidence.candidates import arrange, is_python
from grader.evidence.case import JudgedLayer, Outputs, Problem
from grader.evidence.operations import SIDE_KINDS, Layer, one_thread
from grader.evidence.oracle import Arrangement
from grader.evidence.problems import wrong_samples
from grader.evidence.runners import RunnerPool
from grader.messages import RUNNER_FRAME_LIMIT, DType, number_type

CORRECTIONS = 5
"""Most steps that are corrected: who has more wrong layers is not paid for what follows them."""

GUESSES = 32
"""Most guesses at which layer's values belong over which step, for each correction. A step that
takes dozens of constants of one shape has hundreds, and each is a run."""

Lost = Mapping[int, int]
"""The place of the layer whose values are written over a step, by the number of the step."""

_Known = frozenset[tuple[int, int]]


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


class _Calls:
    """Calls of a candidate, run with PyTorch's values in place of wrong ones.

    All of them are made in every run, and several runs in one task, so that the module is built as
    seldom as can be. Of a run only the walks are kept: the values of hundreds would fill memory.
    """

    def __init__(self, runnable: Runnable, calls: Sequence[Arrangement]) -> None:
        self._runnable, self._calls = runnable, calls
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
            # Of several layers of one shape, the one with which most of what follows is right.
            lost = max(corrected, key=partial(self._earned, call))
        return lost

    def walk(self, call: int, lost: Lost) -> LayerWalk | None:
        """Walk through a call with corrections; None where it cannot be run with them."""
        self._run([lost])
        walks = self._walks[_known(lost)]
        return walks[call] if walks else None

    def _earned(self, call: int, lost: Lost) -> int:
        found = self.walk(call, lost)
        return 0 if found is None else len(found.earned)

    def _run(self, wanted: Sequence[Lost]) -> None:
        """Make the calls with each of some sets of corrections, unless that has been done."""
        waiting = [each for each in wanted if _known(each) not in self._walks]
        while waiting:
            some, waiting = waiting[: self._most], waiting[self._most :]
            passes = [self._values(each) for each in some]
            found = trace_passes(self._runnable, self._calls, passes)
            if isinstance(found, Problem) and len(some) > 1:
                # One that takes too long, or takes the runner with it, ends those beside it.
                self._most, waiting = 1, [*some, *waiting]
                continue
            calls = [()] * len(some) if isinstance(found, Problem) else found
            for lost, traced in zip(some, calls, strict=True):
                self._walks[_known(lost)] = self._walk_all(lost, traced)

    def _walk_all(self, lost: Lost, calls: Sequence[Traced]) -> tuple[LayerWalk, ...]:
        """Walk through all calls of a run; nothing where one of them did not come to its end."""
        if not calls or any(each.failure is not None for each in calls):
            return ()
        if not lost:  # the first run
            self._begin(calls)
        # The runner has run the submission's code, and may say of each run what it likes.
        if any(_outline(each) != self._outline for each in calls):
            return ()
        return tuple(
            walk(each.steps, layers, lost, self._tolerance)
            for each, layers in zip(calls, self.layers, strict=True)
        )

    def _begin(self, calls: Sequence[Traced]) -> None:
        """Note which steps there are, and how many runs' values fit into one message.

        What is written over steps takes no more than their values.
        """
        values = [step.value for each in calls for step in each.steps if step.value is not None]
        size = sum(each.nbytes for each in values)
        self._outline = _outline(calls[0])
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
    diagnosed: Diagnosed, outputs: Outputs, runners: RunnerPool, generator: np.random.Generator
) -> tuple[JudgedLayer, ...]:
    """Return which of PyTorch's layers a candidate with wrong outputs has right.

    Nothing is returned where PyTorch's layers are no chain, where the candidate cannot be run step
    by step, or where nothing is found that is wrong. `generator` draws inputs that nothing else is
    tried on. Raises GraderError where a runner cannot be had.
    """
    try:
        return _judge(diagnosed, outputs, runners, generator)
    except GraderError:
        raise
    except Exception as error:  # noqa: BLE001 - points for layers must not cost all others
        warnings.warn(f"Layers could not be judged: {error!r}.", RuntimeWarning, stacklevel=2)
        return ()


def _judge(
    diagnosed: Diagnosed, outputs: Outputs, runners: RunnerPool, generator: np.random.Generator
) -> tuple[JudgedLayer, ...]:
    candidate, part, _, oracle = diagnosed
    arrangement = arrange(candidate, part, oracle)
    if isinstance(arrangement, Problem) or is_python(candidate):
        return ()
    # One call on noise, and one on images that the submission was wrong on.
    calls = [arrangement.first(1).redrawn(generator)]
    images = _images(outputs, diagnosed)
    if len(images) >= arrangement.batch:
        calls.append(arrangement.chosen(images)[0])
    return _judged(_Calls(Runnable(candidate, part, oracle, runners), calls), len(calls))


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
    right = frozenset.intersection(*(each.earned for each in known))
    layers = calls.layers[0]
    parts = parts_of(layers)
    if all(right.issuperset(each) for each in parts) and not any(e.is_over for e in known):
        return ()
    return tuple(JudgedLayer(layers[each[-1]].name, right.issuperset(each)) for each in parts)


def _images(outputs: Outputs, diagnosed: Diagnosed) -> list[int]:
    """Return the places of test images, wrong ones first: students have them, and their answers."""
    wrong = wrong_samples(outputs, diagnosed.oracle.options)
    order = np.lexsort((~wrong, ~outputs.from_test_set))
    return [int(each) for each in order if outputs.from_test_set[each]]


def walk(
    steps: Sequence[Observed], layers: Sequence[Layer], lost: Lost, tolerance: float = TOLERANCE
) -> LayerWalk:
    """Put the steps of one call beside PyTorch's layers, in the order of both.

    `steps` have their own values, `lost` has the layers whose values were written over them. What
    is lost is lost for all that comes after it, by whatever way a later step may have come to its
    values: two variables may name one memory.
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
    for number, step in enumerate(steps):
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
            choices = _choices(number, steps, layers, ahead, lost)
            if choices:
                return LayerWalk(frozenset(earned), number, choices)
        # Behind a correction nothing before it can be earned, by whatever name its values are
        # found: a view is written over with what it is a view of.
        ahead = _behind(ahead, lost[number]) if number in lost else ahead
    last = own.matched[-1] if own.matched else None
    return LayerWalk(frozenset(earned), is_over=not ahead and last not in places[-1:])


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


def _behind(places: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(each for each in places if each > place)


def _shape(step: Observed) -> tuple[int, ...] | None:
    return None if step.value is None else step.value.shape


def chain(layers: Sequence[Layer]) -> tuple[int, ...]:
    """Return the places of PyTorch's layers and their parts, nothing where they are no chain.

    They are one where each is computed from the one before it and from parameters alone.
    """
    through = [place for place, each in enumerate(layers) if each.operation.kind not in SIDE_KINDS]
    for before, place in pairwise(through):
        running = [each for each in layers[place].operation.operands if each.is_running]
        if [each.layer for each in running] != [before]:
            return ()
    return tuple(each for each in through if layers[each].name)


def parts_of(layers: Sequence[Layer]) -> list[tuple[int, ...]]:
    """Return the places of each layer of a chain: its parts, and itself as the last one.

    What changes no number, such as flattening, is none: who leaves it out has the same numbers.
    """
    found: list[tuple[int, ...]] = []
    parts: tuple[int, ...] = ()
    for place in chain(layers):
        parts = (*parts, place)
        if not layers[place].is_partial:
            found += [] if _is_idle(layers, parts) else [parts]
            parts = ()
    return found


def _is_idle(layers: Sequence[Layer], parts: tuple[int, ...]) -> bool:
    taken = layers[parts[0]].operation.operands[0].layer
    if taken is None:
        return False
    return np.array_equal(numbers(layers[parts[-1]].value), numbers(layers[taken].value))
