"""Gathering evidence: every candidate is built and run in runners that nothing else has used."""

from __future__ import annotations

from typing import cast

import numpy as np

from grader.assignment import PartTable
from grader.errors import ProtocolError
from grader.evidence.arrangement import Arrangement
from grader.evidence.case import Candidate, FloatArray, Outputs, Problem, StubOutputs
from grader.evidence.failures import explain_failure
from grader.evidence.oracle import Oracle
from grader.evidence.python_failure import explain_python_failure
from grader.evidence.runners import Kind, RunnerPool
from grader.language import say
from grader.messages import (
    PYTHON_FUNCTION,
    Array,
    FrameError,
    RunModule,
    RunResult,
    TaskFailure,
    unpack_array,
)

BUILD_TARGET = "llvm"
STUB_CALLS = 2
"""Calls that a module without its externs is run on, twice each, and as many other ones."""


def unreadable() -> Problem:
    """Return what is said of an answer that is none."""
    return Problem(
        say("The answer of the process that ran the module cannot be read."),
        say("External functions may compute, and must leave the process that they run in alone."),
        code="no_answer",
    )


def runner_kind(part: PartTable) -> Kind:
    """Return the kind of runner in which a part's candidates are run."""
    return "extern" if part.externs or part.entry_kind == "python" else "pure"


def is_python(candidate: Candidate) -> bool:
    """Say whether a candidate is a Python function and no module."""
    return PYTHON_FUNCTION in candidate.capture.externs and not candidate.capture.module


def arrange(candidate: Candidate, part: PartTable, oracle: Oracle) -> Arrangement | Problem:
    """Return how a candidate is to be called, or what is wrong with its signature."""
    return oracle.arrange(part, None if is_python(candidate) else candidate.facts)


def gather_outputs(
    candidate: Candidate, part: PartTable, oracle: Oracle, runners: RunnerPool
) -> Outputs | Problem:
    """Run a candidate on all of the oracle's inputs."""
    arrangement = arrange(candidate, part, oracle)
    if isinstance(arrangement, Problem):
        return arrangement
    kind = runner_kind(part)
    externs = candidate.capture.externs if kind == "extern" else {}
    try:
        answer = runners.request(kind, run_task(candidate, arrangement, externs=externs))
    except ProtocolError:
        return unreadable()
    if isinstance(answer, TaskFailure) and is_python(candidate):
        return explain_python_failure(answer, candidate.capture)
    if not isinstance(answer, RunResult):
        return explain_failure(answer)
    actual = _by_sample(answer.outputs, arrangement)
    if isinstance(actual, Problem):
        return actual
    first = slice(arrangement.samples)
    names = {PYTHON_FUNCTION: candidate.capture.name} if is_python(candidate) else {}
    unwritten = tuple(names.get(each, each) for each in answer.unwritten)
    return Outputs(actual, oracle.desired[first], oracle.from_test_set[first], unwritten)


def gather_stubs(
    candidate: Candidate,
    part: PartTable,
    oracle: Oracle,
    runners: RunnerPool,
    generator: np.random.Generator,
) -> StubOutputs | Problem:
    """Run a candidate with noise in place of its externs, without student Python.

    The noise depends on the seed and on how many calls there were before. So one run on the same
    inputs twice shows whether the noise matters, and another one with the same seed and other
    inputs whether the inputs do.
    """
    arrangement = arrange(candidate, part, oracle)
    if isinstance(arrangement, Problem):
        return arrangement
    others = arrangement.first(STUB_CALLS).redrawn(generator)
    seed = int(generator.integers(1, 2**31))
    twice = _run_stubs(candidate, arrangement.first(STUB_CALLS, repeated=2), seed, runners)
    if isinstance(twice, Problem):
        return twice
    elsewhere = _run_stubs(candidate, others, seed, runners)
    if isinstance(elsewhere, Problem):
        return elsewhere
    half = len(twice) // 2
    return StubOutputs(twice[:half], twice[half:], elsewhere)


def _run_stubs(
    candidate: Candidate, arrangement: Arrangement, seed: int, runners: RunnerPool
) -> FloatArray | Problem:
    """Run a candidate once with noise in place of its externs."""
    stubs = dict.fromkeys(candidate.facts.externs, seed)
    try:
        answer = runners.request("pure", run_task(candidate, arrangement, stubs=stubs))
        if isinstance(answer, RunResult):
            return cast(FloatArray, unpack_array(answer.outputs))
    except (ProtocolError, FrameError):
        return unreadable()
    return explain_failure(answer)


def run_task(
    candidate: Candidate,
    arrangement: Arrangement,
    externs: dict[str, bytes] | None = None,
    stubs: dict[str, int] | None = None,
) -> RunModule:
    """Return the task to call a candidate as arranged, with its externs or with noise."""
    return RunModule(
        module=candidate.capture.module,
        arguments=arrangement.packed(),
        target=BUILD_TARGET,
        threads=1,
        externs=externs or {},
        stubs=stubs or {},
        function=arrangement.function,
        outputs=arrangement.outputs,
    )


def _by_sample(outputs: Array, arrangement: Arrangement) -> FloatArray | Problem:
    """Return one row for each sample, without what filled up the last batch."""
    if arrangement.is_batched and len(outputs.shape) < 2:
        return Problem(
            say("The output has no axis for the batch."),
            say("Return one row of scores for every image."),
            code="shape",
        )
    try:
        values = unpack_array(outputs)
    except FrameError:
        return unreadable()
    if arrangement.is_batched:
        calls, batch, *sample = values.shape
        values = values.reshape(calls * batch, *sample)  # -1 is ambiguous for an empty sample
    if len(values) < arrangement.samples:
        return Problem(
            say(
                "The output has {rows} rows for a batch of inputs, which are too few.",
                rows=outputs.shape[1],
            ),
            say("Return one row of scores for every image."),
            code="shape",
        )
    return cast(FloatArray, values[: arrangement.samples])
