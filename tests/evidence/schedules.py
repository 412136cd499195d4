"""Real schedules of a convolution, and the captures that a student's kernel would make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tvm import relax, s_tir, te, topi
from tvm.script import relax as R  # noqa: N812

from grader.evidence.case import Candidate
from grader.inside.runner.entry import perform
from grader.ir.read import read_module
from grader.messages.kernel import Capture
from grader.messages.runner import FromRunner, ToRunner
from tests.ir import modules

WEIGHT = (8, 1, 3, 3)
IMAGE = (1, 8, 10)
OUTPUT = (8, 6, 8)

Layer = Callable[..., Any]


def constant(*shape: int) -> Any:
    values = np.random.default_rng(len(shape)).standard_normal(shape)
    return relax.const(values.astype("float32"), "float32")


def topi_layer(x: Any, w: Any) -> Any:
    return topi.nn.conv2d(x, w, 1, 0, 1)


def fused_layer(x: Any, w: Any, b: Any) -> Any:
    """Convolution, bias and ReLU in one function, by TOPI."""
    return topi.nn.relu(topi.add(topi.nn.conv2d(x, w, 1, 0, 1), b))


def hand_written(x: Any, w: Any) -> Any:
    """The convolution in TE, with names of the student's own."""
    rows, columns = te.reduce_axis((0, 3), "rows"), te.reduce_axis((0, 3), "columns")
    return te.compute(
        (x.shape[0], *OUTPUT),
        lambda n, f, i, j: te.sum(
            x[n, 0, i + rows, j + columns] * w[f, 0, rows, columns], axis=[rows, columns]
        ),
        name="mine",
    )


LAYERS: dict[str, Layer] = {
    "topi": topi_layer,
    "fused": fused_layer,
    "hand_written": hand_written,
}


@cache
def model(layer: str = "topi", batch: int = 4, name: str = "conv2d") -> Any:
    """A model of one convolution and a ReLU."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, *IMAGE), "float32"))
    bias = [constant(1, 8, 1, 1)] if layer == "fused" else []
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit_te(LAYERS[layer], x, constant(*WEIGHT), *bias, primfunc_name_hint=name)
            output = bb.emit_output(bb.emit_te(topi.nn.relu, hidden))
        bb.emit_func_output(output)
    return bb.get()


def schedule_topi(sch: Any, name: str = "conv2d") -> None:
    """Every step: inline, split, reorder, parallel, vectorize, unroll, decompose."""
    sch.compute_inline(sch.get_sblock("pad_temp", name))
    tile(sch, sch.get_sblock("conv2d_nchw", name))


def schedule_mine(sch: Any) -> None:
    tile(sch, sch.get_sblock("mine", "conv2d"))


def tile(sch: Any, block: Any) -> None:
    image, channel, row, column, *window = sch.get_loops(block)
    outer, inner = sch.split(channel, [None, 4])
    left, lanes = sch.split(column, [None, 4])
    sch.reorder(image, outer, row, left, *window, inner, lanes)
    sch.parallel(image)
    sch.vectorize(lanes)
    sch.unroll(inner)
    sch.decompose_reduction(block, window[0])


def saved_trace(schedule: Any) -> bytes:
    """Return the trace as the student's kernel saves it."""
    return json.dumps(schedule.trace.as_json(), default=lambda number: number.value).encode()


def candidate(
    module: Any, schedule: Callable[[Any], None], after: Callable[[Any], Any] | None = None
) -> Candidate:
    """Return what is captured after a schedule; `after` changes the module by hand."""
    base = modules.save(module)
    made = s_tir.Schedule(module)
    schedule(made)
    result = made.mod if after is None else after(made.mod)
    return read_candidate(modules.save(result), base, saved_trace(made))


def read_candidate(module: bytes, base: bytes | None, trace: bytes | None) -> Candidate:
    capture = Capture("schedule", "sch", 3, True, module, base, trace)
    facts = None if base is None else read_module(base)
    return Candidate(capture, read_module(module), facts)


class Runners:
    """Does every task here and now, as a runner does in its sandbox."""

    def __init__(self) -> None:
        self.tasks: list[ToRunner] = []

    def request(self, kind: str, task: ToRunner) -> FromRunner:
        assert "pure" == kind
        self.tasks.append(task)
        return perform(task)
