"""The layers of e2e-conv in the many ways in which students write them, right or with a mistake."""

from __future__ import annotations

import random
from collections.abc import Sequence
from textwrap import indent
from typing import NamedTuple

from mistakes_e2e_conv import CONV_WITHOUT_INIT

Draw = random.Random

COMMENTS = {
    "one filter after the other": "一个滤波器接一个滤波器",
    "as in the lecture": "和课上一样",
    "a row for each image": "每张图像一行",
    "negative numbers become 0": "负数变成 0",
    "does that look right?": "看起来对吗？",
    "windows of two by two": "二乘二的窗口",
    "loops from the outside in": "由外到内的循环",
    "written to the output, as TVM wants it": "按 TVM 的要求写到输出里",
}
"""What students write beside their code, and what a translated copy has there."""

CONSTANTS = tuple(
    f"{n}_{kind}" for n in ("conv2d", "linear0", "linear1") for kind in ("weight", "bias")
)


class WrittenLayer(NamedTuple):
    """A layer: the function that it needs, if any, and the line that makes `{h}` of `{h}`.

    `function` and `block` are how a schedule finds it in the module.
    """

    source: str = ""
    line: str = ""
    function: str = ""
    block: str = ""


def comment(draw: Draw) -> str:
    """Return a comment as somebody may have written it."""
    return f"# {draw.choice([*COMMENTS])}"


def function(name: str, parameters: str, lines: Sequence[str], first: str = "") -> str:
    """Return a function of lines, with a comment at its beginning."""
    body = "\n".join(filter(None, (first, *lines)))
    return f"def {name}({parameters}):\n{indent(body, '    ')}"


def conv(draw: Draw, name: str, mistake: str) -> WrittenLayer:
    """Return a convolution: of `topi`, or an expression of one's own."""
    own = draw.random() < 0.6 or mistake.startswith("kernel_")
    ready = draw.choice(["1, 0, 1", "strides=1, padding=0, dilation=1", "(1, 1), (0, 0), 1"])
    shape, axes, form = draw.choice(_CONV_SHAPES), draw.choice(_CONV_AXES), _form(draw)
    n, f, y, z = _indices(draw)
    said = comment(draw)
    if mistake == "sum_not_initialised":
        call = (
            'bb.emit(relax.op.call_tir(bb.add_func(conv2d_sum, "conv2d_sum"), relax.Tuple([{h},'
            ' conv2d_weight]), R.Tensor((4, 32, 26, 26), "float32")))'
        )
        return WrittenLayer(CONV_WITHOUT_INIT, "{h} = " + call)
    if not own:
        line = f"{{h}} = bb.emit_te(topi.nn.conv2d, {{h}}, conv2d_weight, {ready})"
        return WrittenLayer("", line, "conv2d", "conv2d_nchw")
    window = {"kernel_flipped": "2 - i, 2 - j", "kernel_transposed": "j, i"}.get(mistake, "i, j")
    body = f"te.sum(x[{n}, c, {y} + i, {z} + j] * w[{f}, c, {window}], axis=[c, i, j])"
    lines = [*shape, *axes, *_computed(form, "size", (n, f, y, z), body, "products")]
    line = f"{{h}} = bb.emit_te({name}, {{h}}, conv2d_weight)"
    return WrittenLayer(function(name, "x, w", lines, said), line, name, "products")


def bias(draw: Draw, name: str, mistake: str) -> WrittenLayer:
    """Return the bias of the convolution."""
    own, indices, form = draw.random() < 0.5, _indices(draw), _form(draw)
    shaped = f'constant("conv2d_bias", {draw.choice(["(1, 32, 1, 1)", "(32, 1, 1)"])})'
    if mistake == "bias_missing":
        return WrittenLayer()
    if mistake == "bias_subtracted" or not own:
        how = "subtract" if mistake == "bias_subtracted" else "add"
        return WrittenLayer("", f"{{h}} = bb.emit_te(topi.{how}, {{h}}, {shaped})")
    body = f"x[{', '.join(indices)}] + b[{indices[1]}]"
    made = function(name, "x, b", _computed(form, "x.shape", indices, body, "biased"))
    return WrittenLayer(made, f"{{h}} = bb.emit_te({name}, {{h}}, conv2d_bias)")


def relu(draw: Draw, name: str) -> WrittenLayer:
    """Return a ReLU."""
    form, said = draw.randrange(4), comment(draw)
    if form == 0:
        return WrittenLayer("", "{h} = bb.emit_te(topi.nn.relu, {h})")
    if form == 1:
        return WrittenLayer("", '{h} = bb.emit_te(topi.maximum, {h}, relax.const(0.0, "float32"))')
    zero = "te.max(x[i], 0.0)" if form == 2 else "te.if_then_else(x[i] > 0.0, x[i], 0.0)"
    lines = [f'return te.compute(x.shape, lambda *i: {zero}, name="rectified")']
    return WrittenLayer(function(name, "x", lines, said), f"{{h}} = bb.emit_te({name}, {{h}})")


def pool(draw: Draw, name: str, mistake: str) -> WrittenLayer:
    """Return the pooling: of `topi`, by a reduction, or by four numbers."""
    form, indices, written, said = draw.randrange(3), _indices(draw), _form(draw), comment(draw)
    n, c, y, z = indices
    shape = draw.choice(_POOL_SHAPES)
    if form == 0 or mistake == "pooling_kind":
        kind = "avg" if mistake == "pooling_kind" else "max"
        arguments = f'(2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "{kind}"'
        line = f"{{h}} = bb.emit_te(topi.nn.pool2d, {{h}}, {arguments})"
        return WrittenLayer("", line, "pool2d", "pool_sum" if kind == "avg" else "pool_max")
    if form == 1:
        axes = [f'{a} = te.reduce_axis((0, 2), name="{a}")' for a in ("p", "q")]
        body = f"te.max(x[{n}, {c}, 2 * {y} + p, 2 * {z} + q], axis=[p, q])"
    else:
        axes = []
        four = [f"x[{n}, {c}, 2 * {y} + {a}, 2 * {z} + {b}]" for a in (0, 1) for b in (0, 1)]
        body = f"te.max(te.max({four[0]}, {four[1]}), te.max({four[2]}, {four[3]}))"
    lines = [*shape, *axes, *_computed(written, "size", indices, body, "pooled")]
    line = f"{{h}} = bb.emit_te({name}, {{h}})"
    return WrittenLayer(function(name, "x", lines, said), line, name, "pooled")


def flatten(draw: Draw, name: str, mistake: str) -> WrittenLayer:
    """Return what puts an image's numbers in a row."""
    form, written, said = draw.randrange(3), _form(draw), comment(draw)
    if mistake == "flatten_order":
        lines = ["moved = topi.transpose(x, (0, 2, 3, 1))", "return topi.reshape(moved, (4, 5408))"]
        return WrittenLayer(function(name, "x", lines, said), f"{{h}} = bb.emit_te({name}, {{h}})")
    if form < 2:
        told = ("topi.nn.flatten, {h}", "topi.reshape, {h}, (batch_size, 5408)")[form]
        return WrittenLayer("", f"{{h}} = bb.emit_te({told})")
    body = "x[n, k // 169, k // 13 % 13, k % 13]"
    lines = _computed(written, "(x.shape[0], 5408)", ("n", "k"), body, "flattened")
    return WrittenLayer(function(name, "x", lines, said), f"{{h}} = bb.emit_te({name}, {{h}})")


def dense(draw: Draw, name: str, number: int) -> WrittenLayer:
    """Return a linear layer: of `topi` with the bias or without, or of one's own."""
    form, axis, said = draw.randrange(4), draw.choice("kmr"), comment(draw)
    weight, bias = f"linear{number}_weight", f"linear{number}_bias"
    if form == 0:
        return WrittenLayer("", f"{{h}} = bb.emit_te(topi.nn.dense, {{h}}, {weight}, {bias})")
    ready = ("topi.nn.dense(x, w)", "topi.matmul(x, w, False, True)")
    if form < 3:
        lines = [f"return topi.add({ready[form - 1]}, b)"]
    else:
        lines = [
            f'{axis} = te.reduce_axis((0, w.shape[1]), name="{axis}")',
            "size = (x.shape[0], w.shape[0])",
            f"term = lambda i, j: x[i, {axis}] * w[j, {axis}]",
            f"sums = te.compute(size, lambda i, j: te.sum(term(i, j), axis={axis}))",
            "return te.compute(size, lambda i, j: sums[i, j] + b[j])",
        ]
    made = function(name, "x, w, b", lines, said)
    return WrittenLayer(made, f"{{h}} = bb.emit_te({name}, {{h}}, {weight}, {bias})")


def softmax(draw: Draw, name: str, mistake: str) -> WrittenLayer:
    """Return the softmax."""
    own, divided, shift = draw.random() < 0.4, draw.random() < 0.5, draw.random() < 0.5
    axis, said = draw.choice(["1", "axis=1", "-1"]), comment(draw)
    wrong = {
        "softmax_missing": "",
        "softmax_axis": "{h} = bb.emit_te(topi.nn.softmax, {h}, 0)",
        "softmax_logarithm": "{h} = bb.emit_te(topi.nn.log_softmax, {h})",
    }
    if mistake in wrong or not own:
        ready = f"{{h}} = bb.emit_te(topi.nn.softmax, {{h}}, {axis})"
        return WrittenLayer("", wrong.get(mistake, ready))
    lines = ["x = topi.subtract(x, topi.max(x, axis=1, keepdims=True))"] if shift else []
    lines += ["raised = topi.exp(x)", "whole = topi.sum(raised, axis=1, keepdims=True)"]
    ends = (
        "topi.divide(raised, whole)",
        "te.compute(x.shape, lambda i, j: raised[i, j] / whole[i, 0])",
    )
    lines.append(f"return {ends[divided]}")
    return WrittenLayer(function(name, "x", lines, said), f"{{h}} = bb.emit_te({name}, {{h}})")


_CONV_SHAPES = (
    ("size = (4, 32, 26, 26)",),
    ("n_, _, rows, columns = x.shape", "size = (n_, w.shape[0], rows - 2, columns - 2)"),
    (
        "size = (x.shape[0], w.shape[0],",
        "        x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1)",
    ),
)
_CONV_AXES = (
    tuple(
        f'{a} = te.reduce_axis((0, {n}), name="{a}")' for a, n in zip("cij", (1, 3, 3), strict=True)
    ),
    ('c, i, j = (te.reduce_axis((0, extent), name="r") for extent in w.shape[1:])',),
    (
        'c = te.reduce_axis((0, w.shape[1]), name="c")',
        'i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 3), name="j")',
    ),
)
_POOL_SHAPES = (
    ("size = (4, 32, 13, 13)",),
    ("size = (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2)",),
    ("size = [x.shape[0], x.shape[1], 13, 13]",),
)


def _indices(draw: Draw) -> tuple[str, ...]:
    return tuple(draw.choice(["n f y z", "m o u v", "i0 i1 i2 i3", "k l s t"]).split())


def _form(draw: Draw) -> int:
    return draw.randrange(3)


def _computed(form: int, shape: str, names: Sequence[str], body: str, name: str) -> list[str]:
    """Return lines that end in `te.compute`: with a lambda, a rule, or a result of its own."""
    indices = ", ".join(names)
    if form == 0:
        return [f'return te.compute({shape}, lambda {indices}: {body}, name="{name}")']
    if form == 1:
        rule = f"def rule({indices}):\n    return {body}\n"
        return [rule, f'return te.compute({shape}, rule, name="{name}")']
    return [f'out = te.compute({shape}, lambda {indices}: {body}, name="{name}")', "return out"]
