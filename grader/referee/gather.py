"""Gathering evidence: every candidate is built and run in runners that nothing else has used."""

from __future__ import annotations

from typing import cast

import numpy as np

from grader.assignment import PartTable
from grader.errors import ProtocolError
from grader.ir.facts import ModuleFacts
from grader.messages import Array, FrameError, RunModule, RunResult, pack_array, unpack_array
from grader.referee.evidence import Candidate, FloatArray, Outputs, Problem, StubOutputs
from grader.referee.failures import explain_failure
from grader.referee.oracle import Oracle
from grader.referee.runners import RunnerPool

BUILD_TARGET = "llvm"
STUB_BATCHES = 2
"""Batches that a module without its externs is run on, twice each, and as many other ones."""

DYNAMIC_BATCH = 4
"""Batch size used where `main` leaves it open; the assignment's own notebooks use it too."""

BATCH_LIMIT = 4096
"""Largest batch that `main` may take: the last one is filled up with inputs of our own."""

UNREADABLE = Problem(
    "The answer of the process that ran the module cannot be read.",
    "External functions may compute, and must leave the process that they run in alone.",
)


def batch_size(facts: ModuleFacts, oracle: Oracle) -> int | Problem:
    """Return the batch that `main` takes, or what is wrong with its signature."""
    wanted = tuple(oracle.options.input_shape)
    hint = f"`main` must take one float32 tensor of shape (batch, {', '.join(map(str, wanted))})."
    if not facts.has_main:
        return Problem("The module has no Relax function called `main`.", hint)
    if len(facts.inputs) != 1:
        return Problem(f"`main` takes {len(facts.inputs)} arguments.", hint)
    tensor = facts.inputs[0].tensor
    shape = tensor.shape
    if shape is None or shape[1:] != wanted or tensor.dtype not in ("float32", ""):
        return Problem(f"`main` takes a tensor of shape {shape} and dtype {tensor.dtype}.", hint)
    batch = shape[0] if isinstance(shape[0], int) else DYNAMIC_BATCH
    if not 1 <= batch <= BATCH_LIMIT:
        return Problem(f"`main` takes a batch of {batch}.", f"Take one of 1 to {BATCH_LIMIT}.")
    return batch


def gather_outputs(
    candidate: Candidate, part: PartTable, oracle: Oracle, runners: RunnerPool
) -> Outputs | Problem:
    """Run a candidate on all of the oracle's inputs."""
    batch = batch_size(candidate.facts, oracle)
    if isinstance(batch, Problem):
        return batch
    task = RunModule(
        module=candidate.capture.module,
        inputs=pack_array(oracle.batches(batch)),
        target=BUILD_TARGET,
        threads=1,
        externs=candidate.capture.externs if part.externs else {},
    )
    try:
        answer = runners.request("extern" if part.externs else "pure", task)
    except ProtocolError:
        return UNREADABLE
    if not isinstance(answer, RunResult):
        return explain_failure(answer)
    actual = _by_sample(answer.outputs, len(oracle.inputs))
    if isinstance(actual, Problem):
        return actual
    return Outputs(actual, oracle.desired, oracle.from_test_set, answer.unwritten)


def gather_stubs(
    candidate: Candidate, oracle: Oracle, runners: RunnerPool, generator: np.random.Generator
) -> StubOutputs | Problem:
    """Run a candidate with noise in place of its externs, without student Python.

    The noise depends on the seed and on how many calls there were before. So one run on the same
    inputs twice shows whether the noise matters, and another one with the same seed and other
    inputs whether the inputs do.
    """
    batch = batch_size(candidate.facts, oracle)
    if isinstance(batch, Problem):
        return batch
    inputs = oracle.batches(batch)[:STUB_BATCHES]
    scale = np.float32(oracle.options.hidden_scale)
    others = scale * generator.standard_normal(inputs.shape, dtype=np.float32)
    seed = int(generator.integers(1, 2**31))
    twice = _run_stubs(candidate, np.concatenate([inputs, inputs]), seed, runners)
    if isinstance(twice, Problem):
        return twice
    elsewhere = _run_stubs(candidate, others, seed, runners)
    if isinstance(elsewhere, Problem):
        return elsewhere
    return StubOutputs(twice[: len(inputs)], twice[len(inputs) :], elsewhere)


def _run_stubs(
    candidate: Candidate, inputs: FloatArray, seed: int, runners: RunnerPool
) -> FloatArray | Problem:
    """Run a candidate once with noise in place of its externs."""
    task = RunModule(
        module=candidate.capture.module,
        inputs=pack_array(inputs),
        target=BUILD_TARGET,
        threads=1,
        stubs=dict.fromkeys(candidate.facts.externs, seed),
    )
    try:
        answer = runners.request("pure", task)
        if isinstance(answer, RunResult):
            return cast(FloatArray, unpack_array(answer.outputs))
    except (ProtocolError, FrameError):
        return UNREADABLE
    return explain_failure(answer)


def _by_sample(outputs: Array, samples: int) -> FloatArray | Problem:
    """Turn (batches, batch, ...) into (samples, ...), without what filled up the last batch."""
    if len(outputs.shape) < 2:
        return Problem(
            "The output has no axis for the batch.", "Return one row of scores for every image."
        )
    try:
        values = unpack_array(outputs)
    except FrameError:
        return UNREADABLE
    batches, batch, *sample = values.shape
    flat = values.reshape(batches * batch, *sample)  # -1 would be ambiguous for an empty sample
    if len(flat) < samples:
        return Problem(
            f"The output has {outputs.shape[1]} rows for a batch of inputs, which are too few.",
            "Return one row of scores for every image.",
        )
    return cast(FloatArray, flat[:samples])
