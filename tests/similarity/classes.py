"""Classes of made-up notebooks: honest ones that share a template, and copies of some of them.

A student is a row of choices: how each step is written. A copy has the choices of another one, and
is written down otherwise: other names, another order, other comments, functions inlined.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from typing import NamedTuple

from grader.report import Cell

TEMPLATE = (
    "import tvm\nfrom tvm import relax, te, topi\nimport numpy as np",
    "def load(path):\n    data = np.load(path)\n    return {name: data[name] for name in data}",
)

KINDS = ("renamed", "reordered", "reformatted", "translated", "inlined", "permuted")
"""How a copy differs from what it was copied from."""


class Work(NamedTuple):
    """The cells of one student."""

    id: str
    cells: tuple[Cell, ...]


class Class(NamedTuple):
    """All works, and who copied from whom: pairs of ids, each with the kind of copy."""

    works: tuple[Work, ...]
    copies: dict[frozenset[str], str]


LAYERS = ("conv", "bias", "relu", "pool", "flat", "dense")
Draw = random.Random


def _expression(draw: Draw, depth: int, names: list[str]) -> str:
    """Return an expression as somebody may have come to it."""
    if depth == 0 or draw.random() < 0.25:
        return draw.choice([*names, str(draw.randrange(1, 64))])
    one, other = (_expression(draw, depth - 1, names) for _ in range(2))
    return draw.choice(
        [
            f"({one} + {other})",
            f"({one} * {other})",
            f"({one} - {other})",
            f"{one} // {draw.randrange(2, 9)}",
            f"max({one}, {other})",
            f"np.{draw.choice(['abs', 'sqrt', 'exp', 'mean', 'sum'])}({one})",
        ]
    )


def _layer(draw: Draw, layer: str) -> list[str]:
    """Return the lines of a layer's compute: everybody's is right, and most are not alike."""
    indices = draw.choice(["n, c, y, x", "b, k, i, j", "i0, i1, i2, i3"])
    names = [each.strip() for each in indices.split(",")]
    axes = [
        f"{layer}_r{place} = te.reduce_axis((0, {draw.randrange(2, 9)}), name='r{place}')"
        for place in range(draw.randrange(0, 4))
    ]
    body = _expression(draw, draw.randrange(2, 4), [f"source[{indices}]", *names])
    if axes:
        body = f"te.sum({body}, axis=[{', '.join(f'{layer}_r{p}' for p in range(len(axes)))}])"
    form = draw.randrange(3)
    if form == 0:
        made = [f"{layer}_out = te.compute(source.shape, lambda {indices}: {body}, name='{layer}')"]
    elif form == 1:
        made = [
            f"def {layer}_rule({indices}):",
            f"    return {body}",
            f"{layer}_out = te.compute(source.shape, {layer}_rule)",
        ]
    else:
        made = [
            f"{layer}_shape = tuple(int(each) for each in source.shape)",
            f"{layer}_out = te.compute({layer}_shape, lambda {indices}: {body})",
        ]
    return [*axes, *made]


def _check(draw: Draw, layer: str) -> list[str]:
    """Return what somebody looked at on the way."""
    forms: list[Callable[[], str]] = [
        lambda: f"print('{layer}', {_expression(draw, 2, ['result', 'wanted'])})",
        lambda: f"assert np.allclose(result, wanted, atol={draw.choice(['1e-3', '1e-4'])})",
        lambda: f"gap_{layer} = {_expression(draw, 3, ['result', 'wanted'])}",
        lambda: f"for item in range({draw.randrange(2, 9)}): print(result[item], wanted[item])",
    ]
    return [draw.choice(forms)() for _ in range(draw.randrange(1, 4))]


def _schedule(draw: Draw, *, permuted: bool) -> list[str]:
    """Return steps of a schedule; those of its two blocks are free to change places."""
    blocks = []
    for block in draw.sample(["conv", "pad", "pool"], 2):
        loops = draw.randrange(3, 6)
        names = [f"{block}_{place}" for place in range(loops)]
        steps = [
            f"{block}_block = sch.get_sblock('{block}')",
            f"{', '.join(names)} = sch.get_loops({block}_block)",
        ]
        chosen = draw.choice(names)
        factors = f"[None, {draw.choice([4, 8, 16])}]"
        steps.append(f"{block}_o, {block}_i = sch.split({chosen}, factors={factors})")
        for _ in range(draw.randrange(1, 4)):
            some = draw.sample([*names, f"{block}_o", f"{block}_i"], draw.randrange(1, 3))
            step = draw.choice(["parallel", "vectorize", "unroll", "reorder", "fuse", "bind"])
            if step in ("reorder", "fuse"):
                steps.append(f"{block}_{len(steps)} = sch.{step}({', '.join(some)})")
            else:
                steps.append(f"sch.{step}({some[0]})")
        blocks.append(steps)
    if permuted:
        blocks.reverse()
    return ["sch = tvm.s_tir.Schedule(module)", *(line for steps in blocks for line in steps)]


def write(choices: int, kind: str = "") -> tuple[Cell, ...]:
    """Return the cells of whoever made these choices; as a copy of a kind if one is given."""
    draw = random.Random(choices)
    cells = []
    for layer in LAYERS:
        lines = _layer(draw, layer)
        if kind != "inlined":
            inner = "".join(f"    {line}\n" for line in lines)
            cells.append(f"def make_{layer}(source):\n{inner}    return {layer}_out")
        else:
            cells.append("\n".join(["source = emit_input()", *lines, f"found = {layer}_out"]))
        cells.append("\n".join(_check(draw, layer)))
    cells.append("\n".join(_schedule(draw, permuted=kind == "permuted")))
    changes: dict[str, Callable[[list[str]], list[str]]] = {
        "renamed": lambda own: [_renamed(each) for each in own],
        "reordered": lambda own: random.Random(1).sample(own, len(own)),
        "reformatted": lambda own: [ast.unparse(ast.parse(each)) for each in own],
        "translated": lambda own: [f"# 这一步\n'''说明'''\n{each}  # 好" for each in own],
    }
    own = changes.get(kind, lambda same: same)(cells)
    given = [Cell("code", source, n + 1, given=True) for n, source in enumerate(TEMPLATE)]
    first = len(given) + 1
    return (*given, *(Cell("code", each, first + n) for n, each in enumerate(own)))


def _renamed(source: str) -> str:
    tree = ast.parse(source)
    known = {"tvm", "te", "topi", "np", "relax", "range", "print", "tuple", "int", "max"}

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            node.id = node.id if node.id in known else f"my_{node.id[::-1]}"
            return node

        def visit_arg(self, node: ast.arg) -> ast.arg:
            node.arg = f"my_{node.arg[::-1]}"
            return node

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
            node.name = f"my_{node.name[::-1]}"
            self.generic_visit(node)
            return node

    return ast.unparse(Renamer().visit(tree))


def make_class(students: int, copies: int, seed: int = 0) -> Class:
    """Return a class of which so many copied from another one, in all ways in turn."""
    honest = [Work(f"u{n:04}", write(seed * 100_000 + n)) for n in range(students - copies)]
    found: dict[frozenset[str], str] = {}
    works = list(honest)
    for number in range(copies):
        kind = KINDS[number % len(KINDS)]
        victim = number % len(honest)
        copy = Work(f"copy{number:04}", write(seed * 100_000 + victim, kind))
        works.append(copy)
        found[frozenset((copy.id, honest[victim].id))] = kind
    return Class(tuple(works), found)
