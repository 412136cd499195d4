"""The course's own matrix product: unscheduled, as a target, and at its best, all of it right."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import tvm

from grader.inside.common.machine import find_target
from tests.seeded import seeded

FOLDER = Path(__file__).parents[2] / "assignments" / "tensorir"
GENERATOR = seeded(7)
A, B = (GENERATOR.standard_normal((16, 128, 128), dtype=np.float32) for _ in range(2))
PRODUCT = np.maximum(A.astype(float) @ B.astype(float), 0)
SHAPES = {"A": A.shape, "B": B.shape}


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        f"tensorir_{name}", FOLDER / f"{name}.py"
    )
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


WORKLOAD = load("workload")


def compute(module: tvm.IRModule, target: object = "llvm") -> np.ndarray:
    """Run `main` with an output that is NaN before."""
    function = module["main"].with_attr("global_symbol", "main")
    output = tvm.runtime.tensor(np.full(PRODUCT.shape, np.nan, "float32"))
    tvm.compile(function, target).mod["main"](*map(tvm.runtime.tensor, (A, B)), output)
    return output.numpy()


def loop_kinds(module: tvm.IRModule) -> set[str]:
    text = str(module.script())
    return {kind for kind in ("parallel", "vectorized", "unroll") if f"T.{kind}(" in text}


class TestWorkload:
    def test_it_has_one_variant_of_the_computations_arguments(self) -> None:
        assert {"bmm_relu": ("A", "B")} == WORKLOAD.VARIANTS

    def test_the_baseline_is_right_and_not_scheduled(self) -> None:
        module = WORKLOAD.baseline("bmm_relu", SHAPES)
        assert set() == loop_kinds(module)
        np.testing.assert_allclose(compute(module), PRODUCT, rtol=1e-4, atol=1e-4)

    def test_the_target_is_right_and_takes_every_step(self) -> None:
        module = WORKLOAD.target()
        assert {"parallel", "vectorized", "unroll"} == loop_kinds(module)
        assert 'sblock("Y_init")' in str(module.script())
        np.testing.assert_allclose(compute(module), PRODUCT, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("threads", [1, 4])
    def test_the_reference_is_right_with_the_vectors_of_this_processor(self, threads: int) -> None:
        module = WORKLOAD.reference("bmm_relu", SHAPES, threads)
        target, _ = find_target("host")
        assert (threads > 1) == ("parallel" in loop_kinds(module))
        np.testing.assert_allclose(compute(module, target), PRODUCT, rtol=1e-4, atol=1e-4)

    def test_the_reference_does_what_the_advice_says_of_it(self) -> None:
        """grader/checks/kinds/measured.py: tiles, vectors, loops written out."""
        assert {"vectorized", "unroll"} == loop_kinds(WORKLOAD.reference("bmm_relu", SHAPES, 1))

    def test_a_tile_of_the_reference_is_summed_up_in_registers(self) -> None:
        """Eight rows times two vectors, and no detour."""
        module = WORKLOAD.reference("bmm_relu", SHAPES, 1)
        function = module["main"].with_attr("global_symbol", "f")
        config = {"kind": "llvm", "mcpu": "znver5", "mtriple": "x86_64-linux-gnu"}
        source = tvm.compile(function, tvm.target.Target(config)).mod.inspect_source("asm")
        sums = [line for line in source.splitlines() if "vfmadd" in line and "zmm" in line]
        assert sums
        assert 0 == len(sums) % (8 * 2)
        assert not [line for line in sums if "rsp" in line or "rbp" in line]


class TestLibrary:
    def test_pytorch_is_timed_on_the_same(self) -> None:
        with torch.inference_mode():
            actual = load("library").library("bmm_relu")(torch.from_numpy(A), torch.from_numpy(B))
        np.testing.assert_allclose(actual.numpy(), PRODUCT, rtol=1e-4, atol=1e-4)
