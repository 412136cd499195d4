"""The computational graph of a module's `main`, for the report: bounded, and safe to show."""

from __future__ import annotations

from grader.ir.facts import Argument, Call, ModuleFacts, TensorFacts
from grader.report import Graph, Node, NodeKind

NODE_LIMIT = 64
"""Most nodes: more than that is no picture any more."""

NAME_LIMIT = 40
"""Most characters of a name."""

AXIS_LIMIT = 8
"""Most axes of a shape."""


def draw_graph(facts: ModuleFacts) -> Graph | None:
    """Return the graph of `main`, None where there is no `main`."""
    return _Drawing(facts).graph() if facts.has_main else None


class _Drawing:
    """Nodes and edges; inputs first, and each constant directly before the call that takes it."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.facts = facts
        self.nodes: list[Node] = []
        self.edges: dict[tuple[int, int], None] = {}
        self.inputs: dict[str, int] = {}
        self.calls: dict[int, int] = {}
        self.omitted = 0

    def graph(self) -> Graph:
        """Draw everything."""
        for each in self.facts.inputs:
            place = self.add(_node("input", each.name, each.tensor))
            if place is not None:
                self.inputs.setdefault(each.name, place)
        for place, call in enumerate(self.facts.calls):
            self.call(place, call)
        result = self.facts.result
        return Graph(
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            output=None if result is None else self.place_of(result),
            omitted=self.omitted,
        )

    def call(self, place: int, call: Call) -> None:
        """Draw a call, with the constants that it is given."""
        sources = [self.source(argument) for argument in call.arguments]
        node = self.add(
            _node(call.kind, call.binding, call.result, callee=call.callee, dataflow=call.dataflow)
        )
        if node is not None:
            self.calls[place] = node
            self.edges |= {(source, node): None for source in sources if source is not None}

    def source(self, argument: Argument) -> int | None:
        """Return the node that an argument comes from, None where it cannot be told."""
        if argument.kind == "constant":
            return self.add(_node("constant", argument.name, argument.tensor))
        return self.place_of(argument)

    def place_of(self, argument: Argument) -> int | None:
        """Return the node of an input or of what a call has made."""
        if argument.kind == "input":
            return self.inputs.get(argument.name)
        return None if argument.source is None else self.calls.get(argument.source)

    def add(self, node: Node) -> int | None:
        """Add a node and return its place, None where there is no room for it."""
        if len(self.nodes) >= NODE_LIMIT:
            self.omitted += 1
            return None
        self.nodes.append(node)
        return len(self.nodes) - 1


def _node(
    kind: NodeKind,
    variable: str,
    tensor: TensorFacts | None,
    callee: str = "",
    *,
    dataflow: bool = False,
) -> Node:
    shape = tensor.shape if tensor is not None else None
    return Node(
        kind=kind,
        variable=_name(variable),
        callee=_name(callee),
        shape=None if shape is None else tuple(map(_extent, shape[:AXIS_LIMIT])),
        dtype=_name(tensor.dtype) if tensor is not None else "",
        dataflow=dataflow,
    )


def _extent(extent: int | str) -> int | str:
    return _name(extent) if isinstance(extent, str) else extent


def _name(text: str) -> str:
    """Return a name short and printable."""
    clean = "".join(each if each.isprintable() else "?" for each in text[: NAME_LIMIT + 1])
    return clean if len(clean) <= NAME_LIMIT else f"{clean[: NAME_LIMIT - 1]}…"
