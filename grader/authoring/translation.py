"""Translations in a master notebook, beside the text that they translate.

A markdown cell with the metadata `lang="zh"` translates the cell before it; several languages
follow one another. In code, lines `# zh: ...` translate the comment directly above them:

    # Step 1. Find the block.
    # zh: 第一步：找到 block。

What has no translation is shown in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from nbformat import NotebookNode

from grader.authoring.prose import UNSPACED, join_lines

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
    problem: str
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


def _misfit(cell: NotebookNode, original: Passage | None) -> str:
    """Say what keeps a cell from being a translation of `original`; empty if nothing does."""
    language = language_of(cell)
    if language is None:
        return f"has lang={cell.metadata['lang']!r}, which is not the code of a language"
    if language == ENGLISH:
        return "is marked as English, as cells without `lang` are anyway"
    if cell.cell_type != "markdown":
        return "is code in one language; translate comments by `# zh: ...` below them"
    if original is None or original.cell.cell_type != "markdown":
        return "translates nothing: there is no text cell before it"
    if language in original.translations:
        return f"is the second translation of one cell into {language}"
    return ""


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
                found.append(Misplaced(0, "translates nothing: no comment is above it", number))
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
