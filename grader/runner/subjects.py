"""The functions that are timed at one shape: compiled, and bound to the arrays that they share."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm

from grader.messages import ShapeResult, TimedFunction, TimeSchedule, pack_array
from grader.runner.arena import (
    OUTPUT,
    Arena,
    Arrays,
    Signature,
    parameter_shapes,
    read_signature,
    unpack_arrays,
    wrong_parameters,
)
from grader.runner.failure import TaskError, stage
from grader.runner.kernels import Kernel
from grader.runner.model import load_module

SAME_RTOL = 1e-3
SAME_ATOL = 1e-3
"""How near the submission's output must be to a variant's to be that variant."""

MOST_OUTPUT_BYTES = 64 * 2**20
"""Most bytes of timed outputs that are kept of a shape for the referee to check."""


class CourseSubject:
    """A function of the course's own, as `grader.timing` wants it."""

    def __init__(self, kernel: Kernel, arena: Arena) -> None:
        self._kernel = kernel
        self._arena = arena

    @property
    def ring(self) -> int:
        """Return how many inputs calls take in turn."""
        return self._arena.ring

    def prepare(self, first: int) -> None:
        """Call it once on another input: that wakes the threads up and loads the code. Then make
        the arrays anew, so that the output is NaN when the clock starts."""
        self._kernel((first - 1) % self.ring, 1)
        self._arena.restore()

    def run(self, first: int, calls: int) -> None:
        """Call it on the ring's inputs from `first` on."""
        self._kernel(first, calls)

    def finish(self, last: int) -> None:
        """Leave the outputs of the course's own functions unread."""


class SubmittedSubject(CourseSubject):
    """The submission's function: its inputs and outputs are looked at after each block."""

    def __init__(self, kernel: Kernel, arena: Arena, outputs: Outputs) -> None:
        super().__init__(kernel, arena)
        self._outputs = outputs

    def finish(self, last: int) -> None:
        """Keep the output. Raises TaskError when an input is not what it was."""
        if not self._arena.is_untouched():
            raise TaskError("run", "InputChanged", "The function wrote into its inputs.")
        self._outputs.offer(self._arena.start + last, self._arena.output)


class Outputs:
    """A random choice of the outputs of timed blocks, all that there is room for.

    Each block has the same chance to be among them (reservoir sampling, J. S. Vitter, 1985), and
    which are is decided after they were computed.
    """

    def __init__(self, shape: tuple[int, ...], generator: np.random.Generator) -> None:
        self._shape = shape
        self._room = max(1, MOST_OUTPUT_BYTES // (4 * math.prod(shape)))
        self._generator = generator
        self._offered = 0
        self._inputs: list[int] = []
        self._kept: list[npt.NDArray[np.float32]] = []

    def offer(self, which: int, read: Any) -> None:
        """Offer the output that `read` returns, computed from the input `which`."""
        self._offered += 1
        if len(self._kept) < self._room:
            self._inputs.append(which)
            self._kept.append(read())
            return
        place = int(self._generator.integers(self._offered))
        if place < self._room:
            self._inputs[place], self._kept[place] = which, read()

    def result(self, calls: int) -> ShapeResult:
        """Return what was kept."""
        empty = np.zeros((0, *self._shape), np.float32)
        outputs = np.stack(self._kept) if self._kept else empty
        return ShapeResult(calls, pack_array(outputs), tuple(self._inputs))


class ShapeSubjects(NamedTuple):
    """What is timed at one shape. `control` is the baseline, compiled once more."""

    variant: str
    arena: Arena
    baseline: CourseSubject
    control: CourseSubject
    submission: SubmittedSubject
    reference: CourseSubject
    outputs: Outputs


def prepare_shape(
    number: int,
    shape: TimedFunction,
    task: TimeSchedule,
    workload: ModuleType,
    target: Any,
    generator: np.random.Generator,
) -> ShapeSubjects:
    """Compile the submission's function, find the variant that it computes, and compile that.

    `number` tells shapes apart. Raises TaskError when the function takes other arrays than the
    workload's, or computes no variant of it.
    """
    with stage("decode"):
        arrays = unpack_arrays(task.names, shape.data, task.fixed, task.ring)
    builder = _Builder(number, arrays, workload, target)
    function = _load_function(shape) if shape.module else builder.plain()
    with stage("time"):
        output_shape = builder.output_shape()
    signature = read_signature(function, arrays, output_shape)
    arena = Arena(arrays, task.ring, {**signature.shapes, OUTPUT: output_shape})
    with stage("build"):
        submission = Kernel(f"submission_{number}", function, signature, arena, target)
    with stage("run"):
        computed = _one_call(submission, arena)
    outputs = Outputs(output_shape, generator)
    with stage("time"):
        variant, baseline = builder.find_variant(computed, signature, arena)
        control = builder.baseline(variant, "control", arena)
        reference = builder.reference(variant, len(task.cpus), arena)
    return ShapeSubjects(
        variant=variant,
        arena=arena,
        baseline=CourseSubject(baseline, arena),
        control=CourseSubject(control, arena),
        submission=SubmittedSubject(submission, arena, outputs),
        reference=CourseSubject(reference, arena),
        outputs=outputs,
    )


def _load_function(shape: TimedFunction) -> Any:
    with stage("load"):
        module = load_module(shape.module)
    return take_function(module, shape.function)


def take_function(module: tvm.IRModule, name: str) -> Any:
    """Return a PrimFunc of a module by its name. Raises TaskError."""
    functions = {var.name_hint: function for var, function in module.functions.items()}
    function = functions.get(name)
    if not isinstance(function, tvm.tirx.PrimFunc):
        raise TaskError("signature", "NoFunction", f"The module has no TIR function {name}.")
    return function


class _Builder:
    """Compiles the course's functions for one shape."""

    def __init__(self, number: int, arrays: Arrays, workload: ModuleType, target: Any) -> None:
        self._number = number
        self._arrays = arrays
        self._workload = workload
        self._target = target

    def plain(self) -> Any:
        first = next(iter(self._workload.VARIANTS))
        return self._workload.baseline(first, self._arrays.shapes())["main"]

    def output_shape(self) -> tuple[int, ...]:
        return parameter_shapes(self.plain())[-1]

    def find_variant(
        self, computed: npt.NDArray[np.float32], signature: Signature, arena: Arena
    ) -> tuple[str, Kernel]:
        """Return the first variant whose baseline computes the same, and that baseline."""
        variants: dict[str, tuple[str, ...]] = self._workload.VARIANTS
        alike = [name for name, taken in variants.items() if {*taken} == signature.inputs]
        if not alike:
            raise wrong_parameters(signature.roles, (*next(iter(variants.values())), OUTPUT))
        for variant in alike:
            baseline = self.baseline(variant, f"baseline_{variant}", arena)
            expected = _one_call(baseline, arena)
            if np.allclose(computed, expected, rtol=SAME_RTOL, atol=SAME_ATOL):
                return variant, baseline
        message = "The function computes something else than the workload."
        raise TaskError("signature", "UnknownWorkload", message)

    def baseline(self, variant: str, name: str, arena: Arena) -> Kernel:
        return self._compile(name, self._workload.baseline(variant, _inputs(arena)), arena)

    def reference(self, variant: str, threads: int, arena: Arena) -> Kernel:
        module = self._workload.reference(variant, _inputs(arena), threads)
        return self._compile("reference", module, arena)

    def _compile(self, name: str, module: tvm.IRModule, arena: Arena) -> Kernel:
        function = module["main"]
        signature = read_signature(function, self._arrays, arena.shapes[OUTPUT])
        return Kernel(f"{name}_{self._number}", function, signature, arena, self._target)


def _inputs(arena: Arena) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays as the submission's function takes them."""
    return {name: shape for name, shape in arena.shapes.items() if name != OUTPUT}


def _one_call(kernel: Kernel, arena: Arena) -> npt.NDArray[np.float32]:
    arena.restore()
    kernel(0, 1)
    return arena.output()
