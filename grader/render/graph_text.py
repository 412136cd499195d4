"""The computational graph as a drawing in text: a line for each box, and rails between them.

A rail is a tensor that is still needed. It begins under the box that makes it and ends in the last
box that takes it; where a box takes several, a line joins them above it:

    ○ x (1, 64)
    ├─╮
    │ ● double → lv0 (1, 64)
    ├─╯
    ● add → lv1 (1, 64), returned

Parameters and constants have no rails: they are named beside the box.
"""

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from grader.render import wording
from grader.render.speech import tell
from grader.report import Graph, Node

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
"""Characters by the sum of the directions that they lead to."""

_ASCII = {
    **dict.fromkeys("│╵╷", "|"),
    **dict.fromkeys("─╴╶", "-"),
    "●": "*",
    "○": "o",
    "→": "->",
    "…": "...",
}


class GraphDrawing:
    """Draws a graph as wide as there is room; where rails are too many, only the lines."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rails = _Rails(self.graph)
        rows = list(rails.rows())
        if 4 * max((len(row.rails) for row in rows), default=0) > options.max_width:
            rows = list(rails.spelled())
        for row in rows:
            yield from _wrapped(row, console, options)


class _Row:
    """A line of the drawing: the rails at its left, those of lines that follow, and its text."""

    def __init__(self, rails: str, below: str = "", text: Text | None = None) -> None:
        self.rails = rails
        self.below = below
        self.text = text


class _Rails:
    """Goes through the nodes in order and keeps which tensor is on which rail."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.taken = {
            place: [source for source, target in graph.edges if target == place]
            for place in range(len(graph.nodes))
        }
        self.needed = Counter(source for source, _ in graph.edges)
        self.railed = {place for place in range(len(graph.nodes)) if self.has_rail(place)}
        self.columns: list[int | None] = []

    def has_rail(self, place: int) -> bool:
        """Say whether what a node gives is drawn: results of calls, and what comes first in one."""
        if self.graph.nodes[place].kind not in ("input", "constant"):
            return True
        first = any(each and each[0] == place for each in self.taken.values())
        return self.graph.nodes[place].kind == "input" and (first or place == self.graph.output)

    def rows(self) -> Iterator[_Row]:
        """Return the lines of the drawing."""
        for place in range(len(self.graph.nodes)):
            if place in self.railed:
                yield from self.node(place)
        yield from self.rest()

    def spelled(self) -> Iterator[_Row]:
        """Return a line for each box that names all that it takes, for where rails do not fit."""
        for place in sorted(self.railed):
            yield _Row("", text=self.text(place, self.taken[place]))
        yield from self.rest()

    def rest(self) -> Iterator[_Row]:
        """Return the line that says how much is left out."""
        if self.graph.omitted:
            yield _Row("", text=Text(tell("and-more-2", count=self.graph.omitted), style="dim"))

    def node(self, place: int) -> Iterator[_Row]:
        """Draw one node: the line that joins what it takes, then its box."""
        sources = [each for each in self.taken[place] if each in self.railed]
        before = list(self.columns)
        joined = {self.columns.index(each) for each in sources if each in self.columns}
        self.needed.subtract(self.taken[place])
        ended = {column for column in joined if not self.needed[before[column] or 0]}
        box = min(ended) if ended else self.free()
        for column in ended:
            self.columns[column] = None
        if joined - {box}:
            yield _Row(_join(before, self.columns, joined, box))
        self.columns[box] = place
        rails = self.drawn(box, "○" if self.graph.nodes[place].kind == "input" else "●")
        if not self.needed[place]:
            self.columns[box] = None
        while self.columns and self.columns[-1] is None:
            self.columns.pop()
        beside = [each for each in self.taken[place] if each not in self.railed]
        yield _Row(rails, self.drawn(), self.text(place, beside))

    def free(self) -> int:
        """Return a column that holds no rail, a new one if all do."""
        if None not in self.columns:
            self.columns.append(None)
        return self.columns.index(None)

    def drawn(self, box: int = -1, mark: str = "") -> str:
        """Return the rails of a line, with a mark in one of them."""
        cells = [" " if each is None else "│" for each in self.columns]
        if box >= 0:
            cells[box] = mark
        return " ".join(cells)

    def text(self, place: int, beside: list[int]) -> Text:
        """Return what is said of a node, and of the nodes `beside` it that it takes."""
        node = self.graph.nodes[place]
        text = Text()
        if node.callee:
            text.append(wording.one_line(node.callee), style="bold")
            text.append(" → ")
        text.append(_tensor(node))
        if place == self.graph.output:
            text.append(", " + tell("returned"))
        notes = [tell(wording.NODE_KINDS[node.kind])] if node.callee else []
        if beside:
            tensors = ", ".join(_tensor(self.graph.nodes[each]) for each in beside)
            notes.append(tell("with", tensors=tensors))
        if node.callee and not node.dataflow:
            notes.append(tell("outside-dataflow-block"))
        return text.append("".join(f", {each}" for each in notes), style="dim")


def _join(before: list[int | None], after: list[int | None], joined: set[int], box: int) -> str:
    """Return the line from the joined rails to the box; it passes behind all others."""
    ends = {*joined, box}
    cells = []
    for column in range(max(len(before), max(ends) + 1)):
        up = column < len(before) and before[column] is not None
        down = column == box or (column < len(after) and after[column] is not None)
        left, right = min(ends) < column <= max(ends), min(ends) <= column < max(ends)
        if column in ends or not up:
            cells.append(_LINES[up * _UP + down * _DOWN + left * _LEFT + right * _RIGHT])
        else:
            cells.append("│")
        cells.append("─" if right else " ")
    return "".join(cells).rstrip()


def _tensor(node: Node) -> str:
    name = wording.one_line(node.variable)
    if node.kind == "constant":
        name = tell("constant-name", name=name).rstrip()
    if node.shape is None:
        return name
    extents = ", ".join(wording.one_line(str(extent)) for extent in node.shape)
    return f"{name} ({extents},)" if len(node.shape) == 1 else f"{name} ({extents})"


def _wrapped(row: _Row, console: Console, options: ConsoleOptions) -> Iterator[Text]:
    """Return the lines of a row: what does not fit goes on beside the rails that go on."""
    if row.text is None:
        yield Text(_plain(row.rails, options), style="dim")
        return
    width = max(len(row.rails), len(row.below))
    indent = width + 1 if width else 0
    content = Text(_plain(row.text.plain, options)) if options.ascii_only else row.text
    lines = content.wrap(console, max(10, options.max_width - indent - 2))
    for place, line in enumerate(lines):
        start = row.rails.ljust(indent) if place == 0 else row.below.ljust(indent) + "  "
        yield Text.assemble((_plain(start, options), "dim"), line)


def _plain(text: str, options: ConsoleOptions) -> str:
    if not options.ascii_only:
        return text
    return "".join(_ASCII.get(each, "+" if each in _LINES[1:] else each) for each in text)
