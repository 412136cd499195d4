"""Boxes of a graph in layers: none upon another, all edges downwards."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.render.html.graph_drawing import Placed, Size, place, spread

GAP = Size(10.0, 20.0)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    sizes = [Size(draw(st.floats(20, 200)), draw(st.floats(20, 80))) for _ in range(count)]
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return sizes, edges


def boxes(placed: Placed, sizes: list[Size]) -> list[tuple[float, float, float, float]]:
    """Return left, right, top and bottom of every box."""
    return [
        (at.x - size.width / 2, at.x + size.width / 2, at.y, at.y + size.height)
        for at, size in zip(placed.boxes, sizes, strict=True)
    ]


@given(graphs())
def test_no_box_is_on_another_or_outside_of_the_drawing(graph) -> None:
    sizes, edges = graph
    placed = place(sizes, edges, GAP)
    found = boxes(placed, sizes)
    for one, other in combinations(found, 2):
        beside = one[1] <= other[0] + 1e-6 or other[1] <= one[0] + 1e-6
        above = one[3] <= other[2] + 1e-6 or other[3] <= one[2] + 1e-6
        assert beside or above
    for left, right, top, bottom in found:
        assert -1e-6 <= left <= right <= placed.width + 1e-6
        assert 0 <= top <= bottom <= placed.height + 1e-6


@given(graphs())
def test_edges_lead_downwards_from_one_box_to_the_other(graph) -> None:
    sizes, edges = graph
    placed = place(sizes, edges, GAP)
    assert len(edges) == len(placed.edges)
    for (source, target), route in zip(edges, placed.edges, strict=True):
        start, end = placed.boxes[source], placed.boxes[target]
        assert (start.x, start.y + sizes[source].height) == route[0]
        assert end == route[-1]
        heights = [point.y for point in route]
        assert heights == sorted(heights)


def test_a_chain_is_straight() -> None:
    sizes = [Size(100, 30)] * 4
    placed = place(sizes, [(0, 1), (1, 2), (2, 3)], GAP)
    assert {50.0} == {at.x for at in placed.boxes}
    assert [0.0, 50.0, 100.0, 150.0] == [at.y for at in placed.boxes]


def test_an_edge_that_passes_a_layer_leaves_the_box_there_alone() -> None:
    sizes = [Size(100, 30)] * 3
    placed = place(sizes, [(0, 1), (1, 2), (0, 2)], GAP)
    passing = placed.edges[2][1:-1]
    assert 2 == len(passing)
    assert all(abs(point.x - placed.boxes[1].x) >= 50 for point in passing)


def test_nothing_is_placed_of_nothing() -> None:
    assert Placed((), (), 0.0, 0.0) == place([], [], GAP)


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([0, 100, 200], [0, 100, 200]),
        ([0, 0, 0], [-15, 0, 15]),
        ([20, 0], [2.5, 17.5]),
        ([0, 0, 90], [-7.5, 7.5, 90]),
        ([0, 0, 12], [-11, 4, 19]),
    ],
)
def test_places_are_as_near_to_the_wanted_ones_as_there_is_room(
    wanted: list[float], places: list[float]
) -> None:
    """Boxes are 10 wide here and 5 apart."""
    assert places == pytest.approx(spread(wanted, [10.0] * len(wanted), 5.0))
