"""The computational graph drawn in text."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from grader.render.graph_text import GraphDrawing
from grader.report import Graph, Node
from tests import sample_reports
from tests.render.pages import page

CHAIN = """\
○ x (1, 784)
● linear0 → lv0 (1, 128), TensorIR, with w0 (128, 784)
● env.relu → lv1 (1, 128), external
● env.linear → out (1, 10), returned, external, with constant (10, 128)
"""


def node(name: str, kind="tir", callee="f") -> Node:
    callee = "" if kind in ("input", "constant") else callee
    return Node(kind, name, callee, (4,), "float32", dataflow=True)


def drawn(graph: Graph, width: int = 80, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    Console(file=file, width=width).print(GraphDrawing(graph))
    file.flush()
    text = file.buffer.getvalue().decode(encoding)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def boxes(text: str) -> list[str]:
    """The rails alone: what stands before the name of each box, and lines between boxes."""
    return [line.split(" f ")[0].split(" x ")[0].rstrip() for line in text.splitlines()]


class TestRails:
    def test_a_chain_is_one_column_with_parameters_beside_it(self):
        assert CHAIN == drawn(sample_reports.GRAPH)

    def test_a_tensor_that_is_needed_again_goes_on_beside_the_box(self):
        graph = Graph(
            (node("x", "input"), node("a"), node("b")), ((0, 1), (0, 2), (1, 2)), output=2
        )
        assert ["○", "├─╮", "│ ●", "├─╯", "●"] == boxes(drawn(graph))

    def test_a_line_that_joins_two_rails_passes_behind_a_third(self):
        nodes = (node("x", "input"), node("y", "input"), node("a"), node("b"), node("c"))
        graph = Graph(nodes, ((0, 2), (0, 3), (1, 4), (2, 4), (3, 4)))
        rails = boxes(drawn(graph))
        assert "├─│─╮" in rails[2]

    def test_a_box_of_which_nothing_is_needed_ends_its_rail(self):
        nodes = (node("x", "input"), node("a"), node("b"))
        assert ["○", "├─╮", "│ ●", "●"] == boxes(drawn(Graph(nodes, ((0, 1), (0, 2)))))

    def test_a_call_outside_of_dataflow_blocks_is_marked(self):
        loose = msgspec.structs.replace(node("a"), dataflow=False)
        text = drawn(Graph((node("x", "input"), loose), ((0, 1),)))
        assert "outside of a dataflow block" in text

    def test_what_is_left_out_is_counted(self):
        assert "… and 7 more" in drawn(Graph((node("x", "input"),), (), omitted=7))


class TestConsoles:
    WIDE = Graph(
        (*(node(f"x{i}", "input") for i in range(12)), *(node(f"a{i}") for i in range(12))),
        tuple((i, 12 + i) for i in range(12)),
    )

    @pytest.mark.parametrize("graph", [sample_reports.GRAPH, WIDE], ids=["chain", "wide"])
    @pytest.mark.parametrize("width", [20, 40, 80])
    def test_no_line_is_wider_than_the_console_and_every_box_is_named(self, graph, width):
        lines = drawn(graph, width).splitlines()
        assert all(cell_len(line) <= width for line in lines)
        text = " ".join(" ".join(lines).split())
        assert all(each.variable in text for each in graph.nodes if each.variable)

    def test_what_does_not_fit_goes_on_beside_the_rails(self):
        lines = drawn(sample_reports.GRAPH, 40).splitlines()
        assert ["● linear0 → lv0 (1, 128), TensorIR,", "│   with w0 (128, 784)"] == lines[1:3]

    def test_where_rails_do_not_fit_a_box_names_what_it_takes(self):
        assert "│" in drawn(self.WIDE, 120)
        narrow = drawn(self.WIDE, 24)
        assert "│" not in narrow
        assert "with x3 (4,)" in " ".join(narrow.split())

    def test_a_console_without_line_characters_gets_ascii(self):
        graph = Graph((node("x", "input"), node("a"), node("b")), ((0, 1), (0, 2), (1, 2)))
        assert ["o", "+-+", "| *", "+-+", "*"] == boxes(drawn(graph, encoding="ascii"))


class TestInReport:
    def test_a_part_with_a_graph_shows_it_under_its_checks(self):
        report = sample_reports.typical()
        part = msgspec.structs.replace(report.parts[0], graph=sample_reports.GRAPH)
        text = page(msgspec.structs.replace(report, parts=(part,)))
        _, _, below = text.partition("The graph of main:\n")
        assert below.startswith("○ x (1, 784)\n● linear0 → lv0 (1, 128)")

    def test_a_part_without_one_shows_none(self):
        assert "The graph of main" not in page(sample_reports.typical())
