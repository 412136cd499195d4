"""Reading the file that was handed in: bounded, validated, and never executed here."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import msgspec
import nbformat
from nbformat import NotebookNode

from grader.errors import SubmissionError, UsageError
from grader.handed_in import read_handed_in
from grader.language import later
from grader.plain_text import MARKDOWN, SCRIPT, divide
from grader.source_lines import source_lines

SIZE_LIMIT = 64 * 2**20
"""Largest notebook that is read, in bytes. Saved outputs of a long night stay well below."""

TEXT_LIMIT = 2**20
"""Largest script or Markdown file that is read, in bytes: it holds no outputs."""

CELL_LIMIT = 2000
"""Most cells that are read."""

_FIRST_LINE = "first_line"
_LINE_IN_FILE = "line_in_file"
"""Metadata of the cells: the line on which a cell of a text begins, and one of a notebook."""

_DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_BINDING = re.compile(r"^([^\W\d]\w*)[ \t]*=(?!=)", re.MULTILINE)


class SubmissionFile(msgspec.Struct, frozen=True):
    """A file, and the notebook in it. `notebook` is None when `problem` says why there is none."""

    name: str
    sha256: str
    notebook: NotebookNode | None
    problem: str = ""
    hint: str = ""

    @property
    def declared_assignment(self) -> str | None:
        """The slug in the notebook's metadata, if it is there and is text."""
        metadata = self.notebook.metadata if self.notebook is not None else {}
        slug: str | None = metadata.get("grader", {}).get("assignment")
        return slug

    @property
    def declared_language(self) -> str | None:
        """The language in the notebook's metadata, if it is there and is text."""
        metadata = self.notebook.metadata if self.notebook is not None else {}
        language: str | None = metadata.get("grader", {}).get("language")
        return language

    @property
    def starts(self) -> tuple[int, ...]:
        """The lines of a script or Markdown on which its code cells begin; () of a notebook."""
        return () if self.notebook is None else first_lines(self.notebook)

    @property
    def sources(self) -> tuple[str, ...]:
        """The text of the code cells, in order."""
        if self.notebook is None:
            return ()
        return tuple(cell.source for cell in self.notebook.cells if cell.cell_type == "code")


def read_submission(path: Path, trusted: Path | None = None) -> SubmissionFile:
    """Read a file. A damaged one comes back with its `problem`; a missing one is a UsageError.

    No link is followed below the `trusted` folder, which is the file's own if none is given.
    """
    try:
        content = read_handed_in(path, path.parent if trusted is None else trusted, SIZE_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"Cannot read {path.name}: {error.strerror}.", "Check the name and the folder."
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    try:
        notebook = parse_content(content, path.suffix)
    except SubmissionError as error:
        return SubmissionFile(path.name, digest, None, error.message, error.hint)
    return SubmissionFile(path.name, digest, notebook)


def parse_content(content: bytes, suffix: str) -> NotebookNode:
    """Decode a script, Markdown or a notebook, as the end of its name says: `.py`, `.md`, others.

    Raises SubmissionError.
    """
    return _parse_text(content, suffix) if suffix in SCRIPT + MARKDOWN else parse_notebook(content)


def first_lines(notebook: NotebookNode) -> tuple[int, ...]:
    """Return the lines of the file on which the cells begin that are run; () for a notebook."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip())
    return tuple(cell.metadata[_FIRST_LINE] for cell in cells if _FIRST_LINE in cell.metadata)


def line_in_file(cell: NotebookNode) -> int | None:
    """Return the line of the submitted file on which a cell's text begins, from 1.

    None where that is not known, as of a cell that was not read from a file.
    """
    line: int | None = cell.metadata.get(_FIRST_LINE, cell.metadata.get(_LINE_IN_FILE))
    return line


def _parse_text(content: bytes, suffix: str) -> NotebookNode:
    if len(content) > TEXT_LIMIT:
        raise SubmissionError(
            later("The file is larger than {limit} MB.", limit=TEXT_LIMIT // 2**20),
            later("Hand in a shorter one."),
        )
    pieces = divide(content.decode("utf-8-sig", errors="replace"), suffix)
    if not pieces:
        raise SubmissionError(
            later("The file has no Python code."), later("Hand in the file with your solution.")
        )
    _check_count(len(pieces))
    make = nbformat.v4.new_code_cell
    cells = [
        make(piece.source, id=f"cell-{number}", metadata={_FIRST_LINE: piece.line})
        for number, piece in enumerate(pieces, start=1)
    ]
    return nbformat.v4.new_notebook(cells=cells)


def _check_count(cells: int) -> None:
    if cells > CELL_LIMIT:
        raise SubmissionError(
            later("The notebook has more than {cell_limit} cells.", cell_limit=CELL_LIMIT),
            later("Hand in a shorter one."),
        )


def parse_notebook(content: bytes) -> NotebookNode:
    """Decode a notebook of format 3 or 4 and bring it to format 4.

    Only what is graded is kept: the cells' types, sources and lines, and the assignment and
    language that metadata name. Saved outputs prove nothing and may be damaged, so they are dropped
    unread. Raises SubmissionError.
    """
    if len(content) > SIZE_LIMIT:
        raise SubmissionError(
            later("The file is larger than {limit} MB.", limit=SIZE_LIMIT // 2**20),
            later("Clear the outputs of all cells, save, and hand it in again."),
        )
    text = content.decode("utf-8-sig", errors="replace")
    document = _decode_json(text)
    cells = [_clean_cell(cell, index) for index, cell in enumerate(_cells_of(document))]
    _number_lines(cells, text)
    if not any(cell.cell_type == "code" and cell.source.strip() for cell in cells):
        raise SubmissionError(
            later("The notebook has no code."),
            later("Open the template, solve it, save it, and hand in that file."),
        )
    metadata = document.get("metadata")
    declared = metadata.get("grader") if isinstance(metadata, dict) else None
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["grader"] = {  # others mean nothing here, and may be nested without end
        name: _encodable(declared[name])
        for name in ("assignment", "language")
        if isinstance(declared, dict) and isinstance(declared.get(name), str)
    }
    return notebook


def _number_lines(cells: list[NotebookNode], text: str) -> None:
    lines = source_lines(text)
    if len(lines) == len(cells):
        for cell, line in zip(cells, lines, strict=True):
            cell.metadata[_LINE_IN_FILE] = line


def _decode_json(text: str) -> dict[str, object]:
    hint = later("Hand in the .ipynb file itself, as Jupyter saved it.")
    if not text.strip():
        raise SubmissionError(later("The file is empty."), hint)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SubmissionError(later("The file is not a notebook: it is not JSON."), hint) from None
    if not isinstance(document, dict):
        raise SubmissionError(later("The file is not a notebook: it has no cells."), hint)
    return document


def _cells_of(document: dict[str, object]) -> list[object]:
    """Return the cells of format 4, or those of all worksheets of format 3."""
    cells = document.get("cells")
    worksheets = document.get("worksheets")
    if cells is None and isinstance(worksheets, list):
        sheets = [sheet for sheet in worksheets if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in _as_list(sheet.get("cells"))]
    if not isinstance(cells, list):
        raise SubmissionError(
            later("The file is not a notebook: it has no cells."),
            later("Hand in the .ipynb file itself, as Jupyter saved it."),
        )
    _check_count(len(cells))
    return cells


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _clean_cell(cell: object, index: int) -> NotebookNode:
    """Build a fresh cell from a saved one. Format 3 calls the source of a code cell `input`."""
    fields = cell if isinstance(cell, dict) else {}
    source = fields.get("source", fields.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        raise SubmissionError(
            later(
                "Cell {number} of the notebook is damaged: its source is not text.",
                number=index + 1,
            ),
            later("Open it in Jupyter, mend the cell, save it, and hand in that file."),
        )
    source = _encodable(source)
    make = nbformat.v4.new_code_cell if fields.get("cell_type") == "code" else None
    make = make or nbformat.v4.new_markdown_cell
    return make(source=source, id=f"cell-{index + 1}")


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON may hold and no message can carry."""
    return text.encode("utf-8", "replace").decode()


def defined_names(sources: tuple[str, ...]) -> frozenset[str]:
    """Names that cells define or bind at top level, read off the text line by line.

    Regular expressions and not the ast module: a cell may not parse, and must cost linear time.
    """
    names: set[str] = set()
    for source in sources:
        names.update(_DEFINITION.findall(source))
        names.update(_BINDING.findall(source))
    return frozenset(names)


def first_cell_with(word: str, sources: tuple[str, ...]) -> int | None:
    """Return the number of the first cell, from 1, that has a word, not only in a comment.

    A word in a text counts, and so does one behind a `#` in a text that spans lines: who reads the
    cell can tell. It costs linear time, as `defined_names` does.
    """
    pattern = re.compile(rf"^[^#\n]*?\b{re.escape(word)}\b", re.MULTILINE)
    return next((place for place, text in enumerate(sources, 1) if pattern.search(text)), None)
