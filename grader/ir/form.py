"""The form of a function: a digest that all spellings of the same loops have in common.

It says whether two functions are the same but for what makes no difference to what they are: names,
attributes, annotations, the declared regions of blocks, the kinds of loops, whether an integer has
32 or 64 bits, and which operand of a sum or a product stands first. So what an assignment gives is
known in any spelling and under any name, and also when somebody made its parallel loop a serial
one.
"""

import functools
import hashlib
from typing import NamedTuple

from grader.ir.expressions import Budget, data_type
from grader.ir.graph import Graph
from grader.ir.vocabulary import load_schema

_FIELDS: dict[str, tuple[str, ...]] = {
    "ir.Call": ("op", "args", "attrs"),
    "ir.FloatImm": ("ty", "value"),
    "ir.GenericConst": ("ty",),
    "ir.GlobalVar": (),
    "ir.IntImm": ("value",),
    "ir.Var": ("ty",),
    "prim.Cast": ("ty", "value"),
    "relax.TensorType": ("dtype", "shape"),
    "relax.expr.DataflowVar": ("ty",),
    "relax.expr.ExternFunc": ("global_symbol",),
    "relax.expr.Function": ("params", "body"),
    "s_tir.SBlock": ("iter_vars", "alloc_buffers", "match_buffers", "init", "body"),
    "tirx.BufferType": ("dtype", "shape"),
    "tirx.For": ("loop_var", "min", "extent", "body"),
    "tirx.IterVar": ("var", "dom", "iter_type"),
    "tirx.PrimFunc": ("params", "body"),
}
"""The fields that make the form of a node, what defines variables first; of other nodes all."""

_NO_FORM = {"span", "ty", "annotations"}
_VARIABLES = {"ir.Var", "relax.expr.DataflowVar"}
# `b + a` is the same function as `a + b`: to exchange operands makes no work of one's own.
_COMMUTATIVE = {f"prim.{name}" for name in ("Add", "Mul", "Max", "Min", "And", "Or", "EQ", "NE")}
_REFERENCES = ("node", "array", "map", "any")


def find_forms(graph: Graph, functions: dict[str, int], budget: Budget) -> dict[str, str]:
    """Return the form of every function of a module, by its name.

    `functions` are the nodes of PrimFuncs and of Relax functions. A call of a PrimFunc counts as
    what the function is, a constant as its shape and dtype: weights that are drawn anew in every
    run are no other ones. Raises IRError when the module is too large to be read.
    """
    prim = {
        name: node for name, node in functions.items() if graph.type_of(node) == "tirx.PrimFunc"
    }
    forms = {name: _Former(graph, {}, budget).form(node) for name, node in prim.items()}
    for name, node in functions.items():
        if graph.type_of(node) == "relax.expr.Function":
            forms[name] = _Former(graph, forms, budget).form(node)
    return forms


class _Former:
    """Makes the form of one function. `known` are those of the functions that it may call."""

    def __init__(self, graph: Graph, known: dict[str, str], budget: Budget) -> None:
        self.graph = graph
        self.known = known
        self.budget = budget
        self.numbers: dict[int, int] = {}
        self.forms: dict[int, bytes] = {}

    def form(self, root: int) -> str:
        """Return the form of the function at node `root`, 32 hexadecimal digits."""
        for index in sorted(self.reach(root)):  # what a node refers to stands before it
            self.forms[index] = self.digest(index)
        return self.forms[root].hex()

    def reach(self, root: int) -> set[int]:
        """Number the variables in the order in which they are met; return all nodes of the form.

        That order is that of the program, whether equal expressions are one node or several.
        """
        nodes = set()
        for index in self.budget.walk((root,), self.references):
            nodes.add(index)
            if self.graph.type_of(index) in _VARIABLES:
                self.numbers[index] = len(self.numbers)
        return nodes

    def references(self, index: int) -> list[int]:
        """Return the nodes that make the form of a node, in the order of its fields."""
        layout, value = _layout(self.graph.types[index]), self.graph.values[index]
        if layout is None:
            return self.graph.children[index]
        return [value[name] for name in layout.references]

    def digest(self, index: int) -> bytes:
        graph, kind = self.graph, self.graph.type_of(index)
        if kind in _VARIABLES:
            return _digest([kind.encode(), b"%d" % self.numbers[index], self.type_form(index)])
        if kind == "ir.GlobalVar":
            name = graph.name(index, "name_hint")
            return _digest([kind.encode(), self.known.get(name, "another function").encode()])
        children = [self.forms[child] for child in self.references(index)]
        if kind in _COMMUTATIVE:
            children.sort()
        return _digest([kind.encode(), repr(self.plain(index)).encode(), *children])

    def type_form(self, variable: int) -> bytes:
        """Return the form of a variable's type, the same for integers of all lengths."""
        kind = self.graph.field(variable, "ty")
        scalar = data_type(self.graph, kind)
        return b"int" if scalar.startswith("int") else self.forms[kind]

    def plain(self, index: int) -> object:
        """Return what of a node is written in place: its numbers and strings, no references."""
        layout, value = _layout(self.graph.types[index]), self.graph.values[index]
        if layout is None:
            return None if isinstance(value, list) else value
        return [
            float(value[name]) if kind == "float" else value[name]  # 0.0 may be written as 0
            for name, kind in layout.plain
        ]


class _Layout(NamedTuple):
    references: tuple[str, ...]
    plain: tuple[tuple[str, str], ...]


@functools.cache
def _layout(kind: str) -> _Layout | None:
    """Return which fields of a type of nodes make its form; None for a plain value."""
    rules = load_schema().nodes.get(kind)
    if rules is None:
        return None
    fields = _FIELDS.get(kind, tuple(sorted(rules.keys() - _NO_FORM)))
    kinds = [(name, rules[name].kind) for name in fields]
    references = tuple(name for name, each in kinds if each in _REFERENCES)
    return _Layout(references, tuple(each for each in kinds if each[0] not in references))


def _digest(pieces: list[bytes]) -> bytes:
    """Return a digest of pieces, each with its length: no two lists run together."""
    whole = b"".join([b"%d:" % len(piece) + piece for piece in pieces])
    return hashlib.sha256(whole).digest()[:16]
