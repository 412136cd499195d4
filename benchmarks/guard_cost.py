"""What guards cost where modules run for their outputs: building, and calling.

    python benchmarks/guard_cost.py [rounds]

Models as students build them are built and called with guards and without, in turn and in random
order. Printed are the medians of the ratios of processor time, and how many checks are left at run
time: where there is none, the machine code is the same.
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

from grader.runner.guards import Guards

CALLS = 60


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


def measure(module: tvm.IRModule, argument: Any, *, guarded: bool) -> tuple[float, float, int]:
    """Return the processor seconds of building and of a call, and the checks that are left."""
    guards = Guards()
    start = time.process_time()
    if guarded:
        with guards.building() as pipeline:
            executable = relax.build(module, "llvm", tir_pipeline=pipeline)
    else:
        executable = relax.build(module, "llvm")
    middle = time.process_time()
    main = relax.VirtualMachine(executable, tvm.cpu())["main"]
    main(argument)
    begin = time.process_time()
    for _ in range(CALLS):
        main(argument)
        guards.demand_none()
    return middle - start, (time.process_time() - begin) / CALLS, guards.checks


def main(rounds: int) -> None:
    """Print a row for each model."""
    generator = np.random.default_rng(0)
    print(f"{'model':10} {'build':>16} {'call':>18}   checks")
    for name, (shape, layers) in MODELS.items():
        module = built(shape, layers)
        argument = tvm.runtime.tensor(generator.standard_normal(shape).astype("float32"))
        measure(module, argument, guarded=True)
        pairs = []
        for _ in range(rounds):
            order = generator.permutation([True, False]).tolist()
            taken = {each: measure(module, argument, guarded=each) for each in order}
            pairs.append((taken[True], taken[False]))
        build, call = (statistics.median(one[k] / two[k] for one, two in pairs) for k in (0, 1))
        plain = [statistics.median(two[k] for _, two in pairs) for k in (0, 1)]
        print(
            f"{name:10} {1e3 * plain[0]:7.0f} ms x {build:4.2f} {1e6 * plain[1]:9.1f} us x"
            f" {call:4.2f}   {pairs[0][0][2]}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 9)
