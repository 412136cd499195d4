"""The drawing of a graph: what is a box, what is named in one, and where it departs."""

from __future__ import annotations

from itertools import combinations

import pytest
from msgspec.structs import replace

from grader.render.html.graph_drawing import MOST_NODES, describe, draw
from grader.report import Graph, Node
from tests.render.html.samples import DIAGNOSIS, GRAPH


def names(graph: Graph = GRAPH) -> list[str]:
    return [box.rows[0].text for box in draw(graph, None).boxes]


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(Node("tir", f"v{each}", f"f{each}", (1,), "float32") for each in range(count))


class TestBoxes:
    def test_calls_and_the_first_input_are_boxes(self) -> None:
        assert ["x", "conv2d", "env.add", "pool2d", "relax.flatten"] == names()

    def test_constants_are_named_in_the_box_that_takes_them(self) -> None:
        texts = [row.text for row in draw(GRAPH, None).boxes[1].rows]
        assert ["conv2d", "→ lv (4, 32, 26, 26)", "TensorIR", "+ constant (32, 1, 3, 3)"] == texts

    def test_many_parameters_are_counted(self) -> None:
        many = tuple(Node("constant", f"c{each}", shape=(each,)) for each in range(1, 9))
        graph = Graph((*many, Node("tir", "out", "f")), tuple((each, 8) for each in range(8)))
        assert "… and 5 more" == draw(graph, None).boxes[0].rows[-1].text

    def test_what_is_returned_and_what_stands_outside_of_dataflow_is_said(self) -> None:
        notes = [
            row.text for box in draw(GRAPH, None).boxes for row in box.rows if row.kind == "note"
        ]
        assert ["TensorIR", "outside of a dataflow block", "operator", "returned"] == notes[-4:]

    def test_an_edge_is_a_line_with_a_head(self) -> None:
        drawing = draw(GRAPH, None)
        assert 5 == len(drawing.lines) == len(drawing.heads)


class TestDiagnosis:
    def test_the_first_step_that_departs_is_marked_and_named(self) -> None:
        boxes = draw(GRAPH, DIAGNOSIS).boxes
        assert ["", "unknown", "right", "wrong", "follows"] == [box.status for box in boxes]
        told = [box for box in boxes if any(row.kind == "wrong" for row in box.rows)]
        assert ["pool2d"] == [box.rows[0].text for box in told]

    def test_without_a_diagnosis_nothing_is_marked(self) -> None:
        assert {""} == {box.status for box in draw(GRAPH, None).boxes}


class TestBounds:
    @pytest.mark.parametrize(
        "edges", [((5, 0),), ((0, 0),), ((-1, 2),), ((0, 99),), ((10**15, 3),), ((0, 2),) * 900]
    )
    def test_edges_that_make_no_sense_are_not_drawn(self, edges) -> None:
        drawing = draw(replace(GRAPH, edges=edges), None)
        assert len(drawing.lines) <= 1

    def test_a_graph_that_is_too_dense_is_told_and_not_drawn(self) -> None:
        graph = Graph(nodes(30), tuple(combinations(range(30), 2)))
        assert None is draw(graph, None)
        assert 30 == len(describe(graph))

    def test_of_a_long_graph_the_first_boxes_are_drawn(self) -> None:
        graph = Graph(nodes(500), tuple((each, each + 1) for each in range(499)))
        assert MOST_NODES == len(draw(graph, None).boxes) == len(describe(graph))

    def test_nothing_is_drawn_of_nothing(self) -> None:
        assert None is draw(Graph((), ()), None)
        assert () == describe(Graph((), ()))

    @pytest.mark.parametrize(("name", "shown"), [("a" * 30, "a" * 30), ("a" * 31, "a" * 29 + "…")])
    def test_a_line_is_no_longer_than_its_box(self, name: str, shown: str) -> None:
        assert [shown] == names(Graph((Node("tir", "v", name),), ()))

    def test_wide_characters_take_two_columns(self) -> None:
        (name,) = names(Graph((Node("tir", "v", "합" * 31),), ()))
        assert "합" * 14 + "…" == name

    def test_the_whole_name_is_told_beside_the_box(self) -> None:
        graph = Graph((Node("tir", "v", "a" * 40),), ())
        assert "a" * 40 in draw(graph, None).boxes[0].title
        assert "a" * 40 in describe(graph)[0]


def test_as_text_every_node_says_what_it_takes() -> None:
    assert (
        "x (4, 1, 28, 28)",
        "constant (32, 1, 3, 3)",
        "conv2d(x, constant (32, 1, 3, 3)) → lv (4, 32, 26, 26), TensorIR",
        "env.add(lv) → lv1 (4, 32, 26, 26), external",
        "pool2d(lv, lv1) → lv2 (4, 32, 25, 25), TensorIR, outside of a dataflow block",
        "relax.flatten(lv2) → lv3 (4, n), operator, returned",
    ) == describe(GRAPH)
