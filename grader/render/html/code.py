"""Python code as lines of coloured pieces. The pieces are text: the templates escape them."""

from __future__ import annotations

from typing import NamedTuple

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

MOST_COLOURED = 10_000
"""Longest code that is coloured, in characters: hostile text costs the lexer half a second."""

_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "d"),
    (Name.Builtin, "b"),
)


class Piece(NamedTuple):
    """A piece of a line: its class, empty for plain text, and its text."""

    kind: str
    text: str


Line = tuple[Piece, ...]


def coloured_lines(source: str) -> tuple[Line, ...]:
    """Return the lines of Python code, cut into pieces by what they are."""
    if len(source) > MOST_COLOURED:
        return plain_lines(source)
    lines: list[list[Piece]] = [[]]
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        kind = _kind(token)
        first, *rest = text.split("\n")
        _append(lines[-1], kind, first)
        for piece in rest:
            lines.append([])
            _append(lines[-1], kind, piece)
    return tuple(map(tuple, lines))


def plain_lines(source: str) -> tuple[Line, ...]:
    """Return lines of one piece each."""
    return tuple((Piece("", line),) for line in source.split("\n"))


def _kind(token: _TokenType) -> str:
    return next((kind for family, kind in _CLASSES if token in family), "")


def _append(line: list[Piece], kind: str, text: str) -> None:
    """Put a piece at the end of a line, together with the last one where both are of a kind."""
    if not text:
        return
    if line and line[-1].kind == kind:
        line[-1] = Piece(kind, line[-1].text + text)
    else:
        line.append(Piece(kind, text))
