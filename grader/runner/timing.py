"""TimeSchedule: measure one function beside the course's baseline and reference.

Only measuring happens here, nothing is estimated or judged. The three functions are timed in rounds
of one block each, in random order, within milliseconds of one another, so that what disturbs the
machine disturbs all of them alike. Nothing in this process ever was a student's Python: the module
is loaded after the course's workload was executed, and its function gets three arrays and nothing
else.
"""

from __future__ import annotations

import gc
import math
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm

from grader.messages import TimeSchedule, TimingResult, TimingRound, pack_array
from grader.runner.arena import (
    Arena,
    Arrays,
    Shape,
    Signature,
    parameter_shapes,
    read_signature,
    unpack_arrays,
)
from grader.runner.failure import TaskError, stage
from grader.runner.kernels import Kernel
from grader.runner.machine import find_target, pin, use_threads
from grader.runner.model import load_module

SAME_RTOL = 1e-3
SAME_ATOL = 1e-3
"""How near the submission's output must be to a variant's to be that variant."""

MOST_OUTPUT_BYTES = 64 * 2**20
"""Most bytes of timed outputs that are kept for the referee; they limit the number of rounds."""

SLOW_BLOCKS = 10.0
"""A submission's block has fewer calls where it would last so many times `block_seconds`."""

MOST_CALLS = 10**6

FACTORS = (0.75, 1.25)
"""A block has between so many times the calls that were chosen, by a factor drawn for each round:
nobody can tell from the blocks before which call will be the last. Longer blocks would be disturbed
more often on a busy machine, so the mean is 1."""

ATTEMPTS = 4
"""How often a block is measured before a disturbed measurement is taken as it is."""


class Timed(NamedTuple):
    """The three functions of one task, compiled, and what they work on."""

    arena: Arena
    baseline: Kernel
    submission: Kernel
    reference: Kernel
    variant: str


class Calls(NamedTuple):
    """How many calls a block has on average: of the baseline and the reference, the submission."""

    course: int
    submission: int


def time_schedule(task: TimeSchedule) -> TimingResult:
    """Do the task. Raises TaskError."""
    with stage("decode"):
        arrays = unpack_arrays(task)
    _settle(task.cpus)
    target, target_name = find_target(task.target)
    with stage("time"):
        workload = load_workload(task.workload)
    with stage("load"):
        module = load_module(task.module)
    timed = compile_all(workload, take_function(module, task.function), arrays, task, target)
    with stage("time"), _without_collector():
        calls = choose_calls(timed, task.block_seconds)
        rounds, outputs = measure(timed, calls, task)
        return TimingResult(
            timed.variant, target_name, calls.course, tuple(rounds), pack_array(outputs)
        )


def _settle(cpus: tuple[int, ...]) -> None:
    """Confine this process to `cpus` and let parallel loops have one thread for each."""
    with stage("time"):
        threads = use_threads(len(cpus))
        pin(cpus)
    if threads != len(cpus):
        message = f"The runner has {threads} threads instead of {len(cpus)}."
        raise TaskError("time", "TooFewThreads", message)


def load_workload(text: str) -> ModuleType:
    """Execute the course's own workload; it defines VARIANTS, `baseline` and `reference`."""
    workload = ModuleType("workload")
    exec(compile(text, "workload.py", "exec"), workload.__dict__)  # noqa: S102 - course code
    return workload


def take_function(module: tvm.IRModule, name: str) -> Any:
    """Return a PrimFunc of a module by its name. Raises TaskError."""
    functions = {var.name_hint: function for var, function in module.functions.items()}
    function = functions.get(name)
    if not isinstance(function, tvm.tirx.PrimFunc):
        raise TaskError("signature", "NoFunction", f"The module has no TIR function {name}.")
    return function


def compile_all(
    workload: ModuleType, function: Any, arrays: Arrays, task: TimeSchedule, target: Any
) -> Timed:
    """Compile the submission's function, find the variant that it computes, and compile that.

    Raises TaskError when it takes other arrays than the workload's, or computes no variant of it.
    """
    batch = arrays.data.shape[1]
    with stage("time"):
        plain = workload.baseline(workload.VARIANTS[0], batch, ())["main"]
    output_shape = parameter_shapes(plain)[-1]
    signature = read_signature(function, arrays, output_shape)
    arena = Arena(arrays, task.ring, signature.bias_shape, output_shape)
    with stage("build"):
        submission = Kernel("submission", function, signature, arena, target)
    with stage("run"):
        computed = _one_call(submission, arena)
    with stage("time"):
        variant, baseline = _find_variant(workload, computed, arrays, signature, arena, target)
        reference = _course_kernel(
            "reference",
            workload.reference(variant, batch, signature.bias_shape, task.threads),
            arrays,
            arena,
            target,
        )
    return Timed(arena, baseline, submission, reference, variant)


def _find_variant(
    workload: ModuleType,
    computed: npt.NDArray[np.float32],
    arrays: Arrays,
    signature: Signature,
    arena: Arena,
    target: Any,
) -> tuple[str, Kernel]:
    """Return the first variant whose baseline computes the same, and that baseline."""
    for variant in workload.VARIANTS:
        if ("bias" in variant) != ("bias" in signature.roles):
            continue
        module = workload.baseline(variant, arrays.data.shape[1], signature.bias_shape)
        baseline = _course_kernel(f"baseline_{variant}", module, arrays, arena, target)
        expected = _one_call(baseline, arena)
        if np.allclose(computed, expected, rtol=SAME_RTOL, atol=SAME_ATOL):
            return variant, baseline
    message = "The function computes something else than the workload."
    raise TaskError("signature", "UnknownWorkload", message)


def _course_kernel(
    name: str, module: tvm.IRModule, arrays: Arrays, arena: Arena, target: Any
) -> Kernel:
    function = module["main"]
    output_shape: Shape = arena.shapes["output"]
    return Kernel(name, function, read_signature(function, arrays, output_shape), arena, target)


def _one_call(kernel: Kernel, arena: Arena) -> npt.NDArray[np.float32]:
    arena.restore()
    kernel(0, 1)
    return arena.output()


def choose_calls(timed: Timed, block_seconds: float) -> Calls:
    """Choose the calls of a block so that the baseline's lasts `block_seconds`.

    The number comes from the baseline alone: a submission cannot buy itself a short block. Only one
    that is more than ten times slower gets fewer calls, which saves time and changes nothing in its
    mean.
    """
    calls = 1
    while (seconds := _shortest(timed.baseline, timed.arena, calls)) < block_seconds:
        if calls >= MOST_CALLS:
            break
        wanted = math.ceil(1.1 * calls * block_seconds / max(seconds, 1e-9))
        calls = min(max(calls + 1, wanted), 100 * calls, MOST_CALLS)
    each = _block_seconds(timed.submission, timed.arena, 0, 1)
    affordable = math.floor(SLOW_BLOCKS * block_seconds / max(each, 1e-9))
    return Calls(calls, max(1, min(calls, affordable)))


def _off_ring(calls: int, ring: int) -> int:
    """Return a number of calls, at least as many, whose last is on another input than its first.

    Else a function that works only into a fresh buffer would end with the right output.
    """
    return calls + 1 if calls > 1 and (calls - 1) % ring == 0 else calls


def _shortest(kernel: Kernel, arena: Arena, calls: int) -> float:
    return min(_block_seconds(kernel, arena, 0, calls) for _ in range(3))


def measure(
    timed: Timed, calls: Calls, task: TimeSchedule
) -> tuple[list[TimingRound], npt.NDArray[np.float32]]:
    """Time rounds until there are enough or the budget is spent; return them and their outputs."""
    generator = np.random.default_rng(task.seed)
    output_bytes = 4 * math.prod(timed.arena.shapes["output"])
    most = max(1, min(task.maximum_rounds, MOST_OUTPUT_BYTES // output_bytes))
    end = time.perf_counter() + task.budget_seconds
    rounds: list[TimingRound] = []
    outputs: list[npt.NDArray[np.float32]] = []
    while len(rounds) < most:
        if len(rounds) >= task.minimum_rounds and time.perf_counter() >= end:
            break
        timed.arena.take_turn(len(rounds) + 1)
        each, output = _round(timed, calls, generator, end)
        rounds.append(each)
        outputs.append(output)
    return rounds, np.stack(outputs)


def _round(
    timed: Timed, calls: Calls, generator: np.random.Generator, end: float
) -> tuple[TimingRound, npt.NDArray[np.float32]]:
    """Time one block of each function, in random order, on the same inputs.

    Raises TaskError when the submission wrote into its inputs.
    """
    arena = timed.arena
    first = int(generator.integers(arena.ring))
    factor = generator.uniform(*FACTORS)
    blocks: dict[str, _Block] = {}
    for name in generator.permutation(["baseline", "submission", "reference"]):
        mean = calls.submission if name == "submission" else calls.course
        blocks[name] = _quiet_block(
            getattr(timed, name), arena, first, _Length(mean, factor), generator, end
        )
        if name == "submission":
            output = arena.output()
            _demand_untouched(arena)
    last = arena.start + (first + blocks["submission"].calls - 1) % arena.ring
    seconds = {name: block.seconds for name, block in blocks.items()}
    switches = sum(block.switches for block in blocks.values())
    return TimingRound(last, **seconds, switches=switches), output


def _demand_untouched(arena: Arena) -> None:
    """Raise TaskError when an input is not what it was: a function may mark what it has seen."""
    if not arena.is_untouched():
        raise TaskError("run", "InputChanged", "The function wrote into its inputs.")


class _Length(NamedTuple):
    """How long a block is: `factor` times as many calls as blocks have on average."""

    mean: int
    factor: float

    def calls(self, ring: int) -> int:
        """Return the number of calls."""
        return _off_ring(max(1, round(self.mean * self.factor)), ring)


class _Block(NamedTuple):
    """One timed block: seconds of a call, involuntary context switches, and how many calls."""

    seconds: float
    switches: int
    calls: int


def _quiet_block(
    kernel: Kernel,
    arena: Arena,
    first: int,
    length: _Length,
    generator: np.random.Generator,
    end: float,
) -> _Block:
    """Time a block.

    A disturbed block is measured again, unless the budget's `end` has come, and with another number
    of calls, as the function has seen this one. What decides is the number of switches and never
    the time, so neither slow nor fast blocks are preferred.
    """
    for _ in range(ATTEMPTS):
        calls = length.calls(arena.ring)
        before = _involuntary_switches()
        seconds = _block_seconds(kernel, arena, first, calls)
        switches = _involuntary_switches() - before
        if switches == 0 or time.perf_counter() >= end:
            break
        length = length._replace(factor=generator.uniform(*FACTORS))
    return _Block(seconds / calls, switches, calls)


def _block_seconds(kernel: Kernel, arena: Arena, first: int, calls: int) -> float:
    """Return the seconds that one block takes.

    One call on another input comes first: it wakes the threads up and loads the code. The arrays
    are restored after it, so that the output is NaN when the clock starts.
    """
    kernel((first - 1) % arena.ring, 1)
    arena.restore()
    start = time.perf_counter()
    kernel(first, calls)
    return time.perf_counter() - start


def _involuntary_switches() -> int:
    """Count how often a thread of this process had to leave its processor to somebody else."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
