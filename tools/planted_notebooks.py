"""Notebooks of e2e-conv as made-up students write them, each by choices of its own.

Two students who chose otherwise share what the handout gives. What they write runs, and computes
the network but for the mistake that is planted.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import nbformat
import planted_layers as layers
from mistakes_e2e_conv import REBINDING
from planted_layers import CONSTANTS, WrittenLayer, comment, function
from snippets_e2e_conv import REGISTER_CONV, REGISTER_CONV_WITHOUT_BIAS

from grader.report import Cell

SLUG = "e2e-conv"
TEMPLATE = Path(__file__).resolve().parents[1] / "templates" / f"{SLUG}.ipynb"

MISTAKES = (
    "bias_missing",
    "bias_subtracted",
    "flatten_order",
    "kernel_flipped",
    "kernel_transposed",
    "not_written",
    "pooling_kind",
    "relu_extra",
    "relu_missing",
    "softmax_axis",
    "softmax_logarithm",
    "softmax_missing",
    "sum_not_initialised",
)
"""What can be planted, by the names that a diagnosis has for it."""

ERRORS = {
    "AttributeError": "print(parameters.conv2d_weight)",
    "KeyError": 'print(parameters["conv_weight"].shape)',
    "NameError": 'print(wieghts["conv2d_weight"].shape)',
    "ValueError": "print(np.zeros((4, 10)) + np.ones((4, 9)))",
}
"""What ends a cell in an error, by its name."""


class WritingPlan(NamedTuple):
    """How a student writes, by a number, what is planted, and how far the student came."""

    choices: int
    mistake: str = ""
    error: str = ""
    extern: bool = True
    schedule: bool = False


def write(plan: WritingPlan, *, inlined: bool = False, permuted: bool = False) -> tuple[Cell, ...]:
    """Return the cells of a student.

    `inlined` has the lines of helpers where these are called, `permuted` the steps of the schedule
    in another order that does the same.
    """
    return tuple(_Writer(plan, inlined=inlined, permuted=permuted).cells())


class _Writer:
    """One student. What is drawn does not depend on how it is written down."""

    def __init__(self, plan: WritingPlan, *, inlined: bool, permuted: bool) -> None:
        self._plan = plan
        self._draw = random.Random(plan.choices)
        self._inlined, self._permuted = inlined, permuted
        self._variable = self._draw.choice(["h", "hidden", "y", "value", "lv", "net"])
        self._suffix = self._draw.choice(["", "_te", "_layer", "2", "_expr", "_of"])
        self._number = 0

    def cells(self) -> Iterator[Cell]:
        """Yield what is handed in, cell by cell."""
        given = _given()
        yield self._text(given["## Part 0"])
        yield from (self._code(given[each], given=True) for each in ("import os\n", "with open("))
        yield self._code("batch_size = 4\ninput_shape = (batch_size, 1, 28, 28)")
        yield self._text(given["## Part 1"])
        model, groups = self._model()
        functions = "\n\n\n".join(dict.fromkeys(each.source for each in model if each.source))
        yield self._code(f"{functions}\n\n\n{_CONSTANT}" if functions else _CONSTANT)
        yield self._code(self._entry("create_model_via_emit_te", groups))
        yield from map(self._code, self._experiments("one"))
        if self._plan.error:
            yield self._code(ERRORS[self._plan.error])
        if self._plan.extern:
            yield self._text(given["## Part 2"])
            yield from map(self._code, self._extern(groups))
            yield from map(self._code, self._experiments("two"))
        if self._plan.schedule:
            yield self._text(given["## Part 3"])
            yield self._code(self._schedule(model[0], model[3]))
            yield from map(self._code, self._experiments("three"))

    def _text(self, source: str) -> Cell:
        return Cell("markdown", source, None, given=True)

    def _code(self, source: str, given: bool = False) -> Cell:
        self._number += 1
        return Cell("code", source, self._number, given=given)

    def _model(self) -> tuple[list[WrittenLayer], list[tuple[str, list[str]]]]:
        """Return the layers, and their lines in groups: those of a helper have its name."""
        draw, mistake = self._draw, self._plan.mistake
        names = [f"{each}{self._suffix}" for each in _NAMES]
        rectify = layers.relu(draw, names[2])
        nothing = WrittenLayer()
        model = [
            layers.conv(draw, names[0], mistake),
            layers.bias(draw, names[1], mistake),
            nothing if mistake == "relu_missing" else rectify,
            layers.pool(draw, names[3], mistake),
            layers.flatten(draw, names[4], mistake),
            layers.dense(draw, names[5], 0),
            rectify,
            layers.dense(draw, names[6], 1),
            rectify if mistake == "relu_extra" else nothing,
            layers.softmax(draw, names[7], mistake),
        ]
        first, second = draw.choice([(3, 5), (2, 5), (3, 6)])
        helped = draw.choice([(1, 2), (0, 2), (0, 1, 2)])
        helpers = draw.sample(_HELPERS, 3)
        parts = (model[:first], model[first:second], model[second:])
        groups = [
            (helpers[n] if n in helped else "", [each.line for each in part if each.line])
            for n, part in enumerate(parts)
        ]
        return model, groups

    def _entry(self, name: str, groups: Sequence[tuple[str, list[str]]]) -> str:
        """Return an entry point as the handout begins it, and before it the helpers it calls."""
        value, helpers, body = self._variable, [], [f"{self._variable} = x"]
        ending = "" if name.endswith("emit_te") else "_again"
        for helper, lines in groups:
            told = [line.replace("{h}", value) for line in lines]
            if not helper or self._inlined:
                body += told
                continue
            taken = [each for each in CONSTANTS if any(each in line for line in told)]
            arguments = ", ".join(["bb", value, *taken])
            helpers.append(function(helper + ending, arguments, [*told, f"return {value}"]))
            body.append(f"{value} = {helper}{ending}({arguments})")
        inner = indent("\n".join([*body, f"output = bb.emit_output({value})"]), " " * 12)
        constants = "\n".join(f'    {each} = constant("{each}")' for each in CONSTANTS)
        entry = _ENTRY.format(name=name, constants=constants, lines=inner)
        return "\n\n\n".join([*helpers, entry])

    def _extern(self, groups: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
        """Yield the cells of part 2: the convolution by a function, the rest as in part 1."""
        with_bias, other = self._draw.random() < 0.5, self._draw.random() < 0.5
        register = REGISTER_CONV if with_bias else REGISTER_CONV_WITHOUT_BIAS
        if self._plan.mistake == "not_written":
            with_bias, register = True, REBINDING
        if other:
            register = register.replace("torch.conv2d(", "torch.nn.functional.conv2d(")
        yield f"# written to the output, as TVM wants it\n{register}"
        weights = f"conv2d_weight{', conv2d_bias' if with_bias else ''}"
        call = (
            '{h} = bb.emit(relax.op.call_dps_packed("env.conv2d",'
            f" relax.Tuple([{{h}}, {weights}]),"
            ' R.Tensor((batch_size, 32, 26, 26), "float32")))'
        )
        biased = '{h} = bb.emit_te(topi.add, {h}, constant("conv2d_bias", (1, 32, 1, 1)))'
        (helper, first), *others = groups
        rest = [line for line in first if "conv2d" not in line]
        lines = [call, *([] if with_bias else [biased]), *rest]
        yield self._entry("create_model_with_torch_func", [(helper, lines), *others])

    def _schedule(self, conv: WrittenLayer, pool: WrittenLayer) -> str:
        """Return steps for two functions, which may change places: neither needs the other."""
        steps = [self._conv_steps(conv), self._pool_steps(pool)]
        if (self._draw.random() < 0.5) != self._permuted:
            steps.reverse()
        first = ["mod = create_model_via_emit_te()", "sch = tvm.s_tir.Schedule(mod)"]
        return "\n".join([*first, *steps[0], *steps[1]])

    def _conv_steps(self, conv: WrittenLayer) -> list[str]:
        draw = self._draw
        n, f, y, x, c, i, j = draw.choice(_LOOPS).split()
        cut, factor = draw.choice([(f, 4), (f, 2), (f, 8), (y, 2), (y, 13)])
        lines = [f'block = sch.get_sblock("{conv.block}", func_name="{conv.function}")']
        if conv.function == "conv2d":
            lines.append('sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))')
        lines += [
            "# loops from the outside in",
            f"{n}, {f}, {y}, {x}, {c}, {i}, {j} = sch.get_loops(block)",
            f"{cut}_o, {cut}_i = sch.split({cut}, factors=[None, {factor}])",
        ]
        outer = [n, f"{f}_o" if cut == f else f, f"{y}_o" if cut == y else y]
        inner = draw.sample([c, i, j], 3)
        lines.append(f"sch.reorder({', '.join([*outer, *inner, f'{cut}_i', x])})")
        tasks = n
        if draw.random() < 0.5:
            lines.append(f"tasks = sch.fuse({n}, {outer[1]})")
            tasks = "tasks"
        marks = [f"sch.parallel({tasks})", f"sch.vectorize({x})"]
        unrolled = draw.sample([i, j, f"{cut}_i"], draw.randrange(1, 4))
        marks = draw.sample(marks + [f"sch.unroll({each})" for each in unrolled], 2 + len(unrolled))
        if self._permuted:
            marks.reverse()
        return [*lines, *marks, f"sch.decompose_reduction(block, {inner[0]})"]

    def _pool_steps(self, pool: WrittenLayer) -> list[str]:
        draw = self._draw
        a, b, c, d = draw.choice(["n2 f2 y2 x2", "p0 p1 p2 p3", "ax0 ax1 ax2 ax3"]).split()
        lines = [
            f'pooling = sch.get_sblock("{pool.block}", func_name="{pool.function}")',
            f"{a}, {b}, {c}, {d} = sch.get_loops(pooling)[:4]",
            f"{b}_o, {b}_i = sch.split({b}, factors=[None, {draw.choice([2, 4, 8])}])",
        ]
        images = a
        if draw.random() < 0.5:
            lines.append(f"images = sch.fuse({a}, {b}_o)")
            images = "images"
        marks = [f"sch.parallel({images})", f"sch.unroll({draw.choice([f'{b}_i', c])})"]
        return [*lines, *(reversed(marks) if self._permuted else marks)]

    def _experiments(self, section: str) -> Iterator[str]:
        """Yield cells in which a student tries something."""
        draw = self._draw
        for number in range(draw.randrange(1, 4)):
            one, other, look = (f"{each}_{section}{number}" for each in draw.sample(_VALUES, 3))
            shape = draw.choice(["4, 10", "8, 5", "40", "5, 8"])
            values = f"np.linspace({draw.randrange(-9, 0)}, {draw.randrange(1, 9)}, 40)"
            lines = [f"{one} = {values}.reshape({shape})"]
            lines.append(f"{other} = {one} {draw.choice('+-*')} {_tried(draw, 3, [one])}")
            lines.append(comment(draw))
            lines += draw.sample(_looks(draw, one, other, f"{section}{number}"), 2)
            told = _tried(draw, 3, ["{a}", "{b}"])
            if self._inlined:
                lines.append(f"print({told.format(a=one, b=other)})")
            else:
                lines.insert(0, f"def {look}(a, b):\n    return {told.format(a='a', b='b')}\n\n")
                lines.append(f"print({look}({one}, {other}))")
            yield "\n".join(lines)


def _looks(draw: random.Random, one: str, other: str, number: str) -> list[str]:
    items = [f"{one}[item]", f"{other}[item]"]
    return [
        f"print({_tried(draw, 2, [one, other])})",
        f"for item in range({draw.randrange(2, 5)}):\n    print(item, {_tried(draw, 3, items)})",
        f"scale_{number} = {_tried(draw, 3, [other])}",
        f"assert np.isfinite({_tried(draw, 2, [one, other])}).all()",
    ]


def _tried(draw: random.Random, depth: int, names: Sequence[str]) -> str:
    """Return an expression of arrays as somebody may have come to it; all numbers are finite."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([*names, *names, str(draw.randrange(1, 64))])
    one, other = (_tried(draw, depth - 1, names) for _ in range(2))
    return draw.choice(
        [
            f"({one} + {other})",
            f"({one} * {other})",
            f"({one} - {other})",
            f"{one} // {draw.randrange(2, 9)}",
            f"np.maximum({one}, {other})",
            f"np.{draw.choice(['abs', 'tanh', 'sin', 'cos', 'mean', 'sum'])}({one})",
        ]
    )


@functools.cache
def _given() -> dict[str, str]:
    """Return cells of the handout, by how they begin."""
    sources = [each.source for each in nbformat.read(TEMPLATE, 4).cells]
    begins = ("## Part 0", "import os\n", "with open(", "## Part 1", "## Part 2", "## Part 3")
    return {each: next(s for s in sources if s.startswith(each)) for each in begins}


def handout() -> Iterable[str]:
    """Return the code cells of the handout: nobody has copied them from a neighbour."""
    return [each.source for each in nbformat.read(TEMPLATE, 4).cells if each.cell_type == "code"]


_NAMES = ("my_conv2d", "add_bias", "rectify", "pool", "rows", "dense0", "dense1", "normalise")
_HELPERS = ("features", "classify", "middle", "begin", "finish", "tail", "stage", "block_of")
_VALUES = ("gap", "probe", "sample", "curve", "guess", "trial", "signal", "weights", "part", "look")
_LOOPS = ("n f y x c i j", "n ff yy xx rc ry rx", "b o h w ci kh kw", "l0 l1 l2 l3 r0 r1 r2")

_CONSTANT = '''\
def constant(name, shape=None):
    """Return a parameter as a constant of the module, reshaped if a shape is given."""
    array = parameters[name]
    return relax.const(array if shape is None else array.reshape(shape), "float32")'''

_ENTRY = """\
def {name}():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(input_shape, "float32"))

{constants}

    with bb.function("main", [x]):
        with bb.dataflow():
{lines}
        bb.emit_func_output(output)

    return bb.get()"""
