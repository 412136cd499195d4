"""Reading a page as a browser does, as far as tests have to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

EMPTY = frozenset({"meta", "img", "br", "hr", "rect", "path", "circle"})
_TAGS = """
html head meta title style body a header nav main section article footer div p span h1 h2 h3 h4 h5
h6 ul ol li dl dt dd table caption thead tbody tr th td strong em s q code pre blockquote hr br del
ins details summary img bdi svg g desc rect path circle text
"""
_ATTRIBUTES = """
lang charset http-equiv content name class id href rel src alt width height scope open role tabindex
aria-label aria-labelledby aria-hidden data-n viewbox preserveaspectratio focusable x y rx d cx cy r
"""
TAGS, ATTRIBUTES = frozenset(_TAGS.split()), frozenset(_ATTRIBUTES.split())
"""What the templates write, and nothing else."""

INLINE = frozenset({"span", "a", "code", "strong", "em", "s", "q", "bdi"})


@dataclass
class Page:
    """What is on a page: its tags in order, their attributes, and its text."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    text: str = ""
    unbalanced: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute, in order."""
        return [value for _, attribute, value in self.attributes if attribute == name]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        self.page.attributes += [(tag, name, value or "") for name, value in attrs]
        self.page.text += "" if tag in INLINE else "\n"
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.page.tags.append(f"/{tag}")
        self.page.text += "" if tag in INLINE else "\n"
        if tag in EMPTY:
            return
        if not self._open or self._open.pop() != tag:
            self.page.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.page.text += data

    def handle_comment(self, data: str) -> None:
        self.page.tags.append("!--")

    def close(self) -> None:
        super().close()
        self.page.unbalanced += self._open


def read(document: bytes) -> Page:
    """Read a page. Raises UnicodeDecodeError for what is no UTF-8."""
    reader = _Reader()
    reader.feed(document.decode("utf-8"))
    reader.close()
    return reader.page


def flat(text: str) -> str:
    """Return text with single spaces between its words."""
    return " ".join(text.split())
