"""What a report keeps of an executed notebook."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from grader.execute.problems import PathRedaction
from grader.execute.result import Execution
from grader.grading.account import (
    IMAGES_SIZE,
    LONGEST_MARKUP,
    MARKUP_SIZE,
    OUTPUT_LENGTH,
    OUTPUTS,
    SOURCE_LENGTH,
    listed_code,
    transcribe,
)
from grader.language import foreign
from grader.reading.submission import SubmissionFile, parse_content
from grader.report import Cell, CellOutput, CellProblem
from tests.render.html.samples import png

PLACES = PathRedaction(("/srv/machine",))


def stream(text: Any, name: str = "stdout") -> NotebookNode:
    return NotebookNode(output_type="stream", name=name, text=text)


def shown(**data: Any) -> NotebookNode:
    names = {name.replace("_", "/"): value for name, value in data.items()}
    return NotebookNode(output_type="display_data", data=names, metadata={})


def image(encoded: Any) -> NotebookNode:
    return NotebookNode(
        output_type="display_data",
        data={"image/png": encoded, "text/plain": "<Figure size 640x480 with 1 Axes>"},
    )


def listing(inside: str) -> NotebookNode:
    html = f'<div class="highlight" style="background: "><pre>{inside}</pre></div>'
    data = {"text/plain": "<IPython.core.display.HTML object>", "text/html": html}
    return NotebookNode(output_type="display_data", data=data)


def error(*frames: Any) -> NotebookNode:
    return NotebookNode(output_type="error", ename="E", evalue="v", traceback=list(frames))


def run(
    *outputs: NotebookNode, source: str = "x", ran: str = "", problems: tuple[CellProblem, ...] = ()
) -> tuple[CellOutput, ...]:
    """Return what is kept of a notebook of one cell, which was run as `ran`."""
    cell = nbformat.v4.new_code_cell(ran or source)
    cell.outputs = list(outputs)
    own = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    (kept,) = keep(own, [cell], problems)
    return kept.outputs


def keep(
    own: NotebookNode,
    cells: list[NotebookNode],
    problems: tuple[CellProblem, ...] = (),
    handout: frozenset[str] = frozenset(),
) -> tuple[Cell, ...]:
    ran = NotebookNode(cells=cells)  # a kernel's outputs need not be valid
    execution = Execution(ran, problems, len(cells), len(cells), (), ())
    return transcribe(SubmissionFile("a.ipynb", "", own), execution, PLACES, handout)


def kept(*cells: dict[str, Any]) -> tuple[Cell, ...]:
    """Return what is kept of a notebook that was read and put nothing out."""
    own = parse_content(json.dumps({"cells": list(cells)}).encode(), ".ipynb")
    return keep(own, own.cells)


class TestCells:
    def test_they_are_as_they_were_handed_in_and_counted_as_jupyter_does(self) -> None:
        cells = kept(
            {"cell_type": "markdown", "source": "# a"},
            {"cell_type": "code", "source": ["x = 1\n", "y"]},
            {"cell_type": "code", "source": " \n"},
            {"cell_type": "code", "source": "z"},
        )
        assert (
            Cell("markdown", "# a", line=1),
            Cell("code", "x = 1\ny", 1, line=1),
            Cell("code", " \n", line=1),
            Cell("code", "z", 2, line=1),
        ) == cells  # the whole file is one line here

    def test_those_of_the_handout_are_known_again(self) -> None:
        own = parse_content(
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "markdown", "source": "# Task 1 \n"},
                        {"cell_type": "code", "source": "x = 1\ny"},
                        {"cell_type": "code", "source": "x = 2\ny"},
                    ]
                }
            ).encode(),
            ".ipynb",
        )
        cells = keep(own, own.cells, handout=frozenset({"# Task 1", "x = 1\ny"}))
        assert [True, True, False] == [cell.given for cell in cells]

    def test_without_a_run_there_are_none(self) -> None:
        assert () == transcribe(SubmissionFile("a", "", None, foreign("damaged")), None, PLACES)

    def test_a_long_source_is_cut(self) -> None:
        (cell,) = kept({"cell_type": "code", "source": "x" * (SOURCE_LENGTH + 1)})
        assert SOURCE_LENGTH == len(cell.source)
        assert cell.source.endswith("x…")


class TestTexts:
    @pytest.mark.parametrize(
        ("output", "wanted"),
        [
            (stream("a\n"), CellOutput("stdout", "a\n")),
            (stream("a", "stderr"), CellOutput("stderr", "a")),
            (shown(text_plain="1"), CellOutput("result", "1")),
            (
                error("\x1b[31mE\x1b[39m", "Cell In[1]", "E: v"),
                CellOutput("error", "E\nCell In[1]\nE: v"),
            ),
            (error(), CellOutput("error", "E: v")),
            (stream("\x1b[1;32mgreen\x1b[0m"), CellOutput("stdout", "green")),
            (stream("10 %\r50 %\r100 %\ndone"), CellOutput("stdout", "100 %\ndone")),
            (stream("a\r\nb\r\n"), CellOutput("stdout", "a\nb\n")),
            (stream("in /srv/machine/a.py"), CellOutput("stdout", "in a.py")),
            (stream("half \ud800"), CellOutput("stdout", "half ?")),
        ],
    )
    def test_an_output_becomes(self, output: NotebookNode, wanted: CellOutput) -> None:
        assert (wanted,) == run(output)

    @pytest.mark.parametrize(
        "output",
        [
            stream(""),
            stream(None),
            stream(["a"]),
            NotebookNode(output_type="stream"),
            NotebookNode(output_type="display_data", data=None),
            NotebookNode(output_type="display_data", data=[1]),
            NotebookNode(output_type="no such"),
            NotebookNode(),
            shown(text_plain=7),
        ],
    )
    def test_what_has_no_text_is_nothing(self, output: NotebookNode) -> None:
        assert () == run(output)

    def test_of_code_that_was_shown_coloured_the_text_is_kept(self) -> None:
        (made,) = run(listing("a &lt; b in /srv/machine/a.py\r\n"))
        assert CellOutput("listing", "a < b in a.py") == made

    def test_a_listing_is_cut_as_any_text(self) -> None:
        (made,) = run(listing("x" * (OUTPUT_LENGTH + 1)))
        assert ("listing", OUTPUT_LENGTH, "…") == (made.kind, len(made.text), made.text[-1])

    def test_text_that_tells_something_comes_before_a_listing(self) -> None:
        output = listing("coloured")
        output.data["text/plain"] = "told"
        assert (CellOutput("result", "told"),) == run(output)

    def test_html_that_is_no_listing_is_not_kept(self) -> None:
        (made,) = run(listing("<script>alert(1)</script>"))
        assert ("result", ("text/html",)) == (made.kind, made.left_out)

    def test_no_more_html_is_read_than_there_is_time_for(self) -> None:
        much = listing("<span></span>" * 30_000 + "x")  # so long, and next to nothing to be read
        kinds = [made.kind for made in run(*[much] * 15)]
        assert MARKUP_SIZE // len(much.data["text/html"]) == kinds.count("listing") == 10

    def test_html_and_programs_are_not_kept_and_it_is_said(self) -> None:
        output = NotebookNode(
            output_type="display_data",
            data={"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>x</b>"},
        )
        (made,) = run(output)
        assert ("<IPython.core.display.HTML object>", ("text/html",)) == (made.text, made.left_out)

    def test_a_table_that_is_text_too_needs_no_note(self) -> None:
        (made,) = run(shown(text_plain="   a\n0  1", text_html="<table>"))
        assert ("   a\n0  1", ()) == (made.text, made.left_out)

    def test_a_cell_that_was_respelt_keeps_the_problem_alone(self) -> None:
        problem = CellProblem(1, "NameError", "name 'tir' is not defined", 1)
        output = error(
            "Cell In[1], line 1", "----> 1 tirx.x", "NameError: name 'tirx' is not defined"
        )
        (made,) = run(output, source="tir.x", ran="tirx.x", problems=(problem,))
        assert "NameError: name 'tir' is not defined" == made.text

    def test_long_texts_are_cut(self) -> None:
        (made,) = run(stream("x" * 10**6))
        assert (OUTPUT_LENGTH, "…") == (len(made.text), made.text[-1])

    def test_many_outputs_are_cut(self) -> None:
        made = run(*(stream(str(number)) for number in range(1000)))
        assert OUTPUTS + 1 == len(made)
        assert "…" == made[-1].text


class TestImages:
    def test_a_png_is_kept_in_one_line(self) -> None:
        encoded = png(64, 48)
        in_lines = "\n".join([encoded[:40], encoded[40:], ""])
        assert (CellOutput("image", encoded),) == run(image(in_lines))

    @pytest.mark.parametrize("encoded", ["", "x", "PHN2Zy8+", None, ["a"], "iVBORw0KGgo="])
    def test_of_anything_else_the_text_is_kept(self, encoded: Any) -> None:
        assert (CellOutput("result", "<Figure size 640x480 with 1 Axes>"),) == run(image(encoded))

    def test_all_together_are_bounded(self) -> None:
        encoded = base64.b64encode(base64.b64decode(png()) + bytes(90_000)).decode()
        made = run(*(image(encoded) for _ in range(OUTPUTS)))
        kept = [each.text for each in made if each.kind == "image"]
        assert IMAGES_SIZE // (len(encoded) + 2) == len(kept)


def test_everything_together_is_bounded() -> None:
    cells, picture = [], base64.b64encode(base64.b64decode(png()) + bytes(9_000)).decode()
    for _ in range(300):
        cell = nbformat.v4.new_code_cell("\x01" * 30_000)
        cell.outputs = [stream("\x01" * 50_000), image(picture), error("\x02" * 50_000)]
        cells.append(cell)
    document = msgspec.json.encode(keep(NotebookNode(cells=cells), cells))
    assert len(document) < 1_600_000


def test_after_what_did_not_fit_cells_still_have_their_number() -> None:
    cells = [nbformat.v4.new_code_cell("x" * 39_000) for _ in range(20)]
    made = keep(NotebookNode(cells=cells), cells)
    assert list(range(1, 21)) == [cell.number for cell in made]
    assert ["…", ""] == [made[7].source, made[-1].source]


# Which HTML is code that was shown coloured, and what its text is.


CODE = "@T.prim_func\ndef f(a: T.handle) -> None:  # <b> & \"c\" 'd'\n    A[0] = T.float32(1.5e-3)"
HEAD, END = '<div class="highlight"><pre>', "</pre></div>"


def coloured(code: str, style: str = "default") -> str:
    """Return what TVM displays of code."""
    formatter = HtmlFormatter(style=style)
    formatter.noclasses = True
    made: str = highlight(code, PythonLexer(stripnl=False), formatter)
    return made


@pytest.mark.parametrize("style", ["default", "monokai", "bw"])
def test_what_pygments_colours_is_its_text(style: str) -> None:
    assert CODE == listed_code(coloured(CODE, style))


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=60))
def test_any_text_comes_back(text: str) -> None:
    assert text.rstrip("\n") == listed_code(coloured(text))


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<b>x</b>",
        '<span onclick="alert(1)">x</span>',
        '<span style="x" class="y">x</span>',
        "<span style=color>x</span>",
        '<span style="a"><span style="b">x</span></span>',
        "</span>x",
        "<span>x",
        "<!-- x -->",
        "&nbsp;",
        "&#60;",
        "a & b",
        "a < b",
        "x</pre></div><script>alert(1)</script><div><pre>",
        f'<span style="{"x" * 201}">x</span>',
    ],
)
def test_anything_else_is_no_listing(inside: str) -> None:
    assert "x" == listed_code(f"{HEAD}x{END}")
    assert None is listed_code(f"{HEAD}{inside}{END}")


@pytest.mark.parametrize(
    "markup",
    [
        None,
        7,
        ["<div>"],
        "",
        HEAD,
        END,
        f"x{HEAD}x{END}",
        f"{HEAD}x{END}x",
        f"<style>b</style>{HEAD}x{END}",
        f"{HEAD}{'x' * LONGEST_MARKUP}{END}",
    ],
)
def test_what_is_around_is_nothing(markup: object) -> None:
    assert None is listed_code(markup)


def test_text_that_looks_like_a_tag_stays_text() -> None:
    assert "<script>" == listed_code(f"{HEAD}&lt;script&gt;{END}")
    assert "&lt;" == listed_code(f"{HEAD}&amp;lt;{END}")
