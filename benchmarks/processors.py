"""Whether the schedules that the notebooks arrive at earn all points on other processors, too.

Everything is compiled for processors that this machine can stand for (`-mcpu` of LLVM), with one
thread: the unscheduled function, the notebook's schedule, the course's reference schedule, and the
notebook's once more with its `parallel` left as it is, which a grading times as a plain loop.
Blocks of the four take turns in random order; what counts is the processor time of the thread, as
others may use the machine. Printed for each processor and run are the speed-ups, the share of the
reference's log speed-up, the points of 15, and what `parallel` costs.

    python benchmarks/processors.py [--mcpu NAME ...] [--runs 5] [--rounds 40] [--load N]
                                    [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import numpy as np
from load import load
from metaschedule import BATCH, ROOT, SHAPES, load_workload

from grader.inside.common.machine import find_target, prepare_environment
from grader.measurement.points import Anchors, speed_fraction

BLOCK_SECONDS = 0.005
POINTS = 15
CELL = "sch.decompose_reduction(rest_block, rest_i)"
"""What stands in the cell of the notebook that schedules the convolution."""

THIS_PROCESSOR = 'tvm.target.Target.from_device("cpu")'
"""What that cell asks for the width of a vector."""


class Case(NamedTuple):
    """The functions of an assignment, the shapes of their arrays, and how its points are given."""

    functions: dict[str, Any]
    shapes: list[tuple[int, ...]]
    anchors: Anchors


def e2e_conv() -> Case:
    """Return the convolution of four images, scheduled as in the notebook, for the target."""
    import tvm
    from schedules import model

    workload = load_workload()
    notebook = nbformat.read(ROOT / "examples" / "e2e-conv" / "reference.ipynb", as_version=4)
    (source,) = (each.source for each in notebook.cells if CELL in each.source)
    names = {"tvm": tvm, "mod": model()}
    for here, there in (("sch.show()", ""), (THIS_PROCESSOR, "tvm.target.Target.current()")):
        assert here in source
        source = source.replace(here, there)
    exec(source, names)  # the course's own notebook
    functions = {
        "unscheduled": workload.baseline("conv2d", SHAPES)["main"],
        "notebook": names["sch"].mod["conv2d"],
        "reference": workload.reference("conv2d", SHAPES, 1)["main"],
    }
    return Case(functions, [*SHAPES.values(), (BATCH, 32, 26, 26)], Anchors(full_at=0.95))


def tensorir() -> Case:
    """Return the batched product of matrices, scheduled as the exercise asks."""
    workload = load_workload("tensorir")
    functions = {
        "unscheduled": workload.baseline("bmm_relu", {})["main"],
        "notebook": workload.target()["main"],
        "reference": workload.reference("bmm_relu", {}, 1)["main"],
    }
    return Case(functions, [(16, 128, 128)] * 3, Anchors(full_at=0.4))


CASES = {"e2e-conv": e2e_conv, "tensorir": tensorir}


def target_of(mcpu: str) -> Any:
    """Return the target of a processor by LLVM's name for it, or of this one, "host"."""
    import tvm

    host, _ = find_target("host")
    return host if mcpu == "host" else tvm.target.Target({"kind": "llvm", "mcpu": mcpu})


def compile_all(case: Case, target: Any) -> dict[str, Callable[[int], float]]:
    """Return what makes so many calls of each function, and returns the thread's seconds."""
    import tvm

    from grader.inside.common.timed import as_timed

    generator = np.random.default_rng(0)
    tensors = [
        tvm.runtime.tensor(generator.standard_normal(shape).astype("float32"))
        for shape in case.shapes
    ]
    timed = {name: as_timed(function, 1) for name, function in case.functions.items()}
    timed["parallel"] = case.functions["notebook"]
    return {name: _timer(function, target, tensors) for name, function in timed.items()}


def _timer(function: Any, target: Any, tensors: list[Any]) -> Callable[[int], float]:
    import tvm

    compiled = tvm.compile(function.with_attr("global_symbol", "main"), target).mod
    compiled["main"](*tensors)

    def seconds(calls: int) -> float:
        evaluator = compiled.time_evaluator("main", tvm.cpu(), number=calls, repeat=1)
        start = time.thread_time()
        evaluator(*tensors)
        return (time.thread_time() - start) / (calls + 1)  # it makes one call before it measures

    return seconds


def measure(timers: dict[str, Callable[[int], float]], rounds: int) -> dict[str, float]:
    """Return the median over rounds of each function's speed-up over the unscheduled one."""
    calls = {
        name: max(1, round(BLOCK_SECONDS / min(timer(3) for _ in range(3))))
        for name, timer in timers.items()
    }
    found: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        order = random.sample(list(timers), len(timers))
        seconds = {name: timers[name](calls[name]) for name in order}
        for name in timers:
            found[name].append(math.log(seconds["unscheduled"] / seconds[name]))
    return {name: math.exp(float(np.median(logs))) for name, logs in found.items()}


def row(speedups: dict[str, float], anchors: Anchors) -> dict[str, float]:
    """Return what is printed of a run: speed-ups, share, points, and what `parallel` costs."""
    reference = speedups["reference"]
    share = math.log(speedups["notebook"]) / math.log(reference)
    return {
        "notebook": speedups["notebook"],
        "reference": reference,
        "share": share,
        "points": POINTS * speed_fraction(share, reference, anchors),
        "parallel_costs": speedups["notebook"] / speedups["parallel"] - 1,
    }


def main() -> None:
    """Measure and print, run by run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--mcpu", nargs="+", default=["x86-64-v2", "x86-64-v3", "x86-64-v4", "host"]
    )
    parser.add_argument("--assignment", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside it")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ["TVM_NUM_THREADS"] = "1"
    prepare_environment()
    found = []
    with load(arguments.load):
        for slug in arguments.assignment:
            for mcpu in arguments.mcpu:
                with (target := target_of(mcpu)):
                    case = CASES[slug]()
                timers = compile_all(case, target)
                for _ in range(arguments.runs):
                    figures = row(measure(timers, arguments.rounds), case.anchors)
                    found.append({"assignment": slug, "mcpu": mcpu, **figures})
                    words = "  ".join(f"{name} {value:6.3f}" for name, value in figures.items())
                    print(f"{slug:9} {mcpu:10} {words}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
