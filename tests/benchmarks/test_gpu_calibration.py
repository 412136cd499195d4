"""The calibration of the model: what it predicts everywhere, and how it times where it can."""

from __future__ import annotations

import sys

import pytest
import tvm
from tvm import te

from grader.machine.gpus import Gpu, find_gpu
from tests.benchmarks.test_run_small import BENCHMARKS, run
from tests.evidence.gpu.schedules import Example, _schedule

sys.path.insert(0, str(BENCHMARKS))

import gpu_calibration


def test_there_are_twenty_kernels() -> None:
    assert 20 == len(gpu_calibration.kernels(32))


def test_each_is_predicted() -> None:
    assert 20 == len(gpu_calibration.calibrate(32, 20, None)["kernels"])


def test_a_call_is_timed_on_a_device_of_tvm() -> None:
    a = te.placeholder((64,), "float32", name="A")
    c = te.compute((64,), lambda i: a[i] + 1, name="C")
    example = Example(_schedule([a, c]).mod, ((64,),), lambda x: x + 1)
    assert gpu_calibration.measure(example, "llvm", tvm.cpu(0)) > 0


def test_equal_orders_are_correlated_and_opposite_ones_are_not() -> None:
    assert 1.0 == gpu_calibration.rank_correlation([1, 2, 3], [10, 20, 40])
    assert -1.0 == gpu_calibration.rank_correlation([1, 2, 3], [40, 20, 10])


@pytest.mark.parametrize(
    ("version", "name"), [("7.5", "sm_75"), ("8.6", "sm_80"), ("9.0", "sm_90"), ("12.0", "sm_100")]
)
def test_a_gpu_is_modelled_by_the_newest_that_is_not_newer(version: str, name: str) -> None:
    assert name == gpu_calibration.nearest(Gpu("cuda", "", version)).name


def test_without_a_gpu_a_sentence_says_so() -> None:
    done = run("gpu_calibration.py", "--size", "32", "--count", "1")
    assert ("TVM can use no GPU here" in done.stderr) == (find_gpu() is None)


@pytest.mark.skipif(find_gpu() is None, reason="TVM can use no GPU here")
def test_where_there_is_a_gpu_kernels_are_timed_on_it() -> None:
    found = gpu_calibration.calibrate(64, 3, find_gpu())
    assert all(each["microseconds"] > 0 for each in found["kernels"].values())
