"""How TVM itself times a function: one after the other, by the mean of a few runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from metaschedule import BATCH, SHAPES, load_workload
from schedules import Schedule, model

from grader.inside.common.machine import find_target, prepare_environment, use_threads

Protocol = Callable[[Any, list[Any]], float]
"""Returns seconds of one call of a compiled function on its arguments."""


def time_evaluator(function: Any, arguments: list[Any]) -> float:
    """Return the mean of ten times ten runs, as tutorials do."""
    return float(function.time_evaluator("main", tvm.cpu(), number=10, repeat=10)(*arguments).mean)


def meta_schedule(function: Any, arguments: list[Any]) -> float:
    """Return what `EvaluatorConfig()` asks for: 3 runs, or as many as last 100 ms, once."""
    evaluator = function.time_evaluator("main", tvm.cpu(), number=3, repeat=1, min_repeat_ms=100)
    return float(evaluator(*arguments).mean)


PROTOCOLS: dict[str, Protocol] = {
    "time_evaluator": time_evaluator,
    "MetaSchedule's default": meta_schedule,
}


class Contest:
    """The unscheduled, a submitted and the reference function, compiled in this process."""

    def __init__(self, schedule: Schedule, threads: int) -> None:
        workload = load_workload()
        prepare_environment()  # read when the first parallel loop runs
        use_threads(threads)
        target, _ = find_target("host")
        scheduled = tvm.s_tir.Schedule(model())
        schedule(scheduled)
        functions = {
            "baseline": workload.baseline("conv2d", SHAPES)["main"],
            "reference": workload.reference("conv2d", SHAPES, threads)["main"],
            "submission": scheduled.mod["conv2d"].with_attr("global_symbol", "main"),
        }
        self._compiled = {
            name: tvm.compile(function, target).mod for name, function in functions.items()
        }
        generator = np.random.default_rng(0)
        shapes = [*SHAPES.values(), (BATCH, 32, 26, 26)]
        self._arguments = [
            tvm.runtime.tensor(generator.standard_normal(shape).astype("float32"))
            for shape in shapes
        ]

    def ratio(self, protocol: Protocol, slow: str, fast: str) -> float:
        """Return how many times faster one is than the other, timed one after the other."""
        first = protocol(self._compiled[slow], self._arguments)
        return first / protocol(self._compiled[fast], self._arguments)
