"""Running a candidate step by step on samples that it got wrong: one call, in a runner."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from grader.assignment import PartTable
from grader.diagnosis.align import Alignment
from grader.diagnosis.layers import TOLERANCE, is_equal, is_rearranged, known, numbers
from grader.diagnosis.matching import Observed
from grader.errors import ProtocolError
from grader.evidence.answers import CaseOracle
from grader.evidence.candidates import run_task, runner_kind
from grader.evidence.case import Candidate, Problem
from grader.evidence.operations import Layer
from grader.evidence.oracle import Arrangement, Given, Oracle
from grader.evidence.plug import UNREADABLE
from grader.evidence.problems import explain_failure
from grader.evidence.runners import RunnerPool
from grader.ir.facts import ModuleFacts
from grader.ir.vocabulary import is_data_type, is_name
from grader.messages.frames import FrameError
from grader.messages.frames import pack_array as pack
from grader.messages.frames import unpack_array as unpack
from grader.messages.runner import (
    PASS_LIMIT,
    Correction,
    TracedPass,
    TracedStep,
    TraceModule,
    TraceResult,
)

T = TypeVar("T")

Values = npt.NDArray[np.generic]

TARGET = '{"kind": "llvm", "opt-level": 1}'
"""What a module is built for that makes few calls: to build it takes half the time of that for
`BUILD_TARGET` (0.34 s in place of 0.65 s for fourteen layers), and rounding is the same, as LLVM
may not reorder sums."""


class Traced(NamedTuple):
    """One call, step by step.

    `arguments` are what the oracle's function takes for the same call, in its order and without
    fixed parameters: a batch of images, shape (batch, *input shape), or the arguments of one case
    of a computation, without an axis over cases. `rows` are the places among the oracle's inputs of
    the call's samples, one for each row of the batch; rows behind them only fill it up. `bindings`
    has for each step the place in `ModuleFacts.calls` of the call that made it, None where there is
    none. `failure` is what ended the run before its last step. `parameters` say of each argument at
    which place, from 1, the submission's function takes it, and how it is called there.
    """

    steps: tuple[Observed, ...]
    arguments: tuple[Values, ...]
    rows: tuple[int, ...] = ()
    bindings: tuple[int | None, ...] = ()
    failure: Problem | None = None
    parameters: tuple[tuple[int, str], ...] = ()


def gather_trace(
    candidate: Candidate,
    part: PartTable,
    oracle: Oracle,
    runners: RunnerPool,
    rows: Sequence[int],
    *,
    cleared: bool = False,
) -> Traced | Problem:
    """Run one call of a candidate on the samples at `rows`, and return the value of every step.

    Rows are places among the oracle's inputs, those that count for most first: a batch takes as
    many as fit and is filled up with other inputs; without a batch the first is taken. With
    `cleared`, outputs hold zeros before they are written, and not NaN.
    """
    arrangement = oracle.arrange(part, candidate.signature)
    if isinstance(arrangement, Problem):
        return arrangement
    arrangement, chosen = arrangement.chosen(rows)
    runnable = Runnable(candidate, part, oracle, runners)
    found = trace_passes(runnable, [arrangement], [{}], next, cleared=cleared)
    return found if isinstance(found, Problem) else found[0]._replace(rows=chosen)


class Runnable(NamedTuple):
    """A candidate that is run step by step, and who runs it."""

    candidate: Candidate
    part: PartTable
    oracle: Oracle
    runners: RunnerPool


def most_passes(part: PartTable) -> int:
    """Return how many passes one task may have for candidates of a part."""
    # An extern remembers what it is given: PyTorch's values, written over its output in one pass,
    # would be its answer in the next. So each pass with externs has its own process of them.
    return PASS_LIMIT if runner_kind(part) == "pure" else 1


def trace_passes(
    runnable: Runnable,
    calls: Sequence[Arrangement],
    passes: Sequence[Mapping[int, Values]],
    read: Callable[[Iterator[Traced]], T],
    *,
    cleared: bool = False,
    seconds: float = math.inf,
) -> list[T] | Problem:
    """Run the calls of several arrangements, one of each, once for each pass, all in one task.

    Returns what `read` makes of the calls of each pass, `most_passes` at most: it gets one after
    the other, as the values of all may be gigabytes. A pass has for steps what is written over
    their values, of the same dtype and shape (calls, *shape); what is read of them is what was
    there before. The task may take so many `seconds`, and no more than any may.
    """
    candidate, part, _, runners = runnable
    kind = runner_kind(part)
    externs = candidate.capture.externs if kind == "extern" else {}
    together = reduce(Arrangement.followed_by, calls)
    run = msgspec.structs.replace(run_task(candidate, together, externs=externs), target=TARGET)
    task = TraceModule(run, tuple(_corrections(each) for each in passes), cleared)
    try:
        answer = runners.request(kind, task, seconds)
        if isinstance(answer, TraceResult):
            if len(answer.passes) != len(passes):
                return UNREADABLE
            return [read(_read_pass(each, runnable, calls)) for each in answer.passes]
    except (ProtocolError, FrameError):
        return UNREADABLE
    return explain_failure(answer)


def _corrections(values: Mapping[int, Values]) -> tuple[Correction, ...]:
    return tuple(Correction(step, pack(each)) for step, each in values.items())


def _read_pass(
    passed: TracedPass, runnable: Runnable, calls: Sequence[Arrangement]
) -> Iterator[Traced]:
    """Yield what a runner saw in each call of a pass. Raises FrameError for what cannot be."""
    candidate, facts = runnable.candidate, runnable.candidate.facts
    failure = None if passed.failure is None else explain_failure(passed.failure)
    bindings = tuple(each.binding for each in passed.steps)
    for call, arrangement in enumerate(calls):
        function = candidate.capture.name if candidate.is_python else arrangement.function
        yield Traced(
            tuple(
                _observed(number, step, facts, function, _value(step, call, len(calls)))._replace(
                    arguments=_taken(step, facts, arrangement)
                )
                for number, step in enumerate(passed.steps)
            ),
            arguments_of(arrangement, runnable.oracle),
            bindings=bindings,
            failure=failure,
            parameters=_parameters(arrangement, runnable.oracle, facts),
        )


def _observed(
    number: int, step: TracedStep, facts: ModuleFacts, function: str, value: Values | None
) -> Observed:
    """Return one step. What the referee knows of a call is not taken from the runner."""
    callee = function
    if step.binding is not None:
        if step.binding >= len(facts.calls):
            raise FrameError("a step of a call that there is not")
        callee = facts.calls[step.binding].callee
    elif facts.has_main:
        callee = "if"
    if not is_name(step.variable) or not (is_data_type(step.dtype) or step.dtype == ""):
        raise FrameError("a step with a name or a data type that is none")
    # Alignment follows these back to the input: a step that took itself would keep it there.
    if any(not 0 <= each < number for each in step.takes):
        raise FrameError("a step that takes a later one")
    return Observed(
        variable=step.variable,
        callee=callee,
        value=value,
        takes=step.takes,
        takes_input=step.takes_input,
        dtype=step.dtype,
        is_unwritten=step.is_unwritten,
    )


def _taken(
    step: TracedStep, facts: ModuleFacts, arrangement: Arrangement
) -> frozenset[tuple[str, bool]] | None:
    """Return the arguments of `main` that a call takes, and whether each varies over the calls."""
    if step.binding is None or len(facts.inputs) != len(arrangement.arguments):
        return None
    varies = {
        each.name: given.varies
        for each, given in zip(facts.inputs, arrangement.arguments, strict=True)
    }
    taken = facts.calls[step.binding].arguments
    names = [each.name for each in taken if each.kind == "input"]
    if any(each.kind == "other" for each in taken) or not varies.keys() >= set(names):
        return None
    return frozenset((name, varies[name]) for name in names)


def _value(step: TracedStep, call: int, calls: int) -> Values | None:
    """Return the value of a step in one of so many calls, None where that did not reach it.

    Raises FrameError.
    """
    if step.values is None:
        return None
    values = unpack(step.values)
    if values.ndim == 0 or not 1 <= len(values) <= calls:
        raise FrameError("a step whose values are not those of the calls")
    # An array of its own: a view of one call would keep the values of all.
    return _plain(np.array(values[call])) if call < len(values) else None


def _plain(value: Values) -> Values:
    """Return a value as it is compared: of floats double or single ones, with plain NaN."""
    if value.dtype.kind in "biu":
        return value
    with np.errstate(invalid="ignore"):  # poison is signalling NaNs, which NumPy warns of
        missing = np.isnan(value)
        if value.dtype != np.float64:
            value = value.astype(np.float32)
    value[missing] = np.nan
    return value


def arguments_of(arrangement: Arrangement, oracle: Oracle) -> tuple[Values, ...]:
    """Return what varies of the one call, in the order of the oracle's function."""
    return tuple(each.array[0] for _, each in _varying(arrangement, oracle))


def _parameters(
    arrangement: Arrangement, oracle: Oracle, facts: ModuleFacts
) -> tuple[tuple[int, str], ...]:
    """Return places, from 1, and names of what varies in the submission's own function."""
    function = facts.functions.get(arrangement.function)
    taken = facts.inputs if facts.has_main else () if function is None else function.parameters
    names = [each.name for each in taken]
    return tuple(
        (place + 1, names[place] if place < len(names) else "")
        for place, _ in _varying(arrangement, oracle)
    )


def _varying(arrangement: Arrangement, oracle: Oracle) -> list[tuple[int, Given]]:
    """Return what varies, with its place, in the order of the oracle's function."""
    varying = [(place, each) for place, each in enumerate(arrangement.arguments) if each.varies]
    if isinstance(oracle, CaseOracle):
        # Where shapes tell arguments apart, `main` may take them in another order than the oracle.
        order = oracle.argument_names
        varying.sort(key=lambda each: order.index(each[1].name))
    return varying


# --- what was in the memory -----------------------------------------------------------------------
# Is it the memory that was there before? Tried by running the module on memory full of zeros.
#
# Every output holds NaN until it is written, so a sum that is not initialised is NaN. So are 0 / 0,
# a difference of two infinities and the logarithm of a negative number; and of huge numbers, which
# may stand in memory that a function has for itself, an exponential is one. What was never written
# is 0 where the memory held zeros, and a sum that begins with 0 is right: nothing else is.


_KINDS = frozenset({"sum_not_initialised", "partly_written"})


def of_memory(alignment: Alignment) -> bool:
    """Say whether a mistake says of floats what was in the memory: that has yet to be tried."""
    return alignment.mistake is not None and alignment.mistake.kind in _KINDS


def tried_on_zeros(
    alignment: Alignment,
    steps: Sequence[Observed],
    cleared: Sequence[Observed],
    layers: Sequence[Layer],
) -> Alignment:
    """Return an alignment without its mistake, unless the run on zeros bears that out.

    `cleared` are the same steps where the memory held zeros.
    """
    assert alignment.mistake is not None
    wrong = alignment.wrong
    if wrong is None or len(cleared) != len(steps):
        return alignment._replace(mistake=None)
    before, after = steps[wrong].value, cleared[wrong].value
    if before is None or after is None or before.shape != after.shape:
        return alignment._replace(mistake=None)
    if before.dtype.kind != "f":  # whole numbers: the memory's own is subtracted
        return alignment
    if alignment.mistake.kind == "partly_written":
        # What was never written holds the zeros now, and all else is as it was; 0 / 0 is NaN once
        # more.
        stays = np.where(np.isnan(before), 0, before)
        is_borne_out = np.array_equal(stays, after)
    else:
        reached = alignment.matched[:wrong]
        # A sum that begins with 0 is right. It may be that of a product whose bias another step
        # adds.
        ahead = [at for at, each in enumerate(layers) if each.name and at not in reached]
        is_borne_out = any(_is(after, layers[at]) for at in ahead)
    return alignment if is_borne_out else alignment._replace(mistake=None)


def _is(value: npt.NDArray[np.generic], layer: Layer) -> bool:
    """Say whether a value is a layer's: a product without its bias is a layer, too."""
    right = known(layer.value)
    return is_equal(numbers(value), right, TOLERANCE) or is_rearranged(value, right)
