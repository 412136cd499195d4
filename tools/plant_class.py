"""Make up a class of e2e-conv in which mistakes, errors and copies are planted, and say which.

    python tools/plant_class.py --students 200 --output class

writes `submissions/ID/hw.ipynb` for each student, `planted.json` with what is planted, and
`consent.csv` with those who want to be ranked. The same seed makes the same class.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
from msgspec.structs import replace
from planted_layers import COMMENTS
from planted_notebooks import ERRORS, MISTAKES, SLUG, WritingPlan, write

from grader.authoring.template import make_notebook, notebook_bytes
from grader.report import Cell

KINDS = ("renamed", "reordered", "reformatted", "translated", "inlined", "permuted")
"""How a copy differs from what it was copied from."""


class PlantedStudent(NamedTuple):
    """What one hands in, and what is planted in it; `source` is whom it was copied from, `how`
    by which of the kinds. Both are empty for whoever wrote it alone."""

    id: str
    cells: tuple[Cell, ...]
    plan: WritingPlan
    source: str = ""
    how: str = ""


class PlantedClass(NamedTuple):
    """A made-up class."""

    students: tuple[PlantedStudent, ...]

    @property
    def copies(self) -> dict[frozenset[str], str]:
        """Who copied from whom: pairs of ids, each with the kind of copy."""
        return {frozenset((e.id, e.source)): e.how for e in self.students if e.source}

    @property
    def mistakes(self) -> Counter[str]:
        """How many students made which mistake."""
        return Counter(each.plan.mistake for each in self.students if each.plan.mistake)

    @property
    def errors(self) -> Counter[str]:
        """How many students' notebooks have a cell that ends in which error."""
        return Counter(each.plan.error for each in self.students if each.plan.error)


def make_class(students: int, copies: int, seed: int = 0) -> PlantedClass:
    """Return a class of which so many copied, each from another one, in all ways in turn."""
    draw = random.Random(seed)
    honest = [_planned(draw) for _ in range(students - copies)]
    kinds = [KINDS[number % len(KINDS)] for number in range(copies)]
    for place, kind in enumerate(kinds):
        if kind == "permuted":
            mistake = honest[place % len(honest)].mistake
            mistake = "" if mistake == "sum_not_initialised" else mistake
            honest[place % len(honest)] = honest[place % len(honest)]._replace(
                schedule=True, mistake=mistake
            )
    found = [PlantedStudent(_id(n), write(plan), plan) for n, plan in enumerate(honest)]
    for number, kind in enumerate(kinds):
        source = found[number % len(honest)]
        cells = copied(source.plan, kind, random.Random(seed * 10_000 + number))
        found.append(PlantedStudent(_id(len(found)), cells, source.plan, source.id, kind))
    return PlantedClass(tuple(found))


def _planned(draw: random.Random) -> WritingPlan:
    mistake = draw.choice(MISTAKES) if draw.random() < 0.6 else ""
    extern = draw.random() < 0.7 or mistake == "not_written"
    schedule = draw.random() < 0.25 and mistake != "sum_not_initialised"
    error = draw.choice([*ERRORS]) if draw.random() < 0.15 else ""
    return WritingPlan(draw.getrandbits(48), mistake, error, extern, schedule)


_GIVEN_NAMES = [
    "amal",
    "bjork",
    "chen",
    "dara",
    "eszter",
    "goran",
    "hana",
    "ines",
    "jiri",
    "kwame",
    "leilei",
    "maja",
    "nam",
    "olga",
]


def _id(number: int) -> str:
    return f"{_GIVEN_NAMES[number % len(_GIVEN_NAMES)]}{number:03}"


# --- copies ---------------------------------------------------------------------------------------


def copied(plan: WritingPlan, kind: str, draw: random.Random) -> tuple[Cell, ...]:
    """Return the notebook of a plan as somebody writes it down who has copied it."""
    cells = write(plan, inlined=kind == "inlined", permuted=kind == "permuted")
    if kind == "reordered":
        return tuple(_reordered(cells, draw))
    changes: dict[str, Callable[[str], str]] = {
        "renamed": _renamer(cells),
        "reformatted": lambda source: ast.unparse(ast.parse(source)),
        "translated": _translated,
    }
    change = changes.get(kind, str)
    return tuple(
        each if each.given or each.kind != "code" else replace(each, source=change(each.source))
        for each in cells
    )


_KEPT = {"create_model_via_emit_te", "create_model_with_torch_func", "sch", "constant"}
"""Names that the handout asks for."""


def _renamer(cells: tuple[Cell, ...]) -> Callable[[str], str]:
    """Return what renames all that a student has named, also where a schedule has the name."""
    trees = [ast.parse(each.source) for each in cells if each.kind == "code" and not each.given]
    own = {name for tree in trees for node in ast.walk(tree) for name in _bound(node)}
    return _Renaming({name: f"my_{name[::-1].strip('_')}" for name in own - _KEPT}).of


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def of(self, source: str) -> str:
        renamed: ast.AST = self.visit(ast.parse(source))
        return ast.unparse(renamed)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._names.get(node.arg, node.arg)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self._names.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg == "func_name" and isinstance(node.value, ast.Constant):
            node.value.value = self._names.get(str(node.value.value), node.value.value)
        self.generic_visit(node)
        return node


def _translated(source: str) -> str:
    """Return a cell with its comments in Chinese, and one more at its beginning."""
    lines = source.split("\n")
    for each in tokenize.generate_tokens(io.StringIO(source).readline):
        if each.type == tokenize.COMMENT:
            row, column = each.start
            told = COMMENTS.get(each.string.lstrip("# "), "说明")
            lines[row - 1] = f"{lines[row - 1][:column]}# {told}"
    return "\n".join(["# 这一步", *lines])


def _reordered(cells: tuple[Cell, ...], draw: random.Random) -> Iterator[Cell]:
    """Yield cells in another order in which each still comes after those that it needs."""
    yield from (each for each in cells if each.given)
    waiting = [each for each in cells if not each.given]
    names = {each.number: _names_of(each.source) for each in waiting}
    first = 1 + sum(each.given and each.kind == "code" for each in cells)
    while waiting:
        free = [
            each
            for place, each in enumerate(waiting)
            if not any(_clash(names[each.number], names[b.number]) for b in waiting[:place])
        ]
        chosen = draw.choice(free)
        waiting.remove(chosen)
        yield replace(chosen, number=first)
        first += 1


def _names_of(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell binds for others, and all that it uses."""
    tree = ast.parse(source)
    used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    inner = {
        id(node)
        for each in tree.body
        if isinstance(each, ast.FunctionDef)
        for node in ast.walk(each)
        if node is not each
    }
    bound = {name for node in ast.walk(tree) if id(node) not in inner for name in _bound(node)}
    return bound, used


def _clash(one: tuple[set[str], set[str]], other: tuple[set[str], set[str]]) -> bool:
    return bool(one[0] & (other[0] | other[1]) or other[0] & one[1])


# --- files ----------------------------------------------------------------------------------------


def notebook_of(student: PlantedStudent) -> bytes:
    """Return what a student hands in."""
    made = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    return notebook_bytes(make_notebook([made[e.kind](e.source) for e in student.cells], SLUG, 1))


def write_class(made: PlantedClass, folder: Path) -> None:
    """Write what all hand in, what is planted in it, and who of them wants to be ranked."""
    for each in made.students:
        path = folder / "submissions" / each.id / "hw.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook_of(each))
    planted = [
        {
            "student": each.id,
            "mistake": each.plan.mistake,
            "error": each.plan.error,
            "source": each.source,
            "how": each.how,
        }
        for each in made.students
    ]
    text = json.dumps(planted, ensure_ascii=False, indent=2)
    (folder / "planted.json").write_text(f"{text}\n", encoding="utf-8")
    ranked = [each.id for each in made.students if each.plan.schedule][::2]
    lines = ["student,name", *(f"{each}," for each in ranked)]
    (folder / "consent.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write a class."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--copies", type=int, default=60, help="so many of them copy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    write_class(make_class(options.students, options.copies, options.seed), options.output)


if __name__ == "__main__":
    main()
