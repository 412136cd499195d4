"""How well the model of `gpu_cost` ranks kernels, against a GPU where TVM finds one.

    python benchmarks/gpu_calibration.py [--size 512] [--count 20] [--json FILE]

Twenty kernels (matrix product, convolution, window, sums, softmax, transposition, addition; from
naive to good) are executed by the grader, which predicts their cycles. Where TVM can use a GPU,
each is built for it and timed as well: the fastest of ten rounds of twenty calls. `--size` is the
extent of matrices; small ones measure nothing but the launch.

Printed as JSON: for each kernel its `cycles`, the `bytes` that it moves from and to global memory,
its `bottleneck` and, from a GPU, `microseconds`; then the `card`, and the rank `correlation`
(Spearman) of cycles and times. Without a GPU one sentence says so, and nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tvm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.evidence.gpu.cost import SECTOR_BYTES, cost_of, cycles_of, total
from grader.evidence.gpu.devices import DEVICES, Device
from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from grader.machine.gpus import Gpu, find_gpu
from tests.evidence.gpu import more_schedules as more
from tests.evidence.gpu import schedules as plain
from tests.evidence.gpu.schedules import Example

ROUNDS, CALLS = 10, 20


def kernels(size: int) -> dict[str, Callable[[], Example]]:
    """Return twenty kernels for matrices of this extent."""
    rule, matmul = more.GPU, more.matmul(size, size, size)
    rows, soft = more.row_sums(size, size), more.softmax(size, size)
    return {
        "product, naive": lambda: plain.product(size, 8, 1, 8, shared=False),
        "product, local tiles": lambda: plain.product(size, 8, 4, 8, shared=False),
        "product, shared": lambda: plain.product(size, 8, 1, 8),
        "product, shared and local tiles": lambda: plain.product(size, 8, 4, 8),
        "product, by vectors": lambda: plain.product(size, 8, 4, 8, vector=4),
        "product, by DLight": lambda: more.by_rule(matmul, rule.Matmul()),
        "product, by fallback": lambda: more.by_rule(matmul, rule.Fallback()),
        "transposition, naive": lambda: plain.transposition(size, shared=False),
        "transposition, shared": lambda: plain.transposition(size),
        "transposition, padded": lambda: plain.transposition(size, pad=1),
        "transposition, by DLight": lambda: more.by_rule(
            more.transposed(size, size), rule.Transpose()
        ),
        "sums, by fallback": lambda: more.by_rule(rows, rule.Fallback()),
        "sums, by a warp": lambda: more.by_all_threads(rows, 32),
        "sums, by DLight": lambda: more.by_rule(rows, rule.Reduction()),
        "softmax, by fallback": lambda: more.by_rule(soft, rule.Fallback()),
        "softmax, by DLight": lambda: more.by_rule(soft, rule.GeneralReduction()),
        "window, shared": lambda: plain.window(size * size, 128, 9),
        "convolution, shared": plain.convolution,
        "addition": lambda: plain.addition(size * size, 256),
        "addition, by vectors": lambda: plain.addition(size * size, 128, vector=4),
    }


def predict(example: Example, device: Device) -> dict[str, Any]:
    """Return what the model says of a kernel."""
    arrays = example.arrays()
    lowered = lower(example.module, "main", device.name)
    program = Program(lowered.function, lowered.shapes)
    counts = program.execute(arrays, [len(arrays) - 1]).counts()
    slowest = max(counts, key=lambda each: cost_of(device, each).cycles)
    return {
        "cycles": cycles_of(device, counts),
        "bytes": sum(total(each, "global") for each in counts) * SECTOR_BYTES,
        "bottleneck": cost_of(device, slowest).bottleneck,
    }


def measure(example: Example, target: Any, device: Any) -> float:
    """Return the microseconds of a call on a device of TVM. Raises TVMError."""
    built = tvm.compile(example.module, target)
    arrays = [tvm.runtime.tensor(each, device) for each in example.arrays()]
    evaluate = built.mod.time_evaluator("main", device, number=CALLS, repeat=ROUNDS)
    seconds: float = min(evaluate(*arrays).results)
    return round(seconds * 1e6, 2)


def rank_correlation(one: list[float], other: list[float]) -> float:
    """Return Spearman's rank correlation; equal values are ranked as they come."""
    first, second = (np.argsort(np.argsort(each, kind="stable")) for each in (one, other))
    return round(float(np.corrcoef(first, second)[0, 1]), 3)


def nearest(gpu: Gpu | None) -> Device:
    """Return the device of the table for a GPU: its own, or the newest that is not newer."""
    if gpu is None or not gpu.arch.startswith("sm_"):
        return DEVICES["sm_80"]
    number = int(gpu.arch[3:])
    older = [each for each in DEVICES.values() if int(each.name[3:]) <= number]
    return older[-1] if older else DEVICES["sm_75"]


def calibrate(size: int, count: int, gpu: Gpu | None) -> dict[str, Any]:
    """Predict kernels, and time them where there is a GPU."""
    device = nearest(gpu)
    found: dict[str, dict[str, Any]] = {}
    for name, make in islice(kernels(size).items(), count):
        found[name] = predict(make(), device)
        if gpu is not None:
            target = tvm.target.Target({"kind": gpu.kind, "arch": gpu.arch}, host="llvm")
            found[name]["microseconds"] = measure(make(), target, tvm.device(gpu.kind, 0))
        print(name, found[name], file=sys.stderr)
    figures: dict[str, Any] = {"model": device.name, "size": size, "kernels": found}
    if gpu is not None and count > 1:
        columns = ([each[key] for each in found.values()] for key in ("cycles", "microseconds"))
        figures |= {"card": gpu.name, "correlation": rank_correlation(*columns)}
    return figures


def main() -> int:
    """Predict, measure where that can be, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512, help="Extent of matrices.")
    parser.add_argument("--count", type=int, default=20, help="Most kernels.")
    parser.add_argument("--json", type=Path, help="Write the figures here as well.")
    options = parser.parse_args()
    gpu = find_gpu()
    if gpu is None:
        print("TVM can use no GPU here: kernels are predicted, not measured.", file=sys.stderr)
    text = json.dumps(calibrate(options.size, options.count, gpu), indent=1)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
