"""From the bytes of a file to its cells: bounded, validated, and never executed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from grader.errors import SubmissionError
from grader.language import Sentence, Text, say
from grader.plain_text import MARKDOWN, SCRIPT, divide
from grader.reading.fields import RawCell, check_count, read_fields
from grader.reading.messages import NAME_LENGTH, CellText, Content, Told

SIZE_LIMIT = 64 * 2**20
"""Largest notebook that is read, in bytes. Saved outputs of a long night stay well below."""

TEXT_LIMIT = 2**20
"""Largest script or Markdown file that is read, in bytes: it holds no outputs."""

CODE_LIMIT = 4 * 2**20
"""Most code in all cells, in bytes of UTF-8. A notebook of the course has 20 KB."""

MARKDOWN_LENGTH = 40_001
MARKDOWN_SIZE = 300_000
"""Characters that are kept of a text cell, and of all of them; a report shows fewer."""

LANGUAGE_LENGTH = 20
"""Longest name of a language, in characters."""


def read_content(content: bytes, suffix: str) -> Content:
    """Decode a script, Markdown or a notebook, as the end of its name says: `.py`, `.md`, others.

    Of a notebook only what is graded is kept: the cells' types, sources and lines, and the
    assignment and language that metadata name. Saved outputs prove nothing and may be damaged, so
    they are gone past. Raises SubmissionError.
    """
    return (
        _read_text(content, suffix)
        if suffix.lower() in SCRIPT + MARKDOWN
        else _read_notebook(content)
    )


def _read_text(content: bytes, suffix: str) -> Content:
    if len(content) > TEXT_LIMIT:
        raise SubmissionError(
            say("The file is larger than {limit} MB.", limit=TEXT_LIMIT // 2**20),
            say("Hand in a shorter one."),
        )
    pieces = divide(_in_utf8(content).decode("utf-8", errors="replace"), suffix.lower())
    if not pieces:
        raise SubmissionError(
            say("The file has no Python code."), say("Hand in the file with your solution.")
        )
    check_count(len(pieces))
    cells = tuple(CellText("code", piece.source, piece.line) for piece in pieces)
    return Content(cells, divided=True)


def _read_notebook(content: bytes) -> Content:
    if len(content) > SIZE_LIMIT:
        raise SubmissionError(
            say("The file is larger than {limit} MB.", limit=SIZE_LIMIT // 2**20),
            say("Clear the outputs of all cells, save, and hand it in again."),
        )
    content = _in_utf8(content)
    if not content.strip():
        raise SubmissionError(
            say("The file is empty."),
            say("Hand in the .ipynb file itself, as Jupyter saved it."),
        )
    notebook = read_fields(content)
    cells = tuple(_cells(notebook.cells))
    if not any(cell.kind == "code" and cell.source.strip() for cell in cells):
        raise SubmissionError(
            say("The notebook has no code."),
            say("Open the template, solve it, save it, and hand in that file."),
        )
    assignment, notes = _assignment(notebook.declared.get("assignment"))
    language = notebook.declared.get("language")
    if not isinstance(language, str) or len(language) > LANGUAGE_LENGTH:
        language = None
    return Content(
        cells, assignment=assignment, language=language and _encodable(language), notes=notes
    )


def _in_utf8(content: bytes) -> bytes:
    """Return a text in UTF-8 without a mark of byte order. Windows writes UTF-16, with a mark."""
    encoding = json.detect_encoding(content)
    if encoding == "utf-8":
        return content
    if encoding == "utf-8-sig":
        return content[3:]
    return content.decode(encoding, errors="replace").encode("utf-8", errors="replace")


def _assignment(declared: object) -> tuple[str | None, tuple[Told, ...]]:
    """Return the assignment that metadata name, and a note where that is too long to be a name."""
    if not isinstance(declared, str):
        return None, ()
    if len(declared) <= NAME_LENGTH:
        return _encodable(declared), ()
    note = say(
        "The notebook's metadata name an assignment with more than {length} characters. That is no"
        " name, and was passed over.",
        length=NAME_LENGTH,
    )
    return None, (sentence_of(note),)


def sentence_of(text: Text) -> Told:
    """Return a sentence as a message."""
    if not isinstance(text, Sentence):
        return Told(text.english)
    values = {
        name: value if isinstance(value, int) else str(value)[:NAME_LENGTH]
        for name, value in text.values.items()
    }
    return Told(text.id, values)


def _cells(found: Iterable[RawCell]) -> Iterator[CellText]:
    """Yield cells with their texts. Of text cells no more is kept than a report shows."""
    code, room = 0, MARKDOWN_SIZE
    for number, cell in enumerate(found, start=1):
        source = _source(cell.source, number)
        if cell.is_code:
            code += len(source.encode())
            _check_code(code)
            yield CellText("code", source, cell.line)
        else:
            kept = source[:MARKDOWN_LENGTH] if room > 0 else ""
            room -= len(kept)
            yield CellText("markdown", kept, cell.line)


def _check_code(size: int) -> None:
    if size > CODE_LIMIT:
        raise SubmissionError(
            say("The notebook has more than {limit} MB of code.", limit=CODE_LIMIT // 2**20),
            say("Hand in a shorter one: large data do not belong in the text of a cell."),
        )


def _source(value: object, number: int) -> str:
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    if not isinstance(value, str):
        raise SubmissionError(
            say("Cell {number} of the notebook is damaged: its source is not text.", number=number),
            say("Open it in Jupyter, mend the cell, save it, and hand in that file."),
        )
    return _encodable(value)


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON may hold and no message can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
