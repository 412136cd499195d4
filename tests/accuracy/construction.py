"""Models that cannot be built: each has one line of a right one changed, and TVM raises.

`told` of a mutant is what the advice must name; it is empty where nobody can know the cause.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tvm import relax, topi
from tvm.script import relax as R  # noqa: N812
from tvm.te.tag import TagScope

from grader.data.parameters import KNOWN
from grader.diagnosis.construction import Layers, usual_cause
from grader.execute.known_errors import recognise
from grader.inside.kernel.faults import describe_error, error_name

SHAPES = KNOWN["fasionmnist_mlp_assignment_params.pkl"].shapes
HEAD = """\
def create():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    w, b = constant("conv2d_weight"), constant("conv2d_bias", (1, 32, 1, 1))
    w0, b0 = constant("linear0_weight"), constant("linear0_bias")
    w1, b1 = constant("linear1_weight"), constant("linear1_bias")
    with bb.function("main", [x]):
        with bb.dataflow():
"""
TOPI = """\
            h = bb.emit_te(topi.nn.conv2d, x, w, 1, 0, 1)
            h = bb.emit_te(topi.add, h, b)
            h = bb.emit_te(topi.nn.relu, h)
            h = bb.emit_te(topi.nn.pool2d, h, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
            h = bb.emit_te(topi.nn.flatten, h)
            h = bb.emit_te(topi.nn.dense, h, w0, b0)
            h = bb.emit_te(topi.nn.relu, h)
            h = bb.emit_te(topi.nn.dense, h, w1, b1)
            h = bb.emit_output(bb.emit_te(topi.nn.softmax, h, 1))
"""
RELAX = """\
            h = bb.emit(relax.op.nn.conv2d(x, w))
            h = bb.emit(relax.op.add(h, b))
            h = bb.emit(relax.op.nn.relu(h))
            h = bb.emit(relax.op.nn.max_pool2d(h, (2, 2), (2, 2)))
            h = bb.emit(relax.op.nn.batch_flatten(h))
            h = bb.emit(relax.op.linear(h, w0, b0))
            h = bb.emit(relax.op.nn.relu(h))
            h = bb.emit(relax.op.linear(h, w1, b1))
            h = bb.emit_output(relax.op.nn.softmax(h, 1))
"""
TAIL = """\
        bb.emit_func_output(h)
    return bb.get()
"""


class Unbuilt(NamedTuple):
    """A mutant: the lines that it is made of, what is replaced, and where and what is to be told.

    `line` is a part of the line that TVM raises in: that of the mistake, or the first that it does
    not fit.
    """

    body: str
    old: str
    new: str
    line: str
    told: str


MUTANTS = (
    Unbuilt(TOPI, "w, 1, 0, 1", "w, 1, 1, 1", "w0", "conv2d: padding is 1"),
    Unbuilt(TOPI, "w, 1, 0, 1", "w, 2, 0, 1", "w0", "conv2d: stride is 2"),
    Unbuilt(TOPI, "w, 1, 0, 1", "w, 1, 2, 1", "w0", "conv2d: padding is 2"),
    Unbuilt(TOPI, "w, 1, 0, 1", "w, 1, 0, 2", "w0", "conv2d: dilation is 2"),
    Unbuilt(TOPI, "(2, 2), (2, 2)", "(2, 2), (1, 1)", "w0", "max_pool2d: stride is 1"),
    Unbuilt(TOPI, "(2, 2), (2, 2)", "(3, 3), (2, 2)", "w0", "max_pool2d: window"),
    Unbuilt(TOPI, "(0, 0, 0, 0)", "(1, 1, 1, 1)", "w0", "max_pool2d: padding is 1"),
    Unbuilt(TOPI, TOPI.splitlines(keepends=True)[3], "", "w0", "max_pool2d is left out"),
    Unbuilt(TOPI, TOPI.splitlines(keepends=True)[4], "", "w0", "flattens"),
    Unbuilt(TOPI, "topi.add, h, b)", "topi.add, h, b0)", "topi.add", "belongs to another layer"),
    Unbuilt(TOPI, "h, w0, b0", "h, w1, b0", "w1, b0", "weight of another layer"),
    Unbuilt(TOPI, "h, w0, b0", "h, w0, b1", "w0, b1", "belongs to another layer"),
    Unbuilt(TOPI, "h, w0, b0", "w0, h, b0", "w0, h", "images first"),
    Unbuilt(TOPI, "topi.nn.dense, h, w0", "topi.matmul, h, w0", "matmul", "takes no bias"),
    Unbuilt(TOPI, "topi.nn.dense, h, w0, b0", "topi.matmul, h, w0", "w1", "transposed"),
    Unbuilt(TOPI, "x, w, 1, 0, 1", "x, w", "conv2d", "'padding', and 'dilation'"),
    Unbuilt(TOPI, "x, w, 1, 0, 1", "w, x, 1, 0, 1", "conv2d", "images first"),
    Unbuilt(TOPI, '(1, 1), (0, 0, 0, 0), "max"', '"max"', "pool2d", "'pool_type'"),
    Unbuilt(TOPI, "(0, 0, 0, 0)", "(0, 0)", "pool2d", "four numbers"),
    Unbuilt(TOPI, '"max"', "max", "pool2d", "in quotes"),
    Unbuilt(TOPI, '"max"', '"maximum"', "pool2d", ""),
    Unbuilt(TOPI, "softmax, h, 1", "softmax, h, 2", "softmax", "no such axis"),
    Unbuilt(TOPI, "nn.pool2d", "nn.max_pool2d", "max_pool2d", "pool2d(x, kernel"),
    Unbuilt(TOPI, "topi.nn.dense", "topi.nn.linear", "linear", "topi.nn.dense"),
    Unbuilt(TOPI, "topi.nn.relu", "topi.relu", "topi.relu", "topi.nn.relu"),
    Unbuilt(TOPI, "topi.nn.conv2d", "topi.conv2d", "topi.conv2d", "topi.nn.conv2d"),
    Unbuilt(TOPI, "topi.nn.softmax", "topi.softmax", "topi.softmax", "topi.nn.softmax"),
    Unbuilt(TOPI, "(topi.nn.relu, h)", "(topi.nn.relu(h))", "relu(h)", "separately"),
    Unbuilt(TOPI, "emit_te(topi.nn.relu", "emit(topi.nn.relu", "bb.emit(", "bb.emit_te a function"),
    Unbuilt(TOPI, "topi.nn.relu", "relax.op.nn.relu", "relax.op.nn.relu", "go into bb.emit"),
    Unbuilt(RELAX, "(x, w)", "(x, w, padding=1)", "w0", "conv2d: padding is 1"),
    Unbuilt(RELAX, "(x, w)", "(x, w, strides=2)", "w0", "conv2d: stride is 2"),
    Unbuilt(RELAX, "(x, w)", "(x, w, dilation=2)", "w0", "conv2d: dilation is 2"),
    Unbuilt(RELAX, "(2, 2), (2, 2)", "(2, 2)", "w0", "max_pool2d: stride is 1"),
    Unbuilt(RELAX, "(2, 2), (2, 2)", "(3, 3), (2, 2)", "w0", "max_pool2d: window"),
    Unbuilt(RELAX, RELAX.splitlines(keepends=True)[3], "", "w0", "max_pool2d is left out"),
    Unbuilt(RELAX, RELAX.splitlines(keepends=True)[4], "", "w0", "flattens"),
    Unbuilt(RELAX, "batch_flatten", "flatten", "nn.flatten", "batch_flatten"),
    Unbuilt(RELAX, "linear(h, w0", "matmul(h, w0", "matmul", "takes no bias"),
    Unbuilt(RELAX, "linear(h, w0, b0)", "dense(h, w0, b0)", "dense", "relax.op.linear"),
    Unbuilt(RELAX, "h, w0, b0", "h, w1, b0", "w1, b0", "weight of another layer"),
    Unbuilt(RELAX, "h, w0, b0", "h, w0, b1", "w0, b1", "belongs to another layer"),
    Unbuilt(RELAX, "nn.batch_flatten(h)", "reshape(h, (4, 6272))", "reshape", "as many numbers"),
    Unbuilt(RELAX, "softmax(h, 1)", "softmax(h, 2)", "softmax", "no such axis"),
    Unbuilt(
        RELAX, "bb.emit(relax.op.nn.relu(h))", "bb.emit_te(relax.op.nn.relu, h)", "emit_te", "go"
    ),
    Unbuilt(RELAX, "nn.max_pool2d", "nn.pool2d", "pool2d", "nn.max_pool2d"),
    Unbuilt(RELAX, "nn.softmax", "softmax", "op.softmax", "relax.op.nn.softmax"),
    Unbuilt(RELAX, "(x, w)", "(w, x)", "op.add", ""),
)


def _constant(name: str, shape: tuple[int, ...] | None = None) -> Any:
    return relax.const(np.zeros(shape or SHAPES[name], "float32"), "float32")


class Told(NamedTuple):
    """What is said of a mutant: the line that raised, and the advice."""

    mutant: Unbuilt
    line: str
    advice: str

    @property
    def is_right(self) -> bool:
        """Say whether the line is the one with the mistake, or the first that does not fit."""
        return self.mutant.line in self.line

    @property
    def is_recognised(self) -> bool:
        """Say whether the advice names the mistake."""
        return bool(self.mutant.told) and self.mutant.told in self.advice


def tell(mutant: Unbuilt, layers: Layers) -> Told:
    """Build a mutant, and return what is said of its error."""
    source = HEAD + mutant.body.replace(mutant.old, mutant.new, 1) + TAIL
    names: dict[str, Any] = {"relax": relax, "topi": topi, "R": R, "constant": _constant}
    exec(compile(source, str(Path("mutant.py")), "exec"), names)
    try:
        names["create"]()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [each.lineno or 1 for each in frames if each.filename == "mutant.py"]
        advice = usual_cause(recognise(error_name(error), describe_error(error)), layers)
        return Told(mutant, source.splitlines()[lines[-1] - 1], advice.english)
    finally:
        TagScope._current = None  # TVM leaves it as it was when a function of TOPI raised
    raise AssertionError(f"a mutant that TVM builds: {mutant.new}")
