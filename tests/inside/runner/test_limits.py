"""The limits of the machine. No test depends on how fast anything is: clocks are made up."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tvm

from grader.inside.common.machine import find_target
from grader.inside.runner.entry import perform
from grader.inside.runner.limits import (
    COPIED_BYTES,
    LINE,
    ROUNDS,
    copy,
    measure_limits,
    multiply_adds,
)
from grader.messages.timing import MeasureLimits

LLVM = tvm.target.Target("llvm")


def intel(cpu: str) -> tvm.target.Target:
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu, "mtriple": "x86_64-linux-gnu"})


def ticking(*seconds: float) -> Callable[[], float]:
    """Return a clock by which blocks take so many seconds in turn, over and over."""

    def times() -> Iterator[float]:
        now = 0.0
        while True:
            for each in seconds:
                yield now
                now += each
                yield now

    return times().__next__


def compiled(function: object) -> Callable[..., None]:
    return tvm.compile(function, LLVM).mod["main"]


class TestKernels:
    def test_every_sum_is_multiplied_and_added_to_in_each_round(self) -> None:
        factors = tvm.runtime.tensor(np.repeat([[0.5], [1.0]], 4, axis=1).astype("float32"))
        sums = tvm.runtime.tensor(np.zeros((12, 4), "float32"))
        compiled(multiply_adds(4, 12))(factors, sums, 3)
        np.testing.assert_array_equal(np.full((12, 4), 1 + 0.5 + 0.25), sums.numpy())

    def test_every_copy_is_written(self) -> None:
        source = np.arange(5 * LINE, dtype="float32").reshape(5, LINE)
        target = tvm.runtime.tensor(np.full((3, 5, LINE), np.nan, "float32"))
        compiled(copy(3, 5))(tvm.runtime.tensor(source), target, 1)
        np.testing.assert_array_equal(np.stack([source + 1] * 3), target.numpy())

    @pytest.mark.parametrize(
        ("cpu", "lanes", "register"), [("znver5", 16, "zmm"), ("haswell", 8, "ymm")]
    )
    def test_sums_stay_in_registers_of_full_width(
        self, cpu: str, lanes: int, register: str
    ) -> None:
        source = tvm.compile(multiply_adds(lanes, 12), intel(cpu)).mod.inspect_source("asm")
        fused = [line for line in source.splitlines() if "vfmadd" in line]
        assert len(fused) >= 12
        assert all(re.fullmatch(rf"\s*\S+\s+(%{register}\d+(, )?){{3}}", each) for each in fused)


class TestMeasuring:
    def test_the_fastest_benchmark_and_the_fastest_block_count(self) -> None:
        limits = measure_limits(LLVM, 1, ticking(4.0, 8.0, 2.0, 4.0))
        assert limits.flops == 2 * 16 * 12 * ROUNDS / 2.0
        assert COPIED_BYTES / 2.0 < limits.bytes < 1.1 * COPIED_BYTES / 2.0

    def test_threads_can_do_as_many_times_as_much(self) -> None:
        one, four = (measure_limits(LLVM, threads, ticking(1.0)) for threads in (1, 4))
        assert four.flops == 4 * one.flops
        assert four.bytes == pytest.approx(4 * one.bytes, rel=0.02)

    def test_a_clock_that_stands_still_gives_a_high_limit_and_no_error(self) -> None:
        assert measure_limits(LLVM, 1, lambda: 0.0).flops > 1e15

    def test_the_real_clock_gives_what_a_processor_can_do(self) -> None:
        target, _ = find_target("host")
        limits = measure_limits(target, 1, time.perf_counter)
        assert 1e8 < limits.flops < 1e13
        assert 1e7 < limits.bytes < 1e13

    def test_a_task_is_done_on_its_processors_with_a_thread_on_each(self) -> None:
        allowed = sorted(os.sched_getaffinity(0))
        try:
            limits = perform(MeasureLimits("host", (allowed[-1],)))
            assert {allowed[-1]} == os.sched_getaffinity(0)
        finally:
            os.sched_setaffinity(0, allowed)
        assert 1e8 < limits.flops < 1e13

    def test_the_thread_may_use_its_processors_again(self) -> None:
        allowed = os.sched_getaffinity(0)
        measure_limits(LLVM, 1, ticking(1.0))
        assert os.sched_getaffinity(0) == allowed

    def test_it_may_use_them_after_an_error_too(self) -> None:
        allowed = os.sched_getaffinity(0)

        def broken() -> float:
            raise OSError

        with pytest.raises(OSError):
            measure_limits(LLVM, 1, broken)
        assert os.sched_getaffinity(0) == allowed
