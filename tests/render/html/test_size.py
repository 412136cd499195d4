"""A page stays below three megabytes, whatever is in the report, and says what it leaves out."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

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


def huge() -> Iterator[tuple[str, Report]]:
    yield "many cells", cells(10_000, "x = 1", CellOutput("stdout", "1\n"))
    yield "many long cells", cells(10_000, "if " * 4000, CellOutput("stdout", "<" * 10_000))
    yield "many texts", replace(TYPICAL, cells=(Cell("markdown", "*a *" * 2500),) * 10_000)
    yield "many images", cells(50, "plot()", CellOutput("image", IMAGE))
    yield "many parts", replace(TYPICAL, parts=(replace(PART, title="<" * 500),) * 2000)
    yield (
        "many problems",
        replace(TYPICAL, problems=(CellProblem(1, "E" * 80, "<" * 1000, 3, "h"),) * 2000),
    )
    yield "many notes", replace(TYPICAL, notes=("&" * 5000,) * 2000)
    yield "a dense graph", replace(TYPICAL, parts=(replace(PART, graph=complete(64)),) * 20)
    yield "a long graph", replace(TYPICAL, parts=(replace(PART, graph=complete(400)),))
    scripts = Scripts("f", LINES, LINES.replace("for", "fox"))
    yield "long scripts", replace(TYPICAL, parts=(replace(PART, scripts=scripts),) * 20)
    for character in "<&'`\n\u202e\U0001f600":
        yield f"long texts of {character!a}", Filler(lambda _, c=character: c * 10**6).report()
        yield (
            f"many texts of {character!a}",
            Filler(lambda _, c=character: c * 3000, items=12).report(),
        )


HUGE = dict(huge())


@pytest.mark.parametrize("name", HUGE)
def test_the_page_is_whole_and_below_the_limit(name: str) -> None:
    page = render_html(HUGE[name])
    assert len(page) <= SIZE < 3_000_000
    assert [] == read(page).unbalanced
    assert b"</html>" in page[-20:]


def test_cells_that_do_not_fit_are_counted() -> None:
    text = flat(read(render_html(cells(10_000, "if " * 4000))).text)
    more = re.search(r"([\d,]+) more cells", text)
    shown = text.count("[", text.index("The notebook, as it was run"))
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
