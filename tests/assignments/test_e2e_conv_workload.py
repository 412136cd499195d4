"""The course's own convolution: right in every variant, and scheduled as the notebook teaches."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import tvm

from grader.inside.common.machine import find_target

FILE = Path(__file__).parents[2] / "assignments" / "e2e-conv" / "workload.py"
BIAS_SHAPES = [(32,), (32, 1, 1), (1, 32, 1, 1)]
CASES = [
    (variant, shape)
    for variant in ("conv2d", "conv2d_bias", "conv2d_relu", "conv2d_bias_relu")
    for shape in (BIAS_SHAPES if "bias" in variant else [()])
]


@pytest.fixture(scope="module")
def workload() -> ModuleType:
    specification = importlib.util.spec_from_file_location("e2e_conv_workload", FILE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def compute(module: tvm.IRModule, *inputs: np.ndarray, target: object = "llvm") -> np.ndarray:
    """Run `main` on the inputs, with an output that is NaN before."""
    function = module["main"].with_attr("global_symbol", "main")
    output = tvm.runtime.tensor(np.full((len(inputs[0]), 32, 26, 26), np.nan, "float32"))
    tvm.compile(function, target).mod["main"](*map(tvm.runtime.tensor, inputs), output)
    return output.numpy()


def arrays(batch: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    bias = [draw(32).reshape(shape)] if shape else []
    return [draw(batch, 1, 28, 28), draw(32, 1, 3, 3), *bias]


def shapes(batch: int, bias: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"data": (batch, 1, 28, 28), "weight": (32, 1, 3, 3), "bias": bias or (32,)}


def loop_kinds(module: tvm.IRModule) -> set[str]:
    text = str(module.script())
    return {kind for kind in ("parallel", "vectorized", "unroll") if f"T.{kind}(" in text}


class TestBaseline:
    @pytest.mark.parametrize(("variant", "shape"), CASES)
    def test_it_equals_pytorch(
        self, workload: ModuleType, variant: str, shape: tuple[int, ...]
    ) -> None:
        inputs = arrays(2, shape)
        data, weight, *bias = (torch.from_numpy(array) for array in inputs)
        expected = torch.conv2d(data, weight, bias[0].reshape(32) if bias else None)
        expected = torch.relu(expected) if "relu" in variant else expected
        actual = compute(workload.baseline(variant, shapes(2, shape)), *inputs)
        np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-4, atol=1e-5)

    def test_it_is_not_scheduled(self, workload: ModuleType) -> None:
        assert loop_kinds(workload.baseline("conv2d_bias_relu", shapes(4, (32,)))) == set()


class TestReference:
    @pytest.mark.parametrize(("variant", "shape"), CASES)
    @pytest.mark.parametrize(
        ("batch", "threads"), [(1, 1), (4, 1), (1, 4), (4, 4), (3, 2), (64, 4)]
    )
    def test_it_computes_what_the_baseline_computes(
        self, workload: ModuleType, variant: str, shape: tuple[int, ...], batch: int, threads: int
    ) -> None:
        inputs = arrays(batch, shape)
        expected = compute(workload.baseline(variant, shapes(batch, shape)), *inputs)
        actual = compute(workload.reference(variant, shapes(batch, shape), threads), *inputs)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize(("variant", "shape"), CASES)
    def test_it_is_right_with_the_vectors_of_this_processor(
        self, workload: ModuleType, variant: str, shape: tuple[int, ...]
    ) -> None:
        inputs = arrays(16, shape)
        expected = compute(workload.baseline(variant, shapes(16, shape)), *inputs)
        target, _ = find_target("host")
        actual = compute(workload.reference(variant, shapes(16, shape), 2), *inputs, target=target)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)

    def test_it_does_what_the_advice_says_of_it(self, workload: ModuleType) -> None:
        """grader/checks/kinds/measured.py: tiles, vectors, loops written out."""
        module = workload.reference("conv2d", shapes(4, (32,)), 1)
        assert {"vectorized", "unroll"} == loop_kinds(module)

    @pytest.mark.parametrize("variant", ["conv2d", "conv2d_bias_relu"])
    def test_it_shows_every_step(self, workload: ModuleType, variant: str) -> None:
        module = workload.reference(variant, shapes(4, (32,)), 4)
        text = str(module.script())
        assert "pad_temp" not in text
        assert "bias_add" not in text
        assert 2 == len(re.findall(r"sblock\(\"conv2d_nchw\w*_init\"\)", text))
        assert 2 == len(re.findall(r"sblock\(\"conv2d_nchw\w*_update\"\)", text))
        assert loop_kinds(module) == {"parallel", "vectorized", "unroll"}

    @pytest.mark.parametrize("variant", ["conv2d", "conv2d_bias_relu"])
    @pytest.mark.parametrize(
        ("processor", "register", "count"),
        [("znver5", "zmm", 2 * 3 * 9), ("alderlake", "ymm", 6 * 9), ("haswell", "ymm", 6 * 9)],
    )
    def test_a_tile_is_summed_up_in_registers(
        self, workload: ModuleType, variant: str, processor: str, register: str, count: int
    ) -> None:
        """Six sums for nine places in the window, and no detour.

        Two filters by three vectors of 16 do not fit the registers of a processor without AVX-512:
        there the reference was slower than the unscheduled function.
        """
        config = {"kind": "llvm", "mcpu": processor, "mtriple": "x86_64-linux-gnu"}
        with (target := tvm.target.Target(config)):
            module = workload.reference(variant, shapes(4, (32,)), 1)
        function = module["main"].with_attr("global_symbol", "f")
        source = tvm.compile(function, target).mod.inspect_source("asm")
        sums = [line for line in source.splitlines() if "vfmadd" in line and register in line]
        assert count == len(sums)
        assert not [line for line in sums if "rsp" in line or "rbp" in line]

    @pytest.mark.parametrize("processor", ["x86-64-v2", "alderlake", "znver5"])
    def test_it_is_right_for_other_processors(self, workload: ModuleType, processor: str) -> None:
        """Compiled for this one, as it might not know the instructions of another."""
        inputs = arrays(3, (32,))
        expected = compute(workload.baseline("conv2d_bias", shapes(3, (32,))), *inputs)
        with tvm.target.Target({"kind": "llvm", "mcpu": processor}):
            module = workload.reference("conv2d_bias", shapes(3, (32,)), 1)
        np.testing.assert_allclose(compute(module, *inputs), expected, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize(("batch", "threads"), [(1, 4), (4, 1)])
    def test_it_starts_no_threads_for_nothing(
        self, workload: ModuleType, batch: int, threads: int
    ) -> None:
        assert "parallel" not in loop_kinds(
            workload.reference("conv2d", shapes(batch, ()), threads)
        )
