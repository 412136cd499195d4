"""What an expression uses in the end: block iterators and bound names are followed to loops."""

from __future__ import annotations

from typing import NamedTuple

from grader.ir.expressions import Budget
from grader.ir.graph import Graph


class Uses(NamedTuple):
    """The buffers that are loaded, once for each load, and the variables that nothing binds."""

    loads: list[int]
    variables: set[int]


class Names(NamedTuple):
    """What names stand for: variables for a value, buffers for a part of another one.

    `wholes` has the buffer that a buffer is a part of, `places` the expressions for where it
    begins.
    """

    values: dict[int, int]
    wholes: dict[int, int]
    places: dict[int, list[int]]

    def whole(self, buffer: int) -> int:
        """Return the buffer that a buffer is a part of, often itself."""
        return self.wholes.get(buffer, buffer)

    def match(self, buffer: int, source: int, place: list[int]) -> None:
        """Take down that a buffer is a part of another, which may be a part itself."""
        self.wholes[buffer] = self.whole(source)
        self.places[buffer] = [*place, *self.places.get(source, ())]


def find_uses(graph: Graph, values: list[int], names: Names, budget: Budget) -> Uses:
    """Return what expressions use, names followed to what they stand for."""
    result = Uses([], set())
    seen, pending = set(values), list(reversed(values))
    while pending:
        budget.spend()
        index = pending.pop()
        kind = graph.type_of(index)
        if kind == "ir.Var":
            if index not in names.values:
                result.variables.add(index)
                continue
            children = [names.values[index]]
        elif kind == "ir.TensorLoad":
            source = graph.field(index, "source")
            result.loads.append(names.whole(source))
            children = [*graph.list(index, "indices"), *names.places.get(source, ())]
        else:
            children = [each for each in graph.children[index] if graph.is_scalar_or_array(each)]
        budget.spend(len(children))
        for child in reversed(children):
            if child not in seen:
                seen.add(child)
                pending.append(child)
    return result
