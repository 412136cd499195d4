"""What guards cost where modules run for their outputs: building, and calling.

    python benchmarks/guard_cost.py [rounds]

Models as students build them are built and called plainly, with guards, and as they are graded:
with guards and optimised for one run. They take turns in random order. Printed are the medians of
the ratios of processor time to the plain one's, and how many checks are left at run time: where
there is none, the machine code with guards is the plain one.
"""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1", OMP_NUM_THREADS="1")

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax, te, topi

from grader.inside.common.guards import Guards
from grader.inside.common.machine import for_one_run

CALLS = 60
KINDS = ("plain", "guarded", "graded")
TARGET = tvm.target.Target("llvm")


def constant(*shape: int) -> Any:
    """Return numbers drawn at random, as a constant of Relax."""
    return relax.const(np.random.default_rng(len(shape)).standard_normal(shape).astype("float32"))


def built(shape: tuple[int, ...], layers: Callable[[Any, Any], Any]) -> tvm.IRModule:
    """Return a module whose `main` takes one array of a shape through some layers."""
    builder = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [argument]):
        with builder.dataflow():
            output = builder.emit_output(layers(builder, argument))
        builder.emit_func_output(output)
    return builder.get()


def perceptron(builder: Any, x: Any) -> Any:
    """The model of e2e-mlp."""
    x = builder.emit_te(topi.nn.relu, builder.emit_te(topi.nn.dense, x, constant(128, 784)))
    return builder.emit_te(topi.nn.dense, x, constant(10, 128))


def classifier(builder: Any, x: Any) -> Any:
    """The model of e2e-conv."""
    x = builder.emit_te(topi.nn.conv2d, x, constant(32, 1, 3, 3), 1, 0, 1)
    x = builder.emit_te(topi.nn.relu, x)
    x = builder.emit_te(topi.nn.pool2d, x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    x = builder.emit_te(topi.nn.flatten, x)
    x = builder.emit_te(topi.nn.relu, builder.emit_te(topi.nn.dense, x, constant(100, 5408)))
    return builder.emit_te(topi.nn.softmax, builder.emit_te(topi.nn.dense, x, constant(10, 100)))


def padded(builder: Any, x: Any) -> Any:
    """A convolution with a border, whose accesses need a condition."""
    return builder.emit_te(topi.nn.conv2d, x, constant(32, 1, 3, 3), 1, 1, 1)


def product(builder: Any, x: Any) -> Any:
    """The exercise of tensorir: products of matrices and a ReLU."""

    def relu_of_product(a: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, 128), "k")
        result = te.compute(
            (16, 128, 128), lambda n, i, j: te.sum(a[n, i, k] * a[n, k, j], axis=k), name="Y"
        )
        return topi.nn.relu(result)

    return builder.emit_te(relu_of_product, x)


MODELS: dict[str, tuple[tuple[int, ...], Callable[[Any, Any], Any]]] = {
    "e2e-mlp": ((4, 784), perceptron),
    "e2e-conv": ((4, 1, 28, 28), classifier),
    "padded": ((4, 1, 28, 28), padded),
    "tensorir": ((16, 128, 128), product),
}


def measure(kind: str, module: tvm.IRModule, argument: Any) -> tuple[float, float, int]:
    """Return the processor seconds of building and of a call, and the checks that are left."""
    guards = Guards()
    target = for_one_run(TARGET) if kind == "graded" else TARGET
    start = time.process_time()
    if kind == "plain":
        executable = relax.build(module, target)
    else:
        with guards.building() as pipeline:
            executable = relax.build(module, target, tir_pipeline=pipeline)
    main = relax.VirtualMachine(executable, tvm.cpu())["main"]
    main(argument)  # builds, too: machine code is made when it is first needed
    begin = time.process_time()
    for _ in range(CALLS):
        main(argument)
        guards.demand_none()
    return begin - start, (time.process_time() - begin) / CALLS, guards.checks


def main(rounds: int) -> None:
    """Print a row for each model."""
    generator = np.random.default_rng(0)
    print(f"{'model':10} {'build and first call':>32} {'call':>30}   checks")
    print(" " * 10 + "    plain  guarded   graded" * 2)
    for name, (shape, layers) in MODELS.items():
        module = built(shape, layers)
        argument = tvm.runtime.tensor(generator.standard_normal(shape).astype("float32"))
        measure("guarded", module, argument)
        taken = [
            {kind: measure(kind, module, argument) for kind in generator.permutation(KINDS)}
            for _ in range(rounds)
        ]
        print(f"{name:10}", end="")
        for which, unit in ((0, "ms"), (1, "us")):
            scale = {"ms": 1e3, "us": 1e6}[unit]
            plain = scale * statistics.median(each["plain"][which] for each in taken)
            print(f" {plain:7.0f} {unit}", end="")
            for kind in ("guarded", "graded"):
                ratio = statistics.median(
                    each[kind][which] / each["plain"][which] for each in taken
                )
                print(f"   x {ratio:4.2f}", end="")
        print(f"   {taken[0]['guarded'][2]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 9)
