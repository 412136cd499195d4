"""TimeSchedule: what is measured, and what is refused. No test depends on how fast anything is."""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.inside.common.failure import TaskError
from grader.inside.common.modules import load_workload
from grader.inside.runner import kernels
from grader.inside.runner.timing import compile_ahead, time_schedule
from grader.messages.frames import unpack_array
from grader.messages.timing import TimedFunction, TimingResult
from grader.timing.estimate import FEWEST_SLICES, is_plausible
from grader.timing.stack import PLACES
from tests.inside.runner import modules
from tests.inside.runner.timed import (
    RING,
    WORKLOAD,
    convolved,
    draw,
    function,
    fused,
    timing_rules,
    timing_task,
)

SLICES = 8
"""As few as may be."""

BUDGET = 300.0
"""Seconds of the processor, a hundred times as many as a measurement takes."""

PLAIN = modules.timed_convolution()


@pytest.fixture(scope="module", autouse=True)
def unpinned() -> Iterator[None]:
    """Give this process its processors back, which a measurement confines to the task's."""
    before = os.sched_getaffinity(0)
    yield
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), before)


def measure(*shapes: TimedFunction, **changes: Any) -> TimingResult:
    """Measure on one processor, slices of inputs of their own if nothing else is said."""
    rules = timing_rules(**changes.pop("rules", {}))
    shapes = shapes or (function(PLAIN, rings=SLICES + 1),)
    cpu = min(os.sched_getaffinity(0))
    return time_schedule(timing_task(*shapes, cpus=(cpu,), rules=rules, **changes))


def refusal(*shapes: TimedFunction, **changes: Any) -> tuple[str, str]:
    with pytest.raises(TaskError) as caught:
        measure(*shapes, **changes)
    return caught.value.stage, caught.value.error_name


@pytest.fixture(scope="module")
def measured() -> TimingResult:
    """One measurement at one shape."""
    return measure()


@pytest.fixture(scope="module")
def at_two_shapes() -> TimingResult:
    """One measurement at batches of four and of two."""
    return measure(
        function(fused("relu"), rings=SLICES + 1),
        function(fused("relu", batch=2), batch=2, rings=SLICES + 1),
    )


class TestResult:
    def test_it_says_what_was_measured(self, measured: TimingResult) -> None:
        assert ("conv2d", "llvm") == (measured.variant, measured.target)

    def test_slices_have_the_stack_at_all_places_alike(self, measured: TimingResult) -> None:
        assert {0: 2, 1: 2, 2: 2, 3: 2} == Counter(each.place for each in measured.slices)

    def test_every_block_took_time(self, measured: TimingResult) -> None:
        times = [unpack_array(each.seconds[0]) for each in measured.slices]
        assert 1 == len({each.shape for each in times})
        assert all(is_plausible(each) for each in times)

    def test_each_slice_has_inputs_of_its_own(self, measured: TimingResult) -> None:
        assert [*range(1, SLICES + 1)] == [which // RING for which in measured.shapes[0].inputs]

    def test_each_output_belongs_to_the_input_that_is_named(self, measured: TimingResult) -> None:
        (shape,) = measured.shapes
        data = draw(RING * (SLICES + 1), 4, 1, 28, 28)
        outputs = unpack_array(shape.outputs)
        assert SLICES == len(outputs)
        expected = convolved(data[list(shape.inputs)])
        np.testing.assert_allclose(expected, outputs, rtol=1e-4, atol=1e-4)

    def test_every_call_of_the_submission_left_the_right_number(
        self, measured: TimingResult
    ) -> None:
        (shape,) = measured.shapes
        inputs, places, values = (
            unpack_array(each)
            for each in (shape.slots.inputs, shape.slots.places, shape.slots.values)
        )
        rounds = measured.slices[0].seconds[0].shape[1]
        calls, rest = divmod(len(values), SLICES * rounds)
        assert calls >= 2  # one before each block, which is not timed
        assert rest == 0
        expected = convolved(draw(RING * (SLICES + 1), 4, 1, 28, 28)).reshape(
            RING * (SLICES + 1), -1
        )
        np.testing.assert_allclose(expected[inputs, places], values, rtol=1e-4, atol=1e-4)

    def test_the_collector_is_back_at_work(self, measured: TimingResult) -> None:
        assert gc.isenabled()


class TestShapes:
    def test_each_slice_has_times_for_each(self, at_two_shapes: TimingResult) -> None:
        assert "conv2d_relu" == at_two_shapes.variant
        assert {2} == {len(each.seconds) for each in at_two_shapes.slices}

    def test_each_has_inputs_and_outputs_of_its_own(self, at_two_shapes: TimingResult) -> None:
        for batch, shape in zip((4, 2), at_two_shapes.shapes, strict=True):
            data = draw(RING * (SLICES + 1), batch, 1, 28, 28)[list(shape.inputs)]
            expected = np.maximum(convolved(data), 0)
            np.testing.assert_allclose(expected, unpack_array(shape.outputs), rtol=1e-4, atol=1e-4)

    def test_a_function_that_computes_something_else_at_another_batch_is_refused(self) -> None:
        other = function(fused("relu", batch=2), batch=2)
        assert ("signature", "UnknownWorkload") == refusal(function(PLAIN), other)


class TestEnd:
    def test_slices_end_before_the_budget_once_nothing_more_can_be_earned(self) -> None:
        """Beside other programs with many more slices: only a baseline that equals its copy ends
        them."""
        before = time.thread_time()
        rules = {"resolution": 1e9, "budget_seconds": BUDGET}
        slices = measure(function(PLAIN), rules=rules).slices
        assert len(slices) >= FEWEST_SLICES
        assert 0 == len(slices) % PLACES
        assert time.thread_time() - before < BUDGET


class TestRefusals:
    @pytest.mark.parametrize("place", ["data", "weight"])
    def test_a_function_that_writes_into_an_input(self, place: str) -> None:
        marking = function(modules.MarkingConvolution, name=f"marks_{place}")
        assert ("run", "InputChanged") == refusal(marking)

    def test_a_workload_that_fails_is_a_failure_of_timing(self) -> None:
        failing = {"workload": "import nothing_of_that_name"}
        assert ("time", "ModuleNotFoundError") == refusal(function(PLAIN), **failing)

    def test_a_target_that_does_not_exist(self) -> None:
        assert "time" == refusal(function(PLAIN), target="nothing")[0]


def test_a_workload_is_executed_by_itself() -> None:
    assert {"a": ()} == load_workload("VARIANTS = {'a': ()}").VARIANTS


class TestCompiledAhead:
    """What is compiled before it is asked for is taken, each thing once."""

    @pytest.fixture(autouse=True)
    def nothing(self) -> Iterator[None]:
        kernels._compiled_ahead.clear()
        yield
        kernels._compiled_ahead.clear()

    @staticmethod
    def ahead(*shapes: TimedFunction) -> int:
        compile_ahead(timing_task(*shapes))
        return len(kernels._compiled_ahead)

    def test_all_that_is_timed_is(self) -> None:
        """Submission, baseline, its copy and reference; at a larger batch the course's own."""
        larger = msgspec.structs.replace(function(PLAIN, batch=8), module=b"")
        assert 4 + 3 == self.ahead(function(PLAIN), larger)
        both = [function(fused(batch=each), batch=each, rings=SLICES + 1) for each in (4, 8)]
        assert "conv2d" == measure(*both).variant
        left = len(kernels._compiled_ahead)
        assert 1 == left, "the submission's own, which is another function"

    def test_what_is_told_later_is_compiled_besides(self) -> None:
        """Which functions there are at larger batches is found after the notebook's end."""
        self.ahead(function(PLAIN))
        before = {**kernels._compiled_ahead}
        assert 4 + 4 == self.ahead(function(PLAIN), function(fused(batch=8), batch=8))
        assert all(kernels._compiled_ahead[each] is made for each, made in before.items())

    def test_what_is_the_same_is_taken(self) -> None:
        self.ahead(function(PLAIN))
        measure()
        assert {} == kernels._compiled_ahead

    def test_what_the_course_has_for_another_variant_is_left(self) -> None:
        """Which one a function computes, only calls of it show."""
        module = fused("bias", "relu")
        taken = function(module, rings=SLICES + 1)
        assert 4 == self.ahead(taken)
        assert "conv2d_bias_relu" == measure(taken).variant

    def test_what_a_workload_makes_known_it_makes_known_once(self) -> None:
        """TVM refuses an intrinsic that there is already, and a schedule would have been blamed."""
        known = "import tvm\ntvm.register_global_func('grader.tests.once', lambda: 0)\n"
        workload = WORKLOAD + known
        compile_ahead(timing_task(workload=workload))
        assert "conv2d" == measure(workload=workload).variant

    def test_nothing_is_called_and_nobody_confined(self) -> None:
        """The notebook still runs."""
        before = os.sched_getaffinity(0)
        self.ahead(function(modules.timed_convolution()))
        assert before == os.sched_getaffinity(0)
