"""What of a markdown text must be the same in every language: headings, code, links."""

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


class Outline(msgspec.Struct, frozen=True):
    """What a markdown text holds besides its words.

    `headings` are the levels from 1 to 6 in order; `fences` counts blocks of code; `targets` are
    those of links and pictures. `words` is the text without code, as it is rendered.
    """

    headings: tuple[int, ...]
    spans: frozenset[str]
    fences: int
    targets: frozenset[str]
    words: str

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
        words=" ".join(token.content for token in tokens if token.type == "text"),
    )


def scripts_in(text: str) -> frozenset[str]:
    """Return the languages, of those with a script of their own, whose characters are in a text."""
    return frozenset(language for language, script in _SCRIPTS.items() if script.search(text))


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])
