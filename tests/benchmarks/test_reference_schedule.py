"""What the reference schedule is compared with. No test measures anything."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import tvm

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("reference_schedule")


def outputs(module: tvm.IRModule, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    output = tvm.runtime.tensor(np.full((4, 32, 26, 26), np.nan, "float32"))
    function = module["main"].with_attr("global_symbol", "main")
    tvm.compile(function, "llvm").mod["main"](*map(tvm.runtime.tensor, inputs), output)
    return output.numpy()


def test_every_schedule_computes_the_same(benchmark: ModuleType) -> None:
    found = benchmark.schedules(1)
    assert {"unscheduled", "metaschedule_1", "metaschedule_4", "reference"} == set(found)
    expected = outputs(found["unscheduled"], benchmark.arrays())
    for module in found.values():
        np.testing.assert_allclose(outputs(module, benchmark.arrays()), expected, atol=1e-5)


def test_a_ratio_is_of_blocks_of_one_round_and_leaves_disturbed_ones_out(
    benchmark: ModuleType,
) -> None:
    seconds = {"reference": np.array([1.0, 2.0, math.nan]), "torch": np.array([3.0, math.nan, 5.0])}
    measured = benchmark.Measured(seconds, flops=1.0, bandwidth=1.0)
    np.testing.assert_array_equal([3.0], benchmark.ratio(measured, "torch"))


def test_nothing_but_disturbed_rounds_is_no_number(benchmark: ModuleType) -> None:
    seconds = {"reference": np.array([math.nan]), "torch": np.array([3.0])}
    measured = benchmark.Measured(seconds, flops=1.0, bandwidth=1.0)
    assert math.isnan(benchmark.median_ratio(measured, "torch"))


def test_the_tuner_is_as_good_as_its_best_schedule(benchmark: ModuleType) -> None:
    seconds = {"reference": np.full(3, 2.0), "tuned_1": np.full(3, 6.0), "tuned_4": np.full(3, 5.0)}
    assert 2.5 == benchmark.median_ratio(benchmark.Measured(seconds, 1.0, 1.0), "tuned")


def test_the_least_time_is_that_of_arithmetic_or_of_memory(benchmark: ModuleType) -> None:
    operations, traffic = 2 * 4 * 32 * 676 * 9, 4 * (4 * 784 + 288 + 4 * 32 * 676)
    assert operations == benchmark.least_seconds(benchmark.Measured({}, 1.0, 1e9))
    assert traffic == benchmark.least_seconds(benchmark.Measured({}, 1e9, 1.0))
