"""Opening and reading what was handed in: bounded, validated, and never executed here.

A link that was handed in may lead to a solution, or to another student's work. Whoever grades may
have links of their own above what was handed in, as where homes lie on another disk. So a path has
two parts: down to a trusted folder links are followed, below it they are not.
"""

import errno
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

import msgspec
import nbformat
from nbformat import NotebookNode

from grader.dialects.respelling import Respelling
from grader.errors import SubmissionError, UsageError
from grader.files import unreadable
from grader.language import NOTHING, Text, say
from grader.reading.cells import SIZE_LIMIT, read_content
from grader.reading.messages import CellText, Content

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# a named pipe would be waited for without O_NONBLOCK

LINK_HINT = say("links-not-followed-because-link-that-handed")


class RefusedError(UsageError):
    """Raised for what is no plain file, or lies behind a link."""


def trusted_folder(named: Path, working: Path) -> Path:
    """Return the folder below which no link is followed on the way to a file that was named.

    What was typed from the working folder on may have been handed in, also behind leading `..`; so
    may all of an absolute path that lies below the working folder. Of another absolute path only
    its last name is distrusted: the folders before it are those of the machine.
    """
    path = absolute(named, working)
    if not named.is_absolute():
        ups = next((at for at, part in enumerate(named.parts) if part != ".."), len(named.parts))
        start = absolute(Path(*named.parts[:ups]), working)
    else:
        start = working
    return start if path != start and path.is_relative_to(start) else path.parent


def absolute(path: Path, working: Path) -> Path:
    """Return a path from the root on, its `..` resolved by name, so that no link is followed."""
    return Path(os.path.normpath(working / path))


def link_on_the_way(path: Path, trusted: Path) -> Path | None:
    """Return the first link below a trusted folder on the way to a path, itself included.

    Raises OSError where one cannot look.
    """
    way = (*reversed(path.relative_to(trusted).parents), path.relative_to(trusted))
    places = (trusted / each for each in way[1:])
    return next((each for each in places if stat.S_ISLNK(each.lstat().st_mode)), None)


def open_handed_in(path: Path, trusted: Path) -> BinaryIO:
    """Open a plain file that lies below a trusted folder, unbuffered.

    Every name on the way is opened from the folder before it, so nothing can be exchanged for a
    link in between, and no path is too long. Raises RefusedError for a link and for what is no
    plain file, OSError for what cannot be opened.
    """
    *folders, name = path.relative_to(trusted).parts or (os.curdir,)
    at = os.open(trusted, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for folder in folders:
            inner = _open_at(at, folder, _FOLDER)
            os.close(at)
            at = inner
        descriptor = _open_at(at, name, _FILE)
    finally:
        os.close(at)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _not_a_file(path.name or str(path), mode)
    return os.fdopen(descriptor, "rb", buffering=0)


def _open_at(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        mode = os.lstat(name, dir_fd=folder).st_mode
        if stat.S_ISLNK(mode):
            raise RefusedError(say("path-link", path=name), LINK_HINT) from None
        if error.errno == errno.ENXIO:  # a socket cannot be opened at all
            raise _not_a_file(name, mode) from None
        raise


def _not_a_file(name: str, mode: int) -> RefusedError:
    hint = say("name-notebook-script-or-markdown-file")
    if stat.S_ISDIR(mode):
        hint = say("name-notebook-in-or-grade-all-grader")
    return RefusedError(say("not-file", name=name, kind=kind_of(mode)), hint)


def kind_of(mode: int) -> Text:
    """Say what something is that is no plain file, by its `st_mode`."""
    kinds = (
        (stat.S_ISDIR, say("folder")),
        (stat.S_ISLNK, say("link")),
        (stat.S_ISFIFO, say("named-pipe")),
        (stat.S_ISSOCK, say("socket")),
    )
    return next((name for is_kind, name in kinds if is_kind(mode)), say("device"))


NAMES = 10_000
"""Most names that are looked for among those that cells define."""

_FIRST_LINE = "first_line"
_LINE_IN_FILE = "line_in_file"
"""Metadata of the cells: the line on which a cell of a text begins, and one of a notebook."""

_CALLED = "called"
"""Metadata of the cells: the id and the tags that they were handed in with. `tags` would be heeded
when they are run: "skip-execution" leaves a cell out."""

_DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_BINDING = re.compile(r"^([^\W\d]\w*)[ \t]*=(?!=)", re.MULTILINE)


class SubmissionFile(msgspec.Struct, frozen=True):
    """A file, and the notebook in it. `notebook` is None when `problem` says why there is none.

    `notes` are to be told of it, whatever it computes. `respelling` is what it is in today's
    spelling of TVM, as `Reader` finds it: in today's already, where nobody looked.
    """

    name: str
    sha256: str
    notebook: NotebookNode | None
    problem: Text = NOTHING
    hint: Text = NOTHING
    notes: tuple[Text, ...] = ()
    respelling: Respelling = Respelling()

    @property
    def declared_assignment(self) -> str | None:
        """The slug in the notebook's metadata, if it is there and is text."""
        return self._declared("assignment")

    @property
    def declared_language(self) -> str | None:
        """The language in the notebook's metadata, if it is there and is text."""
        return self._declared("language")

    def _declared(self, name: str) -> str | None:
        metadata = self.notebook.metadata if self.notebook is not None else {}
        value: str | None = metadata.get("grader", {}).get(name)
        return value

    @property
    def starts(self) -> tuple[int, ...]:
        """The lines of a script or Markdown on which its code cells begin; () of a notebook."""
        return () if self.notebook is None else first_lines(self.notebook)

    @property
    def sources(self) -> tuple[str, ...]:
        """The text of the code cells that run, in order: reports count them in this way."""
        if self.notebook is None:
            return ()
        return tuple(cell.source for cell in self.notebook.cells if is_run(cell))


def read_submission(path: Path, trusted: Path | None = None) -> SubmissionFile:
    """Read a file in this process, for those whose own it is; `Reader` is for those of others.

    It is taken to be in today's spelling of TVM. A damaged one comes back with its `problem`; a
    missing one is a UsageError.
    """
    with open_submission(path, trusted) as file:
        content = file.read(SIZE_LIMIT + 1)  # one byte more tells that it is too large
    digest = hashlib.sha256(content).hexdigest()
    try:
        notebook = parse_content(content, path.suffix)
    except SubmissionError as error:
        return SubmissionFile(path.name, digest, None, error.message, error.hint)
    return SubmissionFile(path.name, digest, notebook)


def open_submission(path: Path, trusted: Path | None = None) -> BinaryIO:
    """Open a file that was handed in, unbuffered. Raises UsageError.

    No link is followed below the `trusted` folder, which is the file's own if none is given.
    """
    try:
        return open_handed_in(path, path.parent if trusted is None else trusted)
    except OSError as error:
        raise unreadable(path.name, error) from None


def parse_content(content: bytes, suffix: str) -> NotebookNode:
    """Decode a script, Markdown or a notebook, as the end of its name says: `.py`, `.md`, others.

    Raises SubmissionError.
    """
    return as_notebook(read_content(content, suffix))


def as_notebook(content: Content) -> NotebookNode:
    """Build a notebook of format 4, with ids, of the cells that were read of a file."""
    line = _FIRST_LINE if content.divided else _LINE_IN_FILE
    names = {"assignment": content.assignment, "language": content.language}
    declared = {name: value for name, value in names.items() if value is not None}
    return nbformat.from_dict(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"grader": declared},
            "cells": [
                _as_cell(cell, number, {} if cell.line is None else {line: cell.line})
                for number, cell in enumerate(content.cells, start=1)
            ],
        }
    )


def _as_cell(cell: CellText, number: int, lines: dict[str, int]) -> dict[str, object]:
    made: dict[str, object] = {
        "cell_type": cell.kind,
        "id": f"cell-{number}",
        "metadata": {**lines, _CALLED: [*cell.names]} if cell.names else lines,
        "source": cell.source,
    }
    return {**made, "execution_count": None, "outputs": []} if cell.kind == "code" else made


def first_lines(notebook: NotebookNode) -> tuple[int, ...]:
    """Return the lines of the file on which the cells begin that are run; () for a notebook."""
    run = filter(is_run, notebook.cells)
    return tuple(cell.metadata[_FIRST_LINE] for cell in run if _FIRST_LINE in cell.metadata)


def is_run(cell: NotebookNode) -> bool:
    """Say whether it is one of the code cells that are run and counted: blank ones are not."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def line_in_file(cell: NotebookNode) -> int | None:
    """Return the line of the submitted file on which a cell's text begins, from 1.

    None where that is not known, as of a cell that was not read from a file.
    """
    line: int | None = cell.metadata.get(_FIRST_LINE, cell.metadata.get(_LINE_IN_FILE))
    return line


def names_of(cell: NotebookNode) -> tuple[str, ...]:
    """Return the id and the tags that a cell was handed in with; () where it was not read."""
    return tuple(cell.metadata.get(_CALLED, ()))


def defined_names(sources: tuple[str, ...]) -> frozenset[str]:
    """Names that cells define or bind at top level, at most NAMES, read off the text line by line.

    Regular expressions and not the ast module: a cell may not parse, and must cost linear time.
    """
    names: set[str] = set()
    for source in sources:
        for pattern in (_DEFINITION, _BINDING):
            for found in pattern.finditer(source):
                names.add(found.group(1))
                if len(names) >= NAMES:
                    return frozenset(names)
    return frozenset(names)


def first_cell_with(word: str, sources: tuple[str, ...]) -> int | None:
    """Return the number of the first cell, from 1, that has a word, not only in a comment.

    A word in a text counts, and so does one behind a `#` in a text that spans lines: who reads the
    cell can tell. It costs linear time, as `defined_names` does.
    """
    pattern = re.compile(rf"^[^#\n]*?\b{re.escape(word)}\b", re.MULTILINE)
    return next((place for place, text in enumerate(sources, 1) if pattern.search(text)), None)
