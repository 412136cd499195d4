"""Text cells of a notebook: Markdown, read into a tree of few kinds of nodes.

No HTML is made here, and none that stands in the text is believed: the templates know the kinds
that there are, and escape every text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

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
