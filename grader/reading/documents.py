"""Files that hold cells: notebooks, Python scripts and Markdown. All but code stays byte for byte.

Scripts and Markdown are divided as `grader run` divides them. A block that is indented unevenly, so
that it could not be written back as it was, is left alone.
A notebook is written anew as Jupyter writes it, when a cell of it has changed.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

from grader.dialects.migration import Migration, migrate_cells
from grader.errors import SubmissionError
from grader.language import say
from grader.reading.cells import SIZE_LIMIT, TEXT_LIMIT, Piece, divide
from grader.reading.messages import CELL_LIMIT

SUFFIXES = (".ipynb", ".py", ".md", ".markdown", ".txt")

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class Document(msgspec.Struct, frozen=True):
    """A file after migration.

    `content` is what to write. `starts` has for each code cell the line of the file, from 1, in
    which it began; None in a notebook, whose cells have no lines of the file. `before` are the
    cells as they were.
    """

    content: bytes
    before: tuple[str, ...]
    starts: tuple[int, ...] | None
    migration: Migration

    @property
    def changed(self) -> bool:
        """Whether any cell has."""
        return self.before != self.migration.sources


def migrate_document(content: bytes, suffix: str) -> Document:
    """Migrate the code of a file, whose kind its name's end says. Raises SubmissionError."""
    if suffix not in SUFFIXES:
        raise SubmissionError(
            say("files-ending-in-unknown-here", suffix=suffix)
            if suffix
            else say("files-without-ending-unknown-here"),
            say("name-notebook-script-or-markdown", suffixes=", ".join(SUFFIXES)),
        )
    limit = SIZE_LIMIT if suffix == ".ipynb" else TEXT_LIMIT
    if len(content) > limit:
        raise SubmissionError(
            say("file-larger-than-mb", limit=str(limit // 2**20)), say("clear-outputs-or-divide")
        )
    return _migrate_notebook(content) if suffix == ".ipynb" else _migrate_text(content, suffix)


def _migrate_text(content: bytes, suffix: str) -> Document:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise SubmissionError(say("file-not-text-in-utf"), say("save-as-utf")) from None
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = _LINE.findall(text[len(mark) :])
    blocks = [_Block.found(piece, lines) for piece in divide("".join(lines), _kind(suffix))]
    kept = [block for block in blocks if block.written(block.source) == block.lines]
    if len(kept) > CELL_LIMIT:
        raise SubmissionError(
            say("file-has-more-than-cells", cell_limit=str(CELL_LIMIT)), say("divide")
        )
    before = tuple(block.source for block in kept)
    migration = migrate_cells(before, thorough=True)
    for block, fresh in [*zip(kept, migration.sources, strict=True)][::-1]:
        lines[block.place : block.place + len(block.lines)] = block.written(fresh)
    starts = tuple(block.place + 1 for block in kept)
    return Document((mark + "".join(lines)).encode(), before, starts, migration)


def _kind(suffix: str) -> str:
    return suffix if suffix == ".py" else ".md"


class _Block(NamedTuple):
    """A cell of a text file: where it begins, counted from 0, and its lines as they stand there."""

    source: str
    place: int
    lines: list[str]
    indent: str
    ending: str

    @classmethod
    def found(cls, piece: Piece, lines: list[str]) -> _Block:
        """Return the block of a piece. All but blank lines have the indent of the first of them."""
        place, bare = piece.line - 1, piece.source.split("\n")
        own = lines[place : place + len(bare)]
        first = next(index for index, line in enumerate(bare) if line.strip())
        indent = own[first][: own[first].index(bare[first])]
        ending = own[0][len(own[0].rstrip("\r\n")) :] or "\n"
        return cls(piece.source, place, own, indent, ending)

    def written(self, source: str) -> list[str]:
        """Return the lines of a source in this place; the last ends as it did."""
        lines = [self.indent * bool(line.strip()) + line for line in source.split("\n")]
        last = self.lines[-1][len(self.lines[-1].rstrip("\r\n")) :]
        return [line + self.ending for line in lines[:-1]] + [lines[-1] + last]


def _migrate_notebook(content: bytes) -> Document:
    document = _decode(content)
    found = [(cell, name) for cell in _code_cells(document) for name in _source_names(cell)]
    # blank cells are not run, and reports do not count them
    holders = [(cell, name) for cell, name in found if _joined(cell[name]).strip()]
    if len(holders) > CELL_LIMIT:
        raise SubmissionError(
            say("notebook-has-more-than-cells", cell_limit=str(CELL_LIMIT)), say("divide")
        )
    before = tuple(_joined(cell[name]) for cell, name in holders)
    migration = migrate_cells(before, thorough=True)
    for (cell, name), old, new in zip(holders, before, migration.sources, strict=True):
        if new != old:
            as_lines = isinstance(cell[name], list)
            cell[name] = new.splitlines(keepends=True) if as_lines else new
    if before != migration.sources:
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        content = text.encode("utf-8", "surrogatepass")
    return Document(content, before, None, migration)


def _decode(content: bytes) -> dict[str, Any]:
    hint = say("name-ipynb-file-itself-as-jupyter-saved")
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise SubmissionError(say("file-not-notebook-not-json"), hint) from None
    if not isinstance(document, dict):
        raise SubmissionError(say("file-not-notebook-has-no-cells"), hint)
    return document


def _code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code cells of format 4, or those of all worksheets of format 3."""
    worksheets = document.get("worksheets")
    sheets = [document, *(worksheets if isinstance(worksheets, list) else [])]
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    if not any(isinstance(cells, list) for cells in lists):
        raise SubmissionError(
            say("file-not-notebook-has-no-cells"), say("name-ipynb-file-itself-as-jupyter-saved")
        )
    found = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    return [cell for cell in found if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def _source_names(cell: dict[str, Any]) -> list[str]:
    """Return the field that has a cell's text, if it is text; format 3 calls it `input`."""
    name = "source" if "source" in cell else "input"
    value = cell.get(name)
    lines = value if isinstance(value, list) else [value]
    return [name] if all(isinstance(line, str) for line in lines) else []


def _joined(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
