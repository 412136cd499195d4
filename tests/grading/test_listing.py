"""Which HTML is code that was shown coloured, and what its text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from grader.grading.account import LONGEST_MARKUP, listed_code

CODE = "@T.prim_func\ndef f(a: T.handle) -> None:  # <b> & \"c\" 'd'\n    A[0] = T.float32(1.5e-3)"
HEAD, END = '<div class="highlight"><pre>', "</pre></div>"


def shown(code: str, style: str = "default") -> str:
    """Return what TVM displays of code."""
    formatter = HtmlFormatter(style=style)
    formatter.noclasses = True
    made: str = highlight(code, PythonLexer(stripnl=False), formatter)
    return made


@pytest.mark.parametrize("style", ["default", "monokai", "bw"])
def test_what_pygments_colours_is_its_text(style: str) -> None:
    assert CODE == listed_code(shown(CODE, style))


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=60))
def test_any_text_comes_back(text: str) -> None:
    assert text.rstrip("\n") == listed_code(shown(text))


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
