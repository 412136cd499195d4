"""Markdown in several languages: what must be the same in all of them, and where lines break."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable("table")
_SCRIPTS = {
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ko": re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"),
}
"""Characters that tell a language, by the blocks of Unicode: CJK ideographs, Hangul."""

UNSPACED = frozenset({"zh", "ja"})
"""Languages that put no spaces between words."""

_NUMBER = re.compile(r"\b\d+(?:\.\d+)*\b(?!\s+(?:thousand|million|billion)\b)", re.ASCII)
"""A number, but for those that languages which count by ten thousands write otherwise."""

_WIDE = "[\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60]"
"""Characters of full width, by the blocks of Unicode: punctuation, kana, ideographs, forms."""

_STARTS_WIDE = re.compile(rf"[ \t]*{_WIDE}")
_ENDS_WIDE = re.compile(rf"(?!#).*{_WIDE}\Z")
"""A line that ends so, unless it is a heading."""


class Outline(msgspec.Struct, frozen=True):
    """What a markdown text holds besides its words.

    `headings` are the levels from 1 to 6 in order; `fences` counts blocks of code, `rows` those of
    tables, `items` those of lists; `targets` are those of links and pictures. `words` is the text
    without code, as it is rendered, `numbers` are those in it.
    """

    headings: tuple[int, ...]
    spans: frozenset[str]
    fences: int
    targets: frozenset[str]
    rows: int
    items: int
    words: str

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers in the text that are written with digits."""
        return frozenset(_NUMBER.findall(self.words))

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate."""
        return any(character.isalpha() for character in self.words)


def outline_of(text: str) -> Outline:
    """Read a markdown text as a notebook renders it."""
    tokens = list(_flat(_PARSER.parse(text)))
    targets = [token.attrs.get("href") or token.attrs.get("src") for token in tokens]
    return Outline(
        headings=tuple(int(token.tag[1]) for token in tokens if token.type == "heading_open"),
        spans=frozenset(token.content for token in tokens if token.type == "code_inline"),
        fences=sum(token.type in ("fence", "code_block") for token in tokens),
        targets=frozenset(str(target) for target in targets if target),
        rows=sum(token.type == "tr_open" for token in tokens),
        items=sum(token.type == "list_item_open" for token in tokens),
        words=" ".join(token.content for token in tokens if token.type == "text"),
    )


def join_lines(text: str) -> str:
    """Take out the line breaks of a paragraph that stand between characters of full width.

    Markdown shows them as spaces, which do not belong there. Blocks of code keep theirs.
    """
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_text = lines and not in_code and not is_fence
        if is_text and _ENDS_WIDE.match(lines[-1]) and _STARTS_WIDE.match(line):
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
        in_code ^= is_fence
    return "\n".join(lines)


def scripts_in(text: str) -> frozenset[str]:
    """Return the languages, of those with a script of their own, whose characters are in a text."""
    return frozenset(language for language, script in _SCRIPTS.items() if script.search(text))


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])
