"""The computational graph as boxes and lines, to be drawn as SVG."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.language import in_a_row
from grader.render import wording
from grader.render.speech import tell
from grader.report import Diagnosis, Graph, Node, StepStatus

# Places for the boxes: in layers, each below what it takes, edges between them. The method is that
# of K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system
# structures" (IEEE Transactions on Systems, Man and Cybernetics 11, 1981), in its simplest form:
# layers by longest paths, order within a layer by barycentres, and then places that are as near to
# those of the neighbours as the order allows.


_SWEEPS = 6
_ALIGNMENTS = 12
_THREAD = 14.0
"""Width of an edge that passes a layer, in pixels."""


class Size(NamedTuple):
    """Width and height of a box, in pixels."""

    width: float
    height: float


class Point(NamedTuple):
    """A place on the drawing, in pixels from its upper left corner."""

    x: float
    y: float


class Placed(NamedTuple):
    """Where boxes are (the middle of their upper sides), and the points that edges pass.

    An edge's points come in pairs: the upper and the lower side of every layer that it meets.
    """

    boxes: tuple[Point, ...]
    edges: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def place(sizes: Sequence[Size], edges: Sequence[tuple[int, int]], gap: Size) -> Placed:
    """Return places for boxes of these sizes; every edge leads from an earlier box to a later one.

    `gap` is the least distance between boxes of a layer, and between layers.
    """
    layers = _layers(len(sizes), edges)
    widths = [size.width for size in sizes]
    chains = [_chain(edge, layers, widths) for edge in edges]
    rows = _rows(layers)
    links = [(a, b) for chain in chains for a, b in itertools.pairwise(chain)]
    rows = _ordered(rows, links)
    middles = _aligned(rows, links, widths, gap.width)
    heights = [
        max((sizes[each].height for each in row if each < len(sizes)), default=0.0) for row in rows
    ]
    tops = [sum(heights[:layer]) + layer * gap.height for layer in range(len(rows))]
    row_of = {each: layer for layer, row in enumerate(rows) for each in row}
    boxes = tuple(Point(middles[each], tops[row_of[each]]) for each in range(len(sizes)))

    def sides(each: int) -> tuple[Point, Point]:
        layer = row_of[each]
        height = sizes[each].height if each < len(sizes) else heights[layer]
        return Point(middles[each], tops[layer]), Point(middles[each], tops[layer] + height)

    routes = tuple(
        tuple(point for each in chain for point in sides(each))[1:-1] for chain in chains
    )
    right = max((middles[each] + widths[each] / 2 for each in row_of), default=0.0)
    bottom = tops[-1] + heights[-1] if rows else 0.0
    return Placed(boxes, routes, right, bottom)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of every box; what takes nothing stands just above its first taker."""
    layers = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        layers[target] = max(layers[target], layers[source] + 1)
    takers: dict[int, list[int]] = {}
    for source, target in edges:
        takers.setdefault(source, []).append(layers[target])
    given = {target for _, target in edges}
    for box in set(takers) - given:
        layers[box] = min(takers[box]) - 1
    return layers


def _chain(edge: tuple[int, int], layers: list[int], widths: list[float]) -> list[int]:
    """Return the slots that an edge passes, from source to target, and make the new ones."""
    source, target = edge
    passed = range(layers[source] + 1, layers[target])
    first = len(widths)
    widths.extend(_THREAD for _ in passed)
    layers.extend(passed)
    return [source, *range(first, len(widths)), target]


def _rows(layers: list[int]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for each, layer in enumerate(layers):
        rows[layer].append(each)
    return rows


def _ordered(rows: list[list[int]], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order every layer by the middles of its neighbours' places, downwards and upwards in turn."""
    above, below = _neighbours(links)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        near = above if downwards else below
        place_of = {each: place for row in rows for place, each in enumerate(row)}
        for row in rows if downwards else reversed(rows):
            keys = {
                each: _mean([place_of[other] for other in near.get(each, ())], place_of[each])
                for each in row
            }
            row.sort(key=lambda each: keys[each])
            place_of.update({each: place for place, each in enumerate(row)})
    return rows


def _neighbours(
    links: Sequence[tuple[int, int]],
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for upper, lower in links:
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    return above, below


def _aligned(
    rows: list[list[int]], links: Sequence[tuple[int, int]], widths: list[float], gap: float
) -> dict[int, float]:
    """Return the middle of every slot: near to its neighbours', `gap` between the slots."""
    above, below = _neighbours(links)
    middles = {each: 0.0 for row in rows for each in row}
    for step in range(_ALIGNMENTS):
        near = above if step % 2 == 0 else below
        for row in rows if step % 2 == 0 else reversed(rows):
            wanted = [
                _mean([middles[other] for other in near.get(each, ())], middles[each])
                for each in row
            ]
            middles.update(zip(row, spread(wanted, [widths[e] for e in row], gap), strict=True))
    left = min((middles[each] - widths[each] / 2 for each in middles), default=0.0)
    return {each: middle - left for each, middle in middles.items()}


def spread(wanted: list[float], widths: list[float], gap: float) -> list[float]:
    """Return places in order, as near to the wanted ones as their widths allow (least squares)."""
    offsets = [0.0]
    for one, other in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (one + other) / 2 + gap)
    pools: list[tuple[float, int]] = []  # places that push each other: mean, count
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean = (mean * count + other * size) / (count + size)
            count += size
        pools.append((mean, count))
    bases = [mean for mean, count in pools for _ in range(count)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


MOST_NODES = 64
MOST_EDGES = 200
"""Most that is drawn. A graph with more edges is shown as a list."""

WIDTH = 244.0
_PADDING = 10.0
_LINE = 17.0
_GAP = Size(18.0, 30.0)
_MARGIN = 2.0
_COLUMNS = 30
"""Characters of a line in a box: with 13 pixels of a monospaced font they fill it."""

_BESIDE = 3
"""Parameters and constants that are named in a box."""


class DrawnRow(NamedTuple):
    """A line of text in a box: its class, and its distance from the upper side of the drawing."""

    kind: str
    text: str
    y: float


class DrawnBox(NamedTuple):
    """A box: its upper left corner, its height, its lines, and all of its text as a title."""

    kind: str
    status: str
    x: float
    y: float
    height: float
    rows: tuple[DrawnRow, ...]
    title: str


class Drawing(NamedTuple):
    """A drawing of `width` by `height` pixels. `lines` are paths, `heads` the tips of arrows."""

    width: float
    height: float
    boxes: tuple[DrawnBox, ...]
    lines: tuple[str, ...]
    heads: tuple[str, ...]
    description: str


def draw(graph: Graph, diagnosis: Diagnosis | None) -> Drawing | None:
    """Return the drawing of a graph, None for one that is empty or too dense to be looked at.

    Whatever the edges say, only those are drawn that lead from a box to a later one.
    """
    shown = _Shown(graph, diagnosis)
    if not shown.boxed or len(shown.edges) > MOST_EDGES:
        return None
    texts = [shown.rows(each) for each in shown.boxed]
    sizes = [Size(WIDTH, 2 * _PADDING + _LINE * len(rows) - 2) for rows in texts]
    placed = place(sizes, shown.edges, _GAP)
    boxes = tuple(
        shown.box(each, rows, size, corner)
        for each, rows, size, corner in zip(shown.boxed, texts, sizes, placed.boxes, strict=True)
    )
    routes = [[Point(x + _MARGIN, y + _MARGIN) for x, y in route] for route in placed.edges]
    return Drawing(
        width=round(placed.width + 2 * _MARGIN, 1),
        height=round(placed.height + 2 * _MARGIN, 1),
        boxes=boxes,
        lines=tuple(map(_curve, routes)),
        heads=tuple(_head(route[-1]) for route in routes),
        description=shown.description(),
    )


def describe(graph: Graph) -> tuple[str, ...]:
    """Return a graph as a list: what each node is, and what it takes."""
    shown = _Shown(graph, None)
    return tuple(shown.sentence(each) for each in range(len(shown.nodes)))


class _Shown:
    """Which nodes are boxes, which are named in one, and what is said of them."""

    def __init__(self, graph: Graph, diagnosis: Diagnosis | None) -> None:
        self.nodes = graph.nodes[:MOST_NODES]
        count = len(self.nodes)
        known = {(a, b) for a, b in graph.edges if 0 <= a < b < count}
        self.taken = {b: sorted(a for a, c in known if c == b) for b in range(count)}
        self.output = graph.output
        self.boxed = [each for each in range(count) if self._is_boxed(each)]
        number = {each: place for place, each in enumerate(self.boxed)}
        self.edges = sorted((number[a], number[b]) for a, b in known if a in number and b in number)
        self.statuses = _statuses(diagnosis)
        self.omitted = max(0, graph.omitted) + len(graph.nodes) - count

    def _is_boxed(self, each: int) -> bool:
        """Say whether a node has a box: calls have, and the input that a call takes first."""
        if self.nodes[each].kind not in ("input", "constant"):
            return True
        is_first = any(sources[:1] == [each] for sources in self.taken.values())
        return self.nodes[each].kind == "input" and (is_first or each == self.output)

    def rows(self, each: int) -> list[tuple[str, str]]:
        """Return the lines of a box, with their classes."""
        node = self.nodes[each]
        rows = [("name", node.callee or node.variable or tell(wording.NODE_KINDS[node.kind]))]
        made = _tensor(node) if node.callee else _shape(node)
        rows += [("tensor", f"→ {made}" if node.callee else made)] if made else []
        rows += [("note", text) for text in self._notes(each)]
        rows += [("beside", text) for text in self._beside(each)]
        if self.statuses.get(node.variable) == "wrong":
            rows.append(("wrong", tell(wording.STATUSES["wrong"])))
        return rows

    def _notes(self, each: int) -> Iterator[str]:
        node = self.nodes[each]
        yield tell(wording.NODE_KINDS[node.kind])
        if node.callee and not node.dataflow:
            yield tell("outside-dataflow-block")
        if each == self.output:
            yield tell("returned")

    def _beside(self, each: int) -> Iterator[str]:
        """Yield what a box takes that has no box of its own."""
        beside = [self.nodes[one] for one in self.taken[each] if one not in self.boxed]
        for node in beside[:_BESIDE]:
            yield f"+ {_tensor(node)}" if node.kind == "input" else f"+ {_constant(node)}"
        if len(beside) > _BESIDE:
            yield tell("and-more-2", count=len(beside) - _BESIDE)

    def box(self, each: int, rows: list[tuple[str, str]], size: Size, corner: Point) -> DrawnBox:
        """Return a box at its place."""
        node = self.nodes[each]
        x, y = corner.x - size.width / 2 + _MARGIN, corner.y + _MARGIN
        lines = tuple(
            DrawnRow(kind, _fit(text), round(y + _PADDING + 11 + _LINE * place, 1))
            for place, (kind, text) in enumerate(rows)
        )
        status = self.statuses.get(node.variable, "") if node.callee else ""
        return DrawnBox(
            kind=node.kind,
            status=status,
            x=round(x, 1),
            y=round(y, 1),
            height=size.height,
            rows=lines,
            title="; ".join(text for _, text in rows),
        )

    def sentence(self, each: int) -> str:
        """Return a node with all that it takes."""
        node = self.nodes[each]
        if not node.callee:
            return _tensor(node) if node.kind == "input" else _constant(node)
        taken = tell(in_a_row(self._name(one) for one in self.taken[each]))
        made = f"{node.callee}({taken}) → {_tensor(node)}"
        return tell(in_a_row([made, *self._notes(each)]))

    def _name(self, each: int) -> str:
        node = self.nodes[each]
        return node.variable or _constant(node)

    def description(self) -> str:
        """Return the text for readers who do not see the drawing."""
        calls = sum(1 for node in self.nodes if node.callee)
        return tell("calls-from-input-above-what-main-returns", calls=calls)


def _statuses(diagnosis: Diagnosis | None) -> dict[str, StepStatus]:
    if diagnosis is None:
        return {}
    return {step.variable: step.status for step in diagnosis.steps}


def _tensor(node: Node) -> str:
    return " ".join(filter(None, (node.variable, _shape(node))))


def _constant(node: Node) -> str:
    return tell("constant-name", name=_tensor(node)).rstrip()


def _shape(node: Node) -> str:
    if node.shape is None:
        return ""
    extents = ", ".join(wording.one_line(str(extent)) for extent in node.shape[:8])
    return f"({extents},)" if len(node.shape) == 1 else f"({extents})"


def _fit(text: str) -> str:
    """Return a line that fits into a box; wide characters take two columns."""
    ends = list(itertools.accumulate(map(_columns, text)))
    if not ends or ends[-1] <= _COLUMNS:
        return text
    return text[: sum(end < _COLUMNS for end in ends)] + "…"


def _columns(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _curve(route: list[Point]) -> str:
    """Return the path of an edge: straight through layers, bent between them."""
    start, *rest = route
    path = [f"M{start.x:.1f} {start.y:.1f}"]
    upper = start
    for index, point in enumerate(rest):
        if index % 2 == 0:
            middle = f"{(upper.y + point.y) / 2:.1f}"
            path.append(f"C{upper.x:.1f} {middle} {point.x:.1f} {middle}")
            path.append(f" {point.x:.1f} {point.y:.1f}")
        else:
            path.append(f"V{point.y:.1f}")
        upper = point
    return "".join(path)


def _head(tip: Point) -> str:
    return (
        f"M{tip.x - 4:.1f} {tip.y - 7:.1f}L{tip.x:.1f} {tip.y:.1f}L{tip.x + 4:.1f} {tip.y - 7:.1f}"
    )
