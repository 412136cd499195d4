"""Files that hold cells: notebooks, Python scripts and Markdown. All but code stays byte for byte.

A notebook is written anew as Jupyter writes it, when a cell of it has changed.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import msgspec

from grader.dialects.migration import Migration, migrate_cells
from grader.errors import SubmissionError
from grader.submission import CELL_LIMIT, SIZE_LIMIT

TEXT_SIZE_LIMIT = 2**20
"""Largest script or Markdown file that is read, in bytes."""

SUFFIXES = (".ipynb", ".py", ".md", ".markdown", ".txt")

_MARK = re.compile(r"# %%(?P<kind>[^\n]*)")
_FENCE = re.compile(r"(?P<indent> {0,12})(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)")
_PYTHON = re.compile(r"(?:[{.\s]|^)(?:i?python3?|py)\b", re.ASCII)


class Piece(msgspec.Struct, frozen=True):
    """A run of lines of a text file: code without its `indent`, or anything else."""

    text: str
    code: bool
    indent: str = ""


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
            f"Files that end in {suffix or 'nothing'} are not known here.",
            f"Name a notebook, a script or Markdown: {', '.join(SUFFIXES)}.",
        )
    limit = SIZE_LIMIT if suffix == ".ipynb" else TEXT_SIZE_LIMIT
    if len(content) > limit:
        raise SubmissionError(
            f"The file is larger than {limit // 2**20} MB.", "Clear its outputs, or divide it."
        )
    return _migrate_notebook(content) if suffix == ".ipynb" else _migrate_text(content, suffix)


def _migrate_text(content: bytes, suffix: str) -> Document:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise SubmissionError("The file is not text in UTF-8.", "Save it as UTF-8.") from None
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text[len(mark) :].split("\n")
    pieces = split_script(lines) if suffix == ".py" else split_markdown(lines)
    code = [piece for piece in pieces if piece.code]
    if len(code) > CELL_LIMIT:
        raise SubmissionError(f"The file has more than {CELL_LIMIT} cells.", "Divide it.")
    before = tuple(piece.text for piece in code)
    migration = migrate_cells(before)
    fresh = iter(migration.sources)
    joined = "\n".join(_put_back(piece, fresh) for piece in pieces)
    return Document((mark + joined).encode(), before, _starts(pieces), migration)


def _put_back(piece: Piece, fresh: Any) -> str:
    text: str = next(fresh) if piece.code else piece.text
    if not piece.indent:
        return text
    return "\n".join(piece.indent + line if line.strip() else line for line in text.split("\n"))


def _starts(pieces: list[Piece]) -> tuple[int, ...]:
    starts: list[int] = []
    line = 1
    for piece in pieces:
        if piece.code:
            starts.append(line)
        line += piece.text.count("\n") + 1
    return tuple(starts)


def split_script(lines: list[str]) -> list[Piece]:
    """Divide a script at the marks of its cells, `# %%`; without any it is one cell."""
    marks = [index for index, line in enumerate(lines) if _MARK.match(line)]
    marked = set(marks)
    bounds = [0, *(place for mark in marks for place in (mark, mark + 1)), len(lines)]
    pieces: list[Piece] = []
    code = True
    for start, end in itertools.pairwise(bounds):
        text = "\n".join(lines[start:end])
        mark = _MARK.match(text) if start in marked else None
        if mark is not None:
            code = re.search(r"\[(?:markdown|md|raw)\]", mark.group("kind")) is None
        if start < end:
            pieces.append(Piece(text, code and mark is None))
    return pieces


def split_markdown(lines: list[str]) -> list[Piece]:
    """Divide Markdown into blocks of Python between fences, and what stands around them."""
    pieces: list[Piece] = []
    rest: list[str] = []
    index = 0
    while index < len(lines):
        opening = _FENCE.match(lines[index])
        rest.append(lines[index])
        index += 1
        if opening is None:
            continue
        end = _closing(lines, index, opening)
        block, index = lines[index:end], end
        piece = _block(block, opening)
        if piece is None:
            rest.extend(block)
        else:
            pieces += [Piece("\n".join(rest), code=False), piece]
            rest = []
        if index < len(lines):  # the closing fence opens nothing
            rest.append(lines[index])
            index += 1
    return [*pieces, Piece("\n".join(rest), code=False)] if rest else pieces


def _closing(lines: list[str], start: int, opening: re.Match[str]) -> int:
    fence = opening.group("fence")
    for index in range(start, len(lines)):
        bare = lines[index].strip()
        if len(bare) >= len(fence) and set(bare) == {fence[0]}:
            return index
    return len(lines)


def _block(lines: list[str], opening: re.Match[str]) -> Piece | None:
    """Return the code of a block of Python; None for other languages and for what is empty."""
    indent = opening.group("indent")
    if not lines or _PYTHON.search(opening.group("info")) is None:
        return None
    if any(line.strip() and not line.startswith(indent) for line in lines):
        return None
    bare = [line[len(indent) :] if line.strip() else line for line in lines]
    return Piece("\n".join(bare), code=True, indent=indent)


def _migrate_notebook(content: bytes) -> Document:
    document = _decode(content)
    holders = [(cell, name) for cell in _code_cells(document) for name in _source_names(cell)]
    if len(holders) > CELL_LIMIT:
        raise SubmissionError(f"The notebook has more than {CELL_LIMIT} cells.", "Divide it.")
    before = tuple(_joined(cell[name]) for cell, name in holders)
    migration = migrate_cells(before)
    for (cell, name), old, new in zip(holders, before, migration.sources, strict=True):
        if new != old:
            as_lines = isinstance(cell[name], list)
            cell[name] = new.splitlines(keepends=True) if as_lines else new
    if before != migration.sources:
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        content = text.encode("utf-8", "surrogatepass")
    return Document(content, before, None, migration)


def _decode(content: bytes) -> dict[str, Any]:
    hint = "Name the .ipynb file itself, as Jupyter saved it."
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise SubmissionError("The file is not a notebook: it is not JSON.", hint) from None
    if not isinstance(document, dict):
        raise SubmissionError("The file is not a notebook: it has no cells.", hint)
    return document


def _code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code cells of format 4, or those of all worksheets of format 3."""
    worksheets = document.get("worksheets")
    sheets = [document, *(worksheets if isinstance(worksheets, list) else [])]
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    if not any(isinstance(cells, list) for cells in lists):
        raise SubmissionError("The file is not a notebook: it has no cells.")
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
