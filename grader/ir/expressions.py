"""Small questions to a checked graph, and a bound on the work of reading one."""

from __future__ import annotations

from grader.errors import IRError
from grader.ir.facts import Shape, TensorFacts
from grader.ir.graph import Graph
from grader.language import say

WORK_LIMIT = 2_000_000
"""Most steps of reading one module: as nodes may be shared, a small text can be a huge program."""


class Budget:
    """Counts steps. Raises IRError when a module asks for more than an honest one could."""

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        self._left = limit

    def spend(self, steps: int = 1) -> None:
        """Count some steps."""
        self._left -= steps
        if self._left < 0:
            raise IRError(
                say("The module has too many parts to be read."), say("Build a smaller module.")
            )


def constant(graph: Graph, index: int) -> int | None:
    """Return the value of an integer constant, or None for any other expression."""
    if graph.type_of(index) != "ir.IntImm":
        return None
    value: int = graph.values[graph.field(index, "value")]
    return value


def extent(graph: Graph, index: int) -> int | str:
    """Return an extent: its value, the name of its variable, or "?" for a longer expression."""
    kind = graph.type_of(index)
    if kind == "ir.Var":
        return graph.name(index)
    value = constant(graph, index)
    return "?" if value is None else value


def data_type(graph: Graph, type_index: int | None) -> str:
    """Return the dtype that a PrimType stands for, empty where there is none."""
    if type_index is None or graph.type_of(type_index) != "ir.PrimType":
        return ""
    value: str = graph.values[type_index]["dtype"]
    return value


def tensor_facts(graph: Graph, type_index: int) -> TensorFacts | None:
    """Return shape and dtype of a tensor, a buffer or a scalar (shape ()), else None."""
    kind = graph.type_of(type_index)
    if kind == "ir.PrimType":
        return TensorFacts(shape=(), dtype=data_type(graph, type_index))
    if kind == "tirx.BufferType":
        shape = tuple(extent(graph, item) for item in graph.list(type_index, "shape"))
        return TensorFacts(shape=shape, dtype=data_type(graph, graph.field(type_index, "dtype")))
    if kind == "relax.TensorType":
        dtype = data_type(graph, graph.optional(type_index, "dtype"))
        return TensorFacts(shape=_tensor_shape(graph, type_index), dtype=dtype)
    return None


def _tensor_shape(graph: Graph, type_index: int) -> Shape | None:
    shape = graph.optional(type_index, "shape")
    if shape is None or graph.type_of(shape) != "relax.expr.ShapeExpr":
        return None
    return tuple(extent(graph, item) for item in graph.list(shape, "values"))


def is_buffer(graph: Graph, variable: int) -> bool:
    """Say whether a variable is a buffer."""
    return graph.type_of(graph.field(variable, "ty")) == "tirx.BufferType"
