"""Places for the boxes of a graph: in layers, each below what it takes, edges between them.

The method is that of K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of
hierarchical system structures" (IEEE Transactions on Systems, Man and Cybernetics 11, 1981), in its
simplest form: layers by longest paths, order within a layer by barycentres, and then places that
are as near to those of the neighbours as the order allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

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


class _Slot(NamedTuple):
    width: float


def place(sizes: Sequence[Size], edges: Sequence[tuple[int, int]], gap: Size) -> Placed:
    """Return places for boxes of these sizes; every edge leads from an earlier box to a later one.

    `gap` is the least distance between boxes of a layer, and between layers.
    """
    layers = _layers(len(sizes), edges)
    slots = [_Slot(size.width) for size in sizes]
    chains = [_chain(edge, layers, slots) for edge in edges]
    rows = _rows(layers)
    links = [(a, b) for chain in chains for a, b in itertools.pairwise(chain)]
    rows = _ordered(rows, links)
    middles = _aligned(rows, links, [slot.width for slot in slots], gap.width)
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
    right = max((middles[each] + slots[each].width / 2 for each in row_of), default=0.0)
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


def _chain(edge: tuple[int, int], layers: list[int], slots: list[_Slot]) -> list[int]:
    """Return the slots that an edge passes, from source to target, and make the new ones."""
    source, target = edge
    passed = range(layers[source] + 1, layers[target])
    first = len(slots)
    slots.extend(_Slot(_THREAD) for _ in passed)
    layers.extend(passed)
    return [source, *range(first, len(slots)), target]


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
