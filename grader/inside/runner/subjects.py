"""The functions that are timed at one shape: compiled, and bound to the arrays that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import tvm

from grader.inside.common.failure import TaskError, stage
from grader.inside.runner.arena import Arena, ArenaSlots
from grader.inside.runner.guards import Guards
from grader.inside.runner.kernels import CourseFunctions, Kernel, Made, as_timed, compile_ahead
from grader.inside.runner.model import load_module
from grader.inside.runner.signature import (
    OUTPUT,
    Form,
    Signature,
    read_signature,
    unpack_arrays,
)
from grader.messages import ShapeResult, TimedFunction, TimeSchedule, number_type, pack_array
from grader.messages import Slots as SlotArrays

SAME_RTOL = 1e-3
SAME_ATOL = 1e-3
"""How near the submission's output must be to a variant's to be that variant; integers are equal
to it."""

SAME_HALF = 2e-2
"""The same where each number is rounded to 11 bits."""

MOST_OUTPUT_BYTES = 16 * 2**20
"""Most bytes of timed outputs that are kept of a shape for the referee to check."""

MOST_SLOTS = 2**20
SLOTS_OF_A_BLOCK = 2**12
"""Most slots that are kept of a shape, and of one block: blocks of a function that takes more than
a microsecond have no more calls."""

Values = npt.NDArray[Any]


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

    def run_calls(self, first: int, calls: int) -> None:
        """Call it on the ring's inputs from `first` on."""
        self._kernel(first, calls)

    def made(self) -> int:
        """Return how many calls were made since the arrays were made anew."""
        return self._arena.ledger.calls

    def finish(self, last: int) -> None:
        """Leave the outputs of the course's own functions unread."""


class SubmittedSubject(CourseSubject):
    """The submission's function: what it has left is looked at after each block."""

    def __init__(self, kernel: Kernel, arena: Arena, outputs: TimedOutputs) -> None:
        super().__init__(kernel, arena)
        self._outputs = outputs
        self._asked = (0, 0)

    def run_calls(self, first: int, calls: int) -> None:
        """Call it on the ring's inputs from `first` on."""
        self._asked = (first, calls)
        super().run_calls(first, calls)

    def finish(self, last: int) -> None:
        """Keep what the block has left. Raises TaskError when an input is not what it was, when
        something was written beside the arrays, or when a call is missing."""
        if not self._arena.is_untouched():
            raise TaskError("run", "InputChanged", "The function wrote into its inputs.")
        first, calls = self._asked
        if not self._arena.is_intact() or self.made() != calls:
            message = f"{self.made()} of {calls} calls were made, or memory beside arrays written."
            raise TaskError("run", "Disturbed", message)
        self._outputs.offer(self._arena, first, last, calls)


class TimedOutputs:
    """A random choice of what timed blocks have left, all that there is room for.

    Each block has the same chance to be among those whose whole output is kept, and whose slots
    are; which ones is decided after they were computed.
    """

    def __init__(
        self, shape: tuple[int, ...], generator: np.random.Generator, dtype: str = "float32"
    ) -> None:
        self._shape, self._dtype = shape, number_type(dtype)
        self._generator = generator
        self._whole: Sample[tuple[int, Values]] = Sample(
            max(1, MOST_OUTPUT_BYTES // (self._dtype.itemsize * math.prod(shape))), generator
        )
        self._slots: Sample[ArenaSlots] = Sample(MOST_SLOTS // SLOTS_OF_A_BLOCK, generator)

    def offer(self, arena: Arena, first: int, last: int, calls: int) -> None:
        """Offer a block of so many calls, on the ring's inputs from `first` to `last`."""
        self._whole.offer(lambda: (arena.start + last, arena.output()))
        self._slots.offer(lambda: self._read(arena, first, calls))

    def _read(self, arena: Arena, first: int, calls: int) -> ArenaSlots:
        """Return the slots of a block, or of calls drawn from it, with the inputs of the calls."""
        chosen = np.arange(calls, dtype=np.int32)
        if calls > SLOTS_OF_A_BLOCK:
            chosen = self._generator.integers(calls, size=SLOTS_OF_A_BLOCK, dtype=np.int32)
        slots = arena.ledger.read(chosen)
        inputs = arena.start + (first + slots.calls) % arena.ring
        return slots._replace(calls=inputs.astype(np.int32))

    def result(self, calls: int) -> ShapeResult:
        """Return what was kept."""
        kept = [output for _, output in self._whole.kept]
        outputs = np.stack(kept) if kept else np.zeros((0, *self._shape), self._dtype)
        inputs, places, values = (
            pack_array(np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype))
            for dtype, parts in (
                (np.dtype("int32"), [each.calls for each in self._slots.kept]),
                (np.dtype("int32"), [each.places for each in self._slots.kept]),
                (self._dtype, [each.values for each in self._slots.kept]),
            )
        )
        return ShapeResult(
            calls,
            pack_array(outputs),
            tuple(which for which, _ in self._whole.kept),
            SlotArrays(inputs, places, values),
        )


Item = TypeVar("Item")


class Sample(Generic[Item]):
    """Up to `room` of the things offered, each with the same chance (J. S. Vitter, 1985)."""

    def __init__(self, room: int, generator: np.random.Generator) -> None:
        self.kept: list[Item] = []
        self._room = room
        self._generator = generator
        self._offered = 0

    def offer(self, read: Callable[[], Item]) -> None:
        """Offer what `read` returns."""
        self._offered += 1
        if len(self.kept) < self._room:
            self.kept.append(read())
            return
        place = int(self._generator.integers(self._offered))
        if place < self._room:
            self.kept[place] = read()


class ShapeSubjects(NamedTuple):
    """What is timed at one shape. `control` is the baseline, at the first shape compiled once more:
    it is measured there alone."""

    variant: str
    arena: Arena
    baseline: CourseSubject
    control: CourseSubject
    submission: SubmittedSubject
    reference: CourseSubject
    outputs: TimedOutputs


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
    made = _at_shape(number, shape, task, workload, target, Kernel)
    course, signature, arena = made.course, made.signature, made.arena
    function, output = made.function, made.output
    # A proof is about the module as it is written. TVM's rules for divisions have faults, and led
    # proven functions out of their buffers: only the lowered program shows that.
    if shape.module:
        call_guarded(f"guarded_{number}", function, signature, arena, target)
    with stage("build"):
        submission = Kernel(f"submission_{number}", function, signature, arena, target)
    with stage("run"):
        computed = _one_call(submission, arena)
    outputs = TimedOutputs(output.shape, generator, output.dtype)
    with stage("time"):
        variant, baseline = _find_variant(course, computed, signature, arena)
        control = course.control(variant, arena) if number == 0 else baseline
        reference = course.reference(variant, arena)
    return ShapeSubjects(
        variant=variant,
        arena=arena,
        baseline=CourseSubject(baseline, arena),
        control=CourseSubject(control, arena),
        submission=SubmittedSubject(submission, arena, outputs),
        reference=CourseSubject(reference, arena),
        outputs=outputs,
    )


@dataclass(frozen=True)
class _Prepared(Generic[Made]):
    """What is known at a shape before anything is compiled."""

    course: CourseFunctions[Made]
    function: Any
    signature: Signature
    output: Form
    arena: Arena


def _at_shape(
    number: int,
    shape: TimedFunction,
    task: TimeSchedule,
    workload: ModuleType,
    target: Any,
    make: Callable[[str, Any, Signature, Arena, Any], Made],
) -> _Prepared[Made]:
    """Read what a task has for one shape, as it is timed or compiled ahead. Raises TaskError."""
    with stage("decode"):
        arrays = unpack_arrays(task.names, shape.data, task.fixed, task.ring)
    threads = len(task.cpus)
    course = CourseFunctions(number, arrays, workload, target, threads, make)
    function = _load_function(shape) if shape.module else course.plain()
    function = as_timed(function, threads)
    with stage("time"):
        output = course.output()
    signature = read_signature(function, arrays, output)
    shapes = {**signature.shapes, OUTPUT: output.shape}
    arena = Arena(arrays, task.ring, shapes, output.dtype)
    return _Prepared(course, function, signature, output, arena)


def compile_shape_ahead(
    number: int, shape: TimedFunction, task: TimeSchedule, workload: ModuleType, target: Any
) -> None:
    """Compile what `prepare_shape` will for the first variant that may be it, and call nothing.

    What has guards is not among it, nor is the function of an empty module. Raises TaskError.
    """
    made = _at_shape(number, shape, task, workload, target, compile_ahead)
    course, signature, arena = made.course, made.signature, made.arena
    if shape.module:
        compile_ahead(f"submission_{number}", made.function, signature, arena, target)
    variant, *_ = course.variants(signature)
    course.baseline(variant, arena)
    course.reference(variant, arena)
    if number == 0:
        course.control(variant, arena)


def call_guarded(name: str, function: Any, signature: Signature, arena: Arena, target: Any) -> None:
    """Call a function once with every access checked, and none that depends on data.

    Then it stays within its arrays in every further call at these shapes. Raises TaskError.
    """
    guards = Guards(for_all_inputs=True)
    with stage("build"):
        kernel = Kernel(name, function, signature, arena, target, guards)
    try:
        with stage("run"):
            _one_call(kernel, arena)
    finally:
        guards.demand_none()


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


def _find_variant(
    course: CourseFunctions[Kernel], computed: Values, signature: Signature, arena: Arena
) -> tuple[str, Kernel]:
    """Return the first variant whose baseline computes the same, and that baseline."""
    for variant in course.variants(signature):
        baseline = course.baseline(variant, arena)
        if _is_same(computed, _one_call(baseline, arena)):
            return variant, baseline
    message = "The function computes something else than the workload."
    raise TaskError("signature", "UnknownWorkload", message)


def _is_same(computed: Values, expected: Values) -> bool:
    """Say whether two outputs are those of the same function."""
    if expected.dtype.kind in "biu":
        return np.array_equal(computed, expected)
    most = SAME_HALF if expected.dtype == np.float16 else 0.0
    rtol, atol = max(SAME_RTOL, most), max(SAME_ATOL, most)
    return np.allclose(computed, expected, rtol=rtol, atol=atol)


def _one_call(kernel: Kernel, arena: Arena) -> Values:
    arena.restore()
    arena.ledger.begin(poison=True)
    kernel(0, 1)
    return arena.output()
