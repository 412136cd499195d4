"""Tasks of timing that are done in a second, and the functions that they time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import te, topi

from grader.inside.common.machine import find_target
from grader.inside.common.modules import load_workload
from grader.inside.runner.subjects import Subjects, prepare_shape
from grader.messages.frames import pack_array
from grader.messages.timing import TimedFunction, TimeSchedule, TimingRules
from tests.inside.runner import modules

WORKLOAD = (Path(__file__).parents[3] / "assignments/e2e-conv/workload.py").read_text()
RING = 3
OUTPUT = (4, 32, 26, 26)


def draw(*shape: int) -> np.ndarray:
    generator = np.random.default_rng(sum(shape))
    return generator.standard_normal(shape).astype("float32")


def function(module: object, *, name: str = "conv2d", batch: int = 4, rings: int = 1) -> Any:
    """Return a schedule at one batch size, with inputs for so many slices."""
    data = pack_array(draw(RING * rings, batch, 1, 28, 28))
    return TimedFunction(modules.document(module), name, data)


def timing_rules(**changes: float) -> TimingRules:
    """Rules of as few slices as may be."""
    fields = {
        "block_seconds": 0.00004,
        "budget_seconds": 0.0,
        "resolution": -1.0,
        "full": (2.0, 2.0),
    }
    return TimingRules(**{**fields, **changes})  # type: ignore[arg-type]


def timing_task(*shapes: TimedFunction, **changes: Any) -> TimeSchedule:
    """Return a task for the shapes, by default the unscheduled convolution of four images."""
    fields: dict[str, Any] = {
        "workload": WORKLOAD,
        "shapes": shapes or (function(modules.timed_convolution()),),
        "names": ("data", "weight", "bias"),
        "fixed": (pack_array(modules.WEIGHT), pack_array(draw(32))),
        "ring": RING,
        "target": "llvm",
        "cpus": (0,),
        "seed": 1,
        "rules": timing_rules(),
    }
    return TimeSchedule(**{**fields, **changes})


def prepared(task: TimeSchedule, workload: str = WORKLOAD) -> Subjects:
    """Return what is timed at the first shape of a task, in this process and without pinning it."""
    target, _ = find_target(task.target)
    generator = np.random.default_rng(0)
    return prepare_shape(0, task.shapes[0], task, load_workload(workload), target, generator)


def fused(*names: str, bias_shape: tuple[int, ...] = (1, 32, 1, 1), batch: int = 4) -> Any:
    """A module whose `conv2d` also does what is named; its parameters are in an unusual order."""
    data = te.placeholder((batch, 1, 28, 28), "float32", name="data")
    weight = te.placeholder((32, 1, 3, 3), "float32", name="weight")
    result, arguments = topi.nn.conv2d(data, weight, 1, 0, 1), [weight, data]
    if "bias" in names:
        bias = te.placeholder(bias_shape, "float32", name="bias")
        arguments.insert(0, bias)
        result = topi.add(result, topi.reshape(bias, (1, 32, 1, 1)))
    if "relu" in names:
        result = topi.nn.relu(result)
    if "tanh" in names:
        result = topi.tanh(result)
    return tvm.IRModule({"conv2d": te.create_prim_func([*arguments, result])})


def convolved(data: np.ndarray) -> np.ndarray:
    """Return the convolution of images, of shape (..., 1, 28, 28), with the tests' weight."""
    windows = np.lib.stride_tricks.sliding_window_view(data[..., 0, :, :], (3, 3), axis=(-2, -1))
    return np.einsum("...yxij,fij->...fyx", windows, modules.WEIGHT[:, 0])
