"""Foreign text in pages, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

MOST_READ = 4_000
"""Longest text that is read as Markdown, in characters; of the course's none has more than 2000.
Work grows with its square where quotations go on in lines without their mark: half a second."""

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

_KINDS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "em": "em",
    "strong": "strong",
    "s": "s",
}
_TRANSPARENT = frozenset({"root", "inline"})
_LITERAL = frozenset({"fence", "code_block"})


class Element(NamedTuple):
    """A node: its kind, its own text, where a link leads, and what it contains.

    Kinds are those of `_KINDS`, "h" with its `level`, "a", "code", "pre", "hr", "br" and "text".
    """

    kind: str
    text: str = ""
    href: str = ""
    level: int = 0
    children: tuple[Element, ...] = ()


class Headings:
    """Gives headings levels that follow each other, however a notebook has them.

    A page is read aloud by its headings: none is deeper than the one before by more than a step.
    """

    def __init__(self, base: int) -> None:
        """`base` is the level of the heading that all of them stand under."""
        self._base = base
        self._open: list[int] = []

    def level(self, own: int) -> int:
        """Return the level of the next heading, which has level `own` in the notebook."""
        while self._open and self._open[-1] >= own:
            self._open.pop()
        self._open.append(own)
        return min(self._base + len(self._open), 6)


def read_markdown(text: str, headings: Headings) -> tuple[Element, ...]:
    """Return the elements of a text. Images become their descriptions."""
    if len(text) > MOST_READ:
        return (Element("pre", text),)
    root = SyntaxTreeNode(_PARSER.parse(text))
    return tuple(_elements(root, headings))


def is_web_link(target: str) -> bool:
    """Say whether a link leads to the web: nothing else is followed."""
    return target.startswith(("https://", "http://"))


def _elements(node: SyntaxTreeNode, headings: Headings) -> Iterator[Element]:
    if node.type in _TRANSPARENT:
        yield from _children(node, headings)
    elif node.type == "heading":
        level = headings.level(int(node.tag[1:]))
        yield Element("h", level=level, children=_children(node, headings))
    elif node.type == "link":
        yield from _link(node, headings)
    elif node.type == "image":
        yield from _children(node, headings)
    elif node.type in _KINDS:
        yield Element(_KINDS[node.type], children=_children(node, headings))
    else:
        yield _leaf(node)


def _children(node: SyntaxTreeNode, headings: Headings) -> tuple[Element, ...]:
    return tuple(element for child in node.children for element in _elements(child, headings))


def _link(node: SyntaxTreeNode, headings: Headings) -> Iterator[Element]:
    """Yield a link, or what it contains where it leads nowhere that is followed."""
    target = str(node.attrs.get("href", ""))
    inside = _children(node, headings)
    if is_web_link(target):
        yield Element("a", href=target, children=inside)
    else:
        yield from inside


def _leaf(node: SyntaxTreeNode) -> Element:
    if node.type in _LITERAL:
        return Element("pre", node.content.rstrip("\n"))
    if node.type == "code_inline":
        return Element("code", node.content)
    if node.type == "hr":
        return Element("hr")
    if node.type == "hardbreak":
        return Element("br")
    if node.type == "softbreak":
        return Element("text", " ")
    return Element("text", node.content)


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


class TextPiece(NamedTuple):
    """A piece of a line: its class, empty for plain text, and its text."""

    kind: str
    text: str


Line = tuple[TextPiece, ...]


def coloured_lines(source: str) -> tuple[Line, ...]:
    """Return the lines of Python code, cut into pieces by what they are."""
    if len(source) > MOST_COLOURED:
        return plain_lines(source)
    lines: list[list[TextPiece]] = [[]]
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
    return tuple((TextPiece("", line),) for line in source.split("\n"))


def _kind(token: _TokenType) -> str:
    return next((kind for family, kind in _CLASSES if token in family), "")


def _append(line: list[TextPiece], kind: str, text: str) -> None:
    """Put a piece at the end of a line, together with the last one where both are of a kind."""
    if not text:
        return
    if line and line[-1].kind == kind:
        line[-1] = TextPiece(kind, line[-1].text + text)
    else:
        line.append(TextPiece(kind, text))


CONTEXT = 3
"""Lines that are shown before and after a change."""

MOST_LINES = 1_500
"""Longest text that is compared, in lines: comparing takes the product of both lengths."""

_TYPED_NUMBER = re.compile(r"\bT\.int(?:32|64)\((-?\d+)\)")


class TextBlock(NamedTuple):
    """Lines of one kind. What is "folded" is the same in both, and far from any change."""

    kind: Literal["same", "folded", "gone", "new"]
    lines: tuple[str, ...]


def compare(before: str, after: str) -> tuple[TextBlock, ...]:
    """Return the blocks of the difference between two functions in TVMScript."""
    old, new = _readable(before), _readable(after)
    codes = SequenceMatcher(None, old, new).get_opcodes()
    blocks: list[TextBlock] = []
    for place, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            is_first, is_last = place == 0, place == len(codes) - 1
            blocks += _unchanged(tuple(old[i1:i2]), is_first, is_last)
        else:
            blocks += [TextBlock("gone", tuple(old[i1:i2]))] if i2 > i1 else []
            blocks += [TextBlock("new", tuple(new[j1:j2]))] if j2 > j1 else []
    return tuple(blocks)


def _unchanged(lines: tuple[str, ...], is_first: bool, is_last: bool) -> Iterator[TextBlock]:
    """Yield lines that are the same: context as it is, what is far from changes folded."""
    head = 0 if is_first else CONTEXT
    tail = 0 if is_last else CONTEXT
    if len(lines) <= head + tail + 1:
        yield TextBlock("same", lines)
        return
    if head:
        yield TextBlock("same", lines[:head])
    yield TextBlock("folded", lines[head : len(lines) - tail])
    if tail:
        yield TextBlock("same", lines[len(lines) - tail :])


def _readable(script: str) -> list[str]:
    """Return lines without what widens them and says little: types of numbers, deep indents."""
    lines = _TYPED_NUMBER.sub(r"\1", script).split("\n")[:MOST_LINES]
    return [line[(len(line) - len(line.lstrip(" "))) // 2 :] for line in lines]
