"""A page stays below three megabytes, whatever is in the report, and says what it leaves out."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from grader.language import foreign
from grader.render.html import render_html
from grader.render.html.page import SIZE
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Graph,
    Node,
    Report,
    Scripts,
)
from tests import sample_reports
from tests.render.html.filled import Filler
from tests.render.html.reading import flat, read

TYPICAL = sample_reports.typical()
PART = TYPICAL.parts[0]
HEADER = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 100, 100)
IMAGE = base64.b64encode(HEADER + bytes(900_000)).decode()
LINES = "\n".join(f"for i in range({number}): <>&" for number in range(3000))


def cells(count: int, source: str, *outputs: CellOutput) -> Report:
    made = (Cell("code", source, number, None, outputs) for number in range(1, count + 1))
    return replace(TYPICAL, cells=tuple(made))


def complete(nodes: int) -> Graph:
    """Return a graph in which everything takes everything before it."""
    boxes = tuple(Node("tir", f"v{each}", "f", (1,), "float32") for each in range(nodes))
    edges = tuple((one, other) for one in range(nodes) for other in range(one + 1, nodes))
    return Graph(boxes, edges)


def long(character: str) -> Report:
    return Filler(lambda _: character * 10**6).report()


def many(character: str) -> Report:
    return Filler(lambda _: character * 3000, items=12).report()


SCRIPTS = Scripts("f", LINES, LINES.replace("for", "fox"))
PROBLEM = CellProblem(1, "E" * 80, "<" * 1000, 3, foreign("h"))

# Made by the test that needs it: together they take two gigabytes of every worker.
HUGE: dict[str, Callable[[], Report]] = {
    "many cells": lambda: cells(10_000, "x = 1", CellOutput("stdout", "1\n")),
    "many long cells": lambda: cells(10_000, "if " * 4000, CellOutput("stdout", "<" * 10_000)),
    "many texts": lambda: replace(TYPICAL, cells=(Cell("markdown", "*a *" * 2500),) * 10_000),
    "many images": lambda: cells(50, "plot()", CellOutput("image", IMAGE)),
    "many parts": lambda: replace(TYPICAL, parts=(replace(PART, title=foreign("<" * 500)),) * 2000),
    "many problems": lambda: replace(TYPICAL, problems=(PROBLEM,) * 2000),
    "many notes": lambda: replace(TYPICAL, notes=(foreign("&" * 5000),) * 2000),
    "a dense graph": lambda: replace(TYPICAL, parts=(replace(PART, graph=complete(64)),) * 20),
    "a long graph": lambda: replace(TYPICAL, parts=(replace(PART, graph=complete(400)),)),
    "long scripts": lambda: replace(TYPICAL, parts=(replace(PART, scripts=SCRIPTS),) * 20),
}
for each in "<&'`\n\u202e\U0001f600":
    HUGE[f"long texts of {each!a}"] = partial(long, each)
    HUGE[f"many texts of {each!a}"] = partial(many, each)


@pytest.mark.parametrize("name", HUGE)
def test_the_page_is_whole_and_below_the_limit(name: str) -> None:
    page = render_html(HUGE[name]())
    assert len(page) <= SIZE < 3_000_000
    assert [] == read(page).unbalanced
    assert b"</html>" in page[-20:]


def test_cells_that_do_not_fit_are_counted() -> None:
    page = read(render_html(cells(10_000, "if " * 4000)))
    more = re.search(r"([\d,]+) more cells", flat(page.text))
    shown = sum(each.startswith("cell code") for each in page.values("class"))
    assert 0 < shown < 10_000
    assert 10_000 == shown + int(more[1].replace(",", ""))


def test_a_cell_that_is_cut_keeps_what_is_said_of_it() -> None:
    report = cells(100, "x\n" * 15_000)
    report = replace(report, problems=(CellProblem(100, "LateError", "at the end", 1),))
    text = flat(read(render_html(report)).text)
    assert 2 == text.count("LateError")  # in the list, and beside the cell


def test_an_ordinary_notebook_is_complete() -> None:
    text = flat(
        read(render_html(cells(60, "print(1)\n" * 30, CellOutput("stdout", "1\n" * 30)))).text
    )
    assert "left out" not in text
    assert 60 * 30 == text.count("print(1)")
