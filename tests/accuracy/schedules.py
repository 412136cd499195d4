"""Schedules that TVM accepts and that change the result: one step of each is the mistake.

A block is put into a vectorized loop beside the block that it takes from, or such a loop is
vectorized: what the one hands the other then has room for one number, not for all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm import s_tir, te, topi

from grader.inside.runner.find_step import find_step
from grader.messages.frames import pack_array
from grader.messages.runner import FindStep, FoundStep, RunArgument, RunModule, TensorSpec
from tests.evidence.schedules import saved_trace
from tests.ir import modules

TARGET = '{"kind": "llvm", "opt-level": 1}'
TOLERANCE = 2e-5


class Workload(NamedTuple):
    """A function of two blocks: what it takes and gives, and their names, the sum first."""

    name: str
    tensors: Callable[[], list[Any]]
    shapes: tuple[tuple[int, ...], ...]
    writer: str
    reader: str


def _product(*batch: int) -> Callable[[], list[Any]]:
    def tensors() -> list[Any]:
        a, b = (te.placeholder((*batch, 8, 8), "float32", name=each) for each in "AB")
        k = te.reduce_axis((0, 8), "k")
        y = te.compute(
            (*batch, 8, 8),
            lambda *i: te.sum(a[(*i[:-1], k)] * b[(*i[:-2], k, i[-1])], axis=k),
            name="Y",
        )
        zero = tvm.tirx.const(0, "float32")
        return [a, b, te.compute((*batch, 8, 8), lambda *i: te.max(y[i], zero), name="C")]

    return tensors


def _convolution() -> list[Any]:
    x, w = te.placeholder((2, 1, 8, 8), name="x"), te.placeholder((4, 1, 3, 3), name="w")
    b = te.placeholder((1, 4, 1, 1), name="b")
    sums = topi.nn.conv2d(x, w, 1, 0, 1)
    biased = te.compute(sums.shape, lambda n, c, i, j: sums[n, c, i, j] + b[0, c, 0, 0], "C")
    return [x, w, b, biased]


WORKLOADS = (
    Workload("matmul", _product(), ((8, 8), (8, 8), (8, 8)), "Y", "C"),
    Workload("bmm", _product(2), ((2, 8, 8), (2, 8, 8), (2, 8, 8)), "Y", "C"),
    Workload(
        "conv2d",
        _convolution,
        ((2, 1, 8, 8), (4, 1, 3, 3), (1, 4, 1, 1), (2, 4, 6, 6)),
        "conv2d_nchw",
        "C",
    ),
)


class Step(NamedTuple):
    """A schedule, its two blocks, and the innermost loop that both have."""

    schedule: Any
    writer: Any
    reader: Any


def _lanes(step: Step, block: Any) -> Any:
    """Return the loop over the last axis of the output."""
    rank = len(step.schedule.get_loops(step.reader))
    return step.schedule.get_loops(block)[rank - 1]


def _outermost(step: Step, block: Any) -> Any:
    return step.schedule.get_loops(block)[0]


BEFORE: dict[str, Callable[[Step], object]] = {
    "nothing": lambda _step: None,
    "parallel": lambda s: s.schedule.parallel(_outermost(s, s.writer)),
    "unroll": lambda s: s.schedule.unroll(s.schedule.get_loops(s.writer)[-1]),
    "split": lambda s: s.schedule.split(s.schedule.get_loops(s.writer)[-1], [None, 2]),
}
"""Steps that change nothing, which come before the mistake."""


def _moved_down(step: Step) -> None:
    loop = _lanes(step, step.writer)
    step.schedule.vectorize(loop)
    step.schedule.reverse_compute_at(step.reader, loop)


def _vectorized_after(step: Step) -> None:
    loop = _lanes(step, step.writer)
    step.schedule.reverse_compute_at(step.reader, loop)
    step.schedule.vectorize(loop)


def _moved_up(step: Step) -> None:
    loop = _lanes(step, step.reader)
    step.schedule.vectorize(loop)
    step.schedule.compute_at(step.writer, loop)


def _vectorized_around(step: Step) -> None:
    loop = _lanes(step, step.reader)
    step.schedule.compute_at(step.writer, loop)
    step.schedule.vectorize(loop)


MISTAKES: dict[str, tuple[Callable[[Step], None], str]] = {
    "moved down": (_moved_down, "ReverseComputeAt"),
    "vectorized after": (_vectorized_after, "Vectorize"),
    "moved up": (_moved_up, "ComputeAt"),
    "vectorized around": (_vectorized_around, "Vectorize"),
}
"""Two steps each, of which the second changes the result, and that one's kind."""


class Mutant(NamedTuple):
    """A schedule with a mistake: what is asked of a runner, and which step it is."""

    name: str
    task: FindStep
    number: int
    instruction: str


class Told(NamedTuple):
    """What a runner finds of a mutant."""

    mutant: Mutant
    found: FoundStep

    @property
    def is_right(self) -> bool:
        """Say whether the step is the one that changes the result."""
        wanted = (self.mutant.number, self.mutant.instruction)
        return wanted == (self.found.number, self.found.instruction)

    @property
    def is_recognised(self) -> bool:
        """Say whether it is told what the step did, and what helps."""
        return self.found.within == "lanes" and (self.found.may_go or bool(self.found.other_loop))


def mutants() -> Iterator[Mutant]:
    """Return all mutants: each mistake after each harmless step, and before one or none."""
    for work, before, mistake, is_last in product(WORKLOADS, BEFORE, MISTAKES, (True, False)):
        yield _mutant(work, before, mistake, is_last=is_last)


def _mutant(work: Workload, before: str, mistake: str, *, is_last: bool) -> Mutant:
    function = te.create_prim_func(work.tensors()).with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": function})
    schedule = s_tir.Schedule(module)
    writer, reader = (schedule.get_sblock(name, "main") for name in (work.writer, work.reader))
    step = Step(schedule, writer, reader)
    make, instruction = MISTAKES[mistake]
    BEFORE[before](step)
    make(step)
    number = sum(not each.kind.name.startswith("Get") for each in schedule.trace.insts)
    if not is_last:
        schedule.annotate(_outermost(step, reader), "pragma_auto_unroll_max_step", 8)
    generator = np.random.default_rng(1)
    given = [generator.standard_normal((1, *each)).astype("float32") for each in work.shapes[:-1]]
    run = RunModule(
        modules.save(module),
        tuple(RunArgument(pack_array(each)) for each in given),
        TARGET,
        1,
        outputs=(TensorSpec("float32", work.shapes[-1]),),
    )
    task = FindStep(run, saved_trace(schedule), modules.save(schedule.mod), TOLERANCE)
    return Mutant(f"{work.name}, {before}, {mistake}", task, number, instruction)


def tell(mutant: Mutant) -> Told:
    """Return what a runner finds of a mutant; here and now, as a runner does in its sandbox."""
    return Told(mutant, find_step(mutant.task))
