"""The functions that are timed at one shape: compiled, and bound to the arrays that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from grader.inside.common.failure import TaskError, stage
from grader.inside.common.guards import Guards
from grader.inside.common.modules import load_module, take_function
from grader.inside.common.timed import as_timed
from grader.inside.runner.arena import Arena, ArenaSlots
from grader.inside.runner.kernels import CourseFunctions, Kernel, Made, compile_ahead
from grader.inside.runner.signature import (
    OUTPUT,
    Form,
    Signature,
    Values,
    read_signature,
    unpack_arrays,
)
from grader.messages.frames import number_type, pack_array
from grader.messages.timing import ShapeResult, TimedFunction, TimeSchedule
from grader.messages.timing import Slots as SlotArrays
from grader.timing.slices import SUBMISSION, Plan

SAME_RTOL = 1e-3
SAME_ATOL = 1e-3
"""How near the submission's output must be to a variant's to be that variant; integers are equal
to it."""

SAME_HALF = 2e-2
"""The same where each number is rounded to 11 bits."""

MOST_OUTPUT_BYTES = 16 * 2**20
"""Most bytes of timed outputs that are kept of a shape for the referee to check."""

MOST_SLOTS = 2**20
SLOTS_OF_A_SLICE = 2**12
"""Most slots that are kept of a shape, and of one slice."""


class TimedKernels:
    """Functions that are timed in turn on arrays that they share.

    Each call takes the input after that of the call before it, whichever function that was of.
    """

    def __init__(self, kernels: Sequence[Kernel], arena: Arena) -> None:
        self.arena = arena
        self._kernels = kernels
        self._bound = [each.bound() for each in kernels]
        self._made = 0
        self._calls: list[list[range]] = [[] for _ in kernels]

    def begin(self, turn: int, place: int) -> None:
        """Take the inputs of a turn, at a placement of the arrays; poison the output."""
        self.arena.take_turn(turn, place)
        self.arena.restore()
        self._bound = [each.bound() for each in self._kernels]
        self._made, self._calls = 0, [[] for _ in self._kernels]

    def run(self, function: int, block: int, plan: Plan) -> None:
        """Call a function, some times before the clock is read and some times after."""
        self._bound[function](block, *plan)
        end = self._made + plan.made
        self._calls[function].append(range(self._made, end))
        self._made = end

    def seconds(self, blocks: int) -> npt.NDArray[np.float64]:
        """Return how long each of the first blocks took."""
        return self.arena.ledger.seconds(blocks)

    def offer_to(self, outputs: TimedOutputs, function: int) -> None:
        """Offer what the calls of a function have left in a slice."""
        outputs.offer_calls(self.arena, np.concatenate(self._calls[function]))

    def demand_undisturbed(self) -> None:
        """Raise TaskError when an input is not what it was, when something was written beside the
        arrays, or when a call is missing."""
        if not self.arena.is_untouched():
            raise TaskError("run", "InputChanged", "A function wrote into its inputs.")
        made = self.arena.ledger.calls
        if not self.arena.is_intact() or made != self._made:
            message = f"{made} of {self._made} calls were made, or memory beside arrays written."
            raise TaskError("run", "Disturbed", message)


class Subjects(TimedKernels):
    """The four functions at one shape, as `grader.timing` wants them; `variant` is what they
    compute. What the submission's function leaves is kept."""

    def __init__(
        self, variant: str, kernels: Sequence[Kernel], arena: Arena, outputs: TimedOutputs
    ) -> None:
        super().__init__(kernels, arena)
        self.variant = variant
        self.outputs = outputs

    def keep(self) -> None:
        """Offer the whole output of the last call."""
        self.outputs.offer_whole(self.arena, self._made - 1)

    def assembly(self, function: int) -> str:
        """Return the machine code of a function as text."""
        return self._kernels[function].assembly()

    def finish(self) -> None:
        """Offer what the submission's calls have left. Raises TaskError."""
        self.demand_undisturbed()
        self.offer_to(self.outputs, SUBMISSION)


class TimedOutputs:
    """A random choice of what timed calls have left, all that there is room for.

    Each slice has the same chance to be among those of which a whole output is kept, and the slots;
    which ones is decided after they were computed.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        generator: np.random.Generator,
        dtype: str = "float32",
        *,
        most_bytes: int | None = None,
        slots: int | None = None,
    ) -> None:
        """Keep so many bytes of whole outputs, one at least, and so many slots."""
        most_bytes = MOST_OUTPUT_BYTES if most_bytes is None else most_bytes
        slots = MOST_SLOTS if slots is None else slots
        self._shape, self._dtype = shape, number_type(dtype)
        self._generator = generator
        self._whole: Sample[tuple[int, Values]] = Sample(
            max(1, most_bytes // (self._dtype.itemsize * math.prod(shape))), generator
        )
        self._slots: Sample[ArenaSlots] = Sample(slots // SLOTS_OF_A_SLICE, generator)

    def offer_whole(self, arena: Arena, call: int) -> None:
        """Offer the output as a call of the slice has left it."""
        self._whole.offer(lambda: (arena.start + call % arena.ring, arena.output()))

    def offer_calls(self, arena: Arena, calls: npt.NDArray[np.int_]) -> None:
        """Offer what each of some calls of the slice has left in one item."""
        self._slots.offer(lambda: self._read(arena, calls.astype(np.int32)))

    def _read(self, arena: Arena, calls: npt.NDArray[np.int32]) -> ArenaSlots:
        """Return the slots of calls, or of some drawn from them, with the inputs of the calls."""
        if len(calls) > SLOTS_OF_A_SLICE:
            calls = self._generator.choice(calls, SLOTS_OF_A_SLICE, replace=False)
        slots = arena.ledger.read(calls)
        inputs = arena.start + slots.calls % arena.ring
        return slots._replace(calls=inputs.astype(np.int32))

    def result(self) -> ShapeResult:
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


def prepare_shape(
    number: int,
    shape: TimedFunction,
    task: TimeSchedule,
    workload: ModuleType,
    target: Any,
    generator: np.random.Generator,
) -> Subjects:
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
        computed = one_call(submission, arena)
    outputs = TimedOutputs(output.shape, generator, output.dtype)
    with stage("time"):
        variant, baseline = find_variant(course, computed, signature, arena)
        control, reference = course.control(variant, arena), course.reference(variant, arena)
    return Subjects(variant, (baseline, control, submission, reference), arena, outputs)


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
    course.control(variant, arena)


def call_guarded(name: str, function: Any, signature: Signature, arena: Arena, target: Any) -> None:
    """Call a function once with every access checked, and none that depends on data.

    Then it stays within its arrays in every further call at these shapes. Raises TaskError.
    """
    guards = Guards(for_all_inputs=True)
    with stage("build"):
        kernel = Kernel(name, function, signature, arena, target, guards)
    guarded_call(guards, kernel, arena)


def guarded_call(guards: Guards, kernel: Kernel, arena: Arena) -> None:
    """Call a function that was compiled with guards once. Raises TaskError."""
    try:
        with stage("run"):
            one_call(kernel, arena)
    finally:
        guards.demand_none()


def _load_function(shape: TimedFunction) -> Any:
    with stage("load"):
        module = load_module(shape.module)
    return take_function(module, shape.function)


def find_variant(
    course: CourseFunctions[Kernel], computed: Values, signature: Signature, arena: Arena
) -> tuple[str, Kernel]:
    """Return the first variant whose baseline computes the same, and that baseline."""
    for variant in course.variants(signature):
        baseline = course.baseline(variant, arena)
        if _is_same(computed, one_call(baseline, arena)):
            return variant, baseline
    message = "The function computes something else than the workload."
    raise TaskError("signature", "UnknownWorkload", message)


def _is_same(computed: Values, expected: Values) -> bool:
    if expected.dtype.kind in "biu":
        return np.array_equal(computed, expected)
    most = SAME_HALF if expected.dtype == np.float16 else 0.0
    rtol, atol = max(SAME_RTOL, most), max(SAME_ATOL, most)
    return np.allclose(computed, expected, rtol=rtol, atol=atol)


def one_call(kernel: Kernel, arena: Arena) -> Values:
    """Return what one call leaves in an output that was poisoned before it."""
    arena.restore()
    arena.ledger.begin(poison=True)
    kernel.bound()(0, *Plan(0, 1))
    return arena.output()
