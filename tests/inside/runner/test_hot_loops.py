"""Hot loops leave a runner as numbers, and only where a difference is to be explained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.inside.runner import kernels, timing
from grader.inside.runner.subjects import Subjects
from grader.inside.runner.timing import read_hot_loops
from grader.messages.timing import HotLoops
from tests.inside.runner import modules
from tests.inside.runner.timed import function, prepared, timing_task


@pytest.fixture(scope="module")
def shape() -> Subjects:
    """The unscheduled convolution in place of a schedule."""
    return prepared(timing_task(function(modules.timed_convolution())))


def read(shape: Subjects, baseline: float, submission: float, reference: float) -> HotLoops:
    return read_hot_loops(shape, np.array([baseline, baseline, submission, reference]))


def test_of_what_is_slower_than_everything_all_three_are_read(shape: Subjects) -> None:
    found = read(shape, 1.0, 2.0, 0.5)
    assert found.submission is not None
    assert found.submission == found.unscheduled != found.reference
    assert found.reference is not None


def test_beside_what_is_faster_than_the_unscheduled_stands_the_reference(
    shape: Subjects,
) -> None:
    found = read(shape, 1.0, 0.8, 0.5)
    assert found.unscheduled is None
    assert None not in (found.submission, found.reference)


def test_of_what_is_as_fast_as_the_reference_nothing_is_read(
    shape: Subjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels.Kernel, "assembly", lambda kernel: 1 / 0)
    assert HotLoops() == read(shape, 1.0, 0.5, 0.5)


def test_a_measurement_of_a_slow_schedule_brings_them_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def filters_innermost(schedule: Any) -> None:
        n, c, y, x, i, dy, dx = schedule.get_loops(schedule.get_sblock("conv2d_nchw"))
        schedule.reorder(n, y, x, i, dy, dx, c)

    monkeypatch.setattr(timing, "pin", lambda cpus: None)  # this process has other tests to run
    slow = function(modules.timed_convolution(filters_innermost), rings=4)
    found = timing.time_schedule(timing_task(slow)).hot_loops
    assert found.submission is not None
    assert found.submission.stores > found.submission.multiply_adds / 2


def test_a_program_whose_text_would_take_seconds_is_not_printed(
    shape: Subjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "MOST_PRINTED", 1000)
    assert HotLoops() == read(shape, 1.0, 2.0, 0.5)


def test_what_llvm_cannot_print_costs_no_measurement(
    shape: Subjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(kernel: kernels.Kernel) -> str:
        raise RuntimeError("LLVM says no")

    monkeypatch.setattr(kernels.Kernel, "assembly", fail)
    assert HotLoops() == read(shape, 1.0, 2.0, 0.5)
