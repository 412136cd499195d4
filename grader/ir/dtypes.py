"""Data types of scalar expressions: what numbers an integer of one can be, and how many lanes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from grader.ir.expressions import data_type
from grader.ir.graph import Graph
from grader.ir.linear import Range

_PARTS = re.compile(r"([a-wyz]+)([0-9]*)((?:_[a-wyz0-9]+)?)(?:x([0-9]+))?", re.ASCII)


class DataType(NamedTuple):
    """A data type: its kind ("int", "uint", "bool", "float", ...), bits of a lane, lanes.

    `scalar` is the type of one lane, as text.
    """

    kind: str
    bits: int
    lanes: int
    scalar: str

    @property
    def numbers(self) -> Range | None:
        """Return the integers that it holds, None where it is of something else."""
        if self.kind == "bool":
            return Range(0, 1)
        if self.kind == "uint":
            return Range(0, 2**self.bits - 1)
        if self.kind == "int" and self.bits:
            return Range(-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)
        return None

    @property
    def size(self) -> int:
        """Return how many bytes an item takes at most: TVM stores it as a wider one where there
        is no arithmetic for it, floats of 8 bits and bfloat16 as floats of 32."""
        widened = self.kind == "bfloat" or (self.kind == "float" and self.bits <= 8)
        return (4 if widened else (self.bits + 7) // 8) * self.lanes


@lru_cache(maxsize=256)
def parse(text: str) -> DataType:
    """Return a data type by its text; what has no bits of its own, as a handle, has 0."""
    match = _PARTS.fullmatch(text)
    if match is None:
        return DataType("", 0, 1, text)
    kind, bits, variant, lanes = match.groups()
    width = 8 if kind == "bool" else int(bits or 0)
    return DataType(kind, width, int(lanes or 1), kind + bits + variant)


def type_of(graph: Graph, index: int) -> DataType:
    """Return the data type that an expression says it has; without one its kind is empty."""
    value = graph.values[index]
    return parse(data_type(graph, value["ty"]) if isinstance(value, dict) and "ty" in value else "")


def item_type(graph: Graph, buffer: int) -> DataType:
    """Return the data type of a buffer's items."""
    return parse(data_type(graph, graph.field(graph.field(buffer, "ty"), "dtype")))
