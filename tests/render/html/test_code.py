"""Code as lines of coloured pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.render.html.text import MOST_COLOURED, TextPiece, coloured_lines, plain_lines


def text(lines: tuple[tuple[TextPiece, ...], ...]) -> str:
    return "\n".join("".join(piece.text for piece in line) for line in lines)


@given(st.text(st.sampled_from("ab \n\"'#()@%01é合"), max_size=60))
def test_nothing_is_lost(source: str) -> None:
    assert source == text(coloured_lines(source))
    assert source == text(plain_lines(source))


@pytest.mark.parametrize(
    ("source", "kind", "piece"),
    [
        ("def f(): pass", "k", "def"),
        ("def f(): pass", "f", "f"),
        ("x = 12", "n", "12"),
        ("x = 'a'", "s", "'a'"),
        ("x  # why", "c", "# why"),
        ("print(x)", "b", "print"),
        ("@R.function\ndef f(): pass", "d", "@R"),
        ("a not in b", "k", "not"),
    ],
)
def test_pieces_have_their_colour(source: str, kind: str, piece: str) -> None:
    pieces = [each for line in coloured_lines(source) for each in line]
    assert any(piece in each.text for each in pieces if each.kind == kind)


def test_neighbours_of_one_kind_are_one_piece() -> None:
    assert ((TextPiece("", "a.b(c)"),),) == coloured_lines("a.b(c)")


def test_a_text_over_lines_is_coloured_on_each() -> None:
    assert ["s", "s"] == [line[0].kind for line in coloured_lines('"""a\nb"""')]


def test_long_code_is_not_coloured() -> None:
    source = "if x: pass\n" * (MOST_COLOURED // 10)
    assert {""} == {piece.kind for line in coloured_lines(source) for piece in line}


@pytest.mark.parametrize("source", ["%matplotlib inline", "!ls", "def (", "'''", "\x00", "\\"])
def test_what_is_no_python_is_shown_all_the_same(source: str) -> None:
    assert source == text(coloured_lines(source))
