"""Translations in a master notebook: beside the text, and alike in all but the words.

A markdown cell with the metadata `lang="zh"` translates the cell before it; several languages
follow one another. In code, lines `# zh: ...` translate the comment directly above them:

    # Step 1. Find the block.
    # zh: 第一步：找到 block。

What has no translation is shown in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from nbformat import NotebookNode

from grader.language import NOTHING, Text, say

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
    """Return the languages, of those with their own script, whose characters are in a text."""
    return frozenset(language for language, script in _SCRIPTS.items() if script.search(text))


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])


ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "zh": "Chinese", "ko": "Korean"}
"""The languages that comments are always searched for; a master may have cells in others too."""

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")
_COMMENT = re.compile(r"(?P<indentation>[ \t]*)# (?P<language>[A-Za-z0-9-]+):[ \t]*(?P<text>.*)\Z")
_MARK = re.compile(r"#+[ \t]*(BEGIN|END) ")


class Passage(msgspec.Struct, frozen=True):
    """A cell of the master with its translations; `number` counts the master's cells from 1."""

    number: int
    cell: NotebookNode
    translations: dict[str, tuple[int, NotebookNode]]

    def text(self, language: str, languages: Iterable[str]) -> str:
        """Return the cell's source in one language, solutions and marks included."""
        if self.cell.cell_type == "code":
            return localize_comments(self.cell.source, language, languages)
        if language not in self.translations:
            return str(self.cell.source)
        _, cell = self.translations[language]
        return join_lines(cell.source) if language in UNSPACED else str(cell.source)


class Misplaced(msgspec.Struct, frozen=True):
    """A cell, or a line of it (from 0), that translates nothing; `problem` completes "it ..."."""

    number: int
    problem: Text
    line: int = 0


def master_languages(master: NotebookNode) -> tuple[str, ...]:
    """Return the languages of a master's cells: English, then the others as they first occur."""
    found = [language_of(cell) for cell in master.cells]
    return tuple(dict.fromkeys([ENGLISH, *(each for each in found if each is not None)]))


def comment_languages(master: NotebookNode) -> tuple[str, ...]:
    """Return the languages that comments may be translated into."""
    return tuple(dict.fromkeys([*LANGUAGES, *master_languages(master)]))


def language_of(cell: NotebookNode) -> str | None:
    """Return the language that a cell is a translation into; None for a cell of the master."""
    language = cell.metadata.get("lang")
    return language if isinstance(language, str) and _CODE.match(language) else None


def find_passages(master: NotebookNode) -> tuple[tuple[Passage, ...], tuple[Misplaced, ...]]:
    """Put translations to the cells that they translate, in order; and those that fit nowhere."""
    passages: list[Passage] = []
    misplaced: list[Misplaced] = []
    for number, cell in enumerate(master.cells, start=1):
        if "lang" not in cell.metadata:
            passages.append(Passage(number, cell, {}))
            continue
        problem = _misfit(cell, passages[-1] if passages else None)
        if problem:
            misplaced.append(Misplaced(number, problem))
        else:
            passages[-1].translations[cell.metadata["lang"]] = (number, cell)
    return tuple(passages), tuple(misplaced)


def _misfit(cell: NotebookNode, original: Passage | None) -> Text:
    """Say what keeps a cell from being a translation of `original`; nothing if nothing does."""
    language = language_of(cell)
    if language is None:
        return say("has-lang-which-not-code-language", code=repr(cell.metadata["lang"]))
    if language == ENGLISH:
        return say("marked-as-english-as-cells-without-lang")
    if cell.cell_type != "markdown":
        return say("code-in-one-language-translate-comments")
    if original is None or original.cell.cell_type != "markdown":
        return say("translates-nothing-there-no-text-cell-before")
    if language in original.translations:
        return say("second-translation-one-cell-into", language=language)
    return NOTHING


_OF_NO_COMMENT = say("translates-nothing-no-comment-above")


class Comment(msgspec.Struct):
    """Comment lines in a row, and what they are in other languages."""

    line: int
    indentation: str
    lines: list[str]
    translations: dict[str, list[str]] = msgspec.field(default_factory=dict)


def localize_comments(source: str, language: str, languages: Iterable[str]) -> str:
    """Put a comment's translation in its place, where there is one, and drop all the others."""
    lines: list[str] = []
    for item in cut_comments(source, languages):
        if isinstance(item, str):
            lines.append(item)
        elif isinstance(item, Comment):
            lines += item.translations.get(language, item.lines)
    return "\n".join(lines)


def cut_comments(source: str, languages: Iterable[str]) -> list[str | Comment | Misplaced]:
    """Cut code into lines, comments with their translations, and translations of nothing."""
    known = frozenset(languages)
    found: list[str | Comment | Misplaced] = []
    for number, line in enumerate(source.split("\n")):
        last = found[-1] if found else None
        match = _COMMENT.match(line)
        if match is not None and match["language"] in known:
            if isinstance(last, Comment) and last.indentation == match["indentation"]:
                text = f"{match['indentation']}# {match['text']}".rstrip()
                last.translations.setdefault(match["language"], []).append(text)
            else:
                found.append(Misplaced(0, _OF_NO_COMMENT, number))
        elif not line.lstrip().startswith("#") or _MARK.match(line.lstrip()):
            found.append(line)
        else:
            _add_comment(found, line, number)
    return found


def _add_comment(found: list[str | Comment | Misplaced], line: str, number: int) -> None:
    indentation = line[: len(line) - len(line.lstrip())]
    last = found[-1] if found else None
    if isinstance(last, Comment) and (last.indentation, last.translations) == (indentation, {}):
        last.lines.append(line)
    else:
        found.append(Comment(number, indentation, [line]))
