"""A master notebook: the file that all others are made from, and nbgrader's marks in it.

It is `reference/<slug>.py` (jupytext's py:percent), `.ipynb` or `.md`. English stands in plain
cells, translations beside them (`translation.py`), solutions between nbgrader's marks. Cells
tagged `instructor` are for instructors alone.

    ### BEGIN SOLUTION          ### BEGIN HIDDEN TESTS
    ### END SOLUTION            ### END HIDDEN TESTS

A mark is a separate line, with one or more `#`. What looks like a mark and is none is refused: it
would show a solution to the students.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import jupytext
import msgspec
import nbformat
from jupytext.config import JupytextConfigurationError, load_jupytext_config
from jupytext.formats import JupytextFormatError
from jupytext.paired_paths import InconsistentPath, paired_paths
from nbformat import NotebookNode

from grader.authoring.translation import (
    ENGLISH,
    Misplaced,
    Passage,
    comment_languages,
    cut_comments,
    find_passages,
    master_languages,
)
from grader.errors import CourseError, Told, UsageError
from grader.language import Text, in_a_row, say

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB_COMMENT = "# YOUR CODE HERE"
TEXT_STUB = "YOUR ANSWER HERE"
"""What nbgrader puts into a text cell in place of a solution."""

Kind = Literal["plain", "solution", "hidden"]
_KINDS: dict[str, Kind] = {"SOLUTION": "solution", "HIDDEN TESTS": "hidden"}
_MARK = re.compile(r"#+[ \t]*(BEGIN|END) (SOLUTION|HIDDEN TESTS)\Z")
_LIKE_A_MARK = re.compile(
    r"#+[\W_]*(BEGIN|END)[\W_]*(SOLUTIONS?|HIDDEN[\W_]*TESTS?)\b", re.IGNORECASE
)


class MarkError(Told):
    """Raised when marks do not pair up. `line` counts the cell's lines from 0."""

    def __init__(self, reason: Text, line: int) -> None:
        super().__init__(reason)
        self.line = line


class Region(msgspec.Struct, frozen=True):
    """Lines of a cell between two marks, the marks left out.

    `indentation` is the white space before the region's first line that is not blank, or before
    its mark where all are blank.
    """

    kind: Kind
    lines: tuple[str, ...]
    indentation: str


def regions(source: str) -> tuple[Region, ...]:
    """Cut a cell at its marks, in order. Raises MarkError when they do not pair up."""
    found: list[Region] = []
    kind: Kind = "plain"
    lines: list[str] = []
    opening, opened_at = "", 0
    for number, line in enumerate(source.split("\n")):
        mark = _read_mark(line, number)
        if mark is None:
            lines.append(line)
            continue
        edge, marked = mark
        if kind != ("plain" if edge == "BEGIN" else marked):
            raise MarkError(say("where-cannot", mark=line.strip()), number)
        found.append(Region(kind, tuple(lines), _indentation([*lines, opening])))
        kind = marked if edge == "BEGIN" else "plain"
        lines, opening, opened_at = [], line, number
    if kind != "plain":
        raise MarkError(say("without-end", mark=opening.strip()), opened_at)
    return (*found, Region(kind, tuple(lines), _indentation([*lines, opening])))


def without_solutions(source: str, cell_type: str) -> str:
    """Put a stub in place of each solution and leave out hidden tests. Raises MarkError."""

    def stub(region: Region) -> list[str]:
        return [] if region.kind == "hidden" else stub_lines(region.indentation, cell_type)

    return _rewritten(source, stub)


def with_solutions(source: str) -> str:
    """Leave out the marks alone. Raises MarkError."""
    return _rewritten(source, lambda region: list(region.lines))


def stub_lines(indentation: str, cell_type: str = "code") -> list[str]:
    """Return what a student finds in place of a solution.

    Inside a block a stub raises, so that an unanswered function returns nothing gradable.
    """
    if cell_type != "code":
        return [TEXT_STUB]
    statement = "raise NotImplementedError()" if indentation else "..."
    return [indentation + STUB_COMMENT, indentation + statement]


def _rewritten(source: str, rewrite: Callable[[Region], list[str]]) -> str:
    lines: list[str] = []
    for region in regions(source):
        lines += region.lines if region.kind == "plain" else rewrite(region)
    return "\n".join(lines)


def _read_mark(line: str, number: int) -> tuple[str, Kind] | None:
    match = _MARK.match(line.strip())
    if match is not None:
        return match[1], _KINDS[match[2]]
    if _LIKE_A_MARK.match(line.strip()):
        raise MarkError(say("which-nearly-mark", mark=line.strip()), number)
    return None


def _indentation(lines: list[str]) -> str:
    """Return the white space before the first line that is not blank."""
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


INSTRUCTOR = "instructor"
FORMATS = {".py": "py:percent", ".ipynb": "ipynb", ".md": "md"}
"""How jupytext reads a master, by the end of its name."""

UNREADABLE = "incorrectly_encoded_metadata"
"""Where jupytext puts metadata of a cell that it cannot read, such as `lang=zh` without quotes."""


class Source(msgspec.Struct, frozen=True):
    """A cell of a generated notebook, before its solutions are taken out.

    `id` is made of what students read in English: it is the same in all languages, and outlives
    changes of solutions, translations and other cells.
    """

    id: str
    cell: NotebookNode
    text: str
    tags: tuple[str, ...]
    number: int

    @property
    def is_for_students(self) -> bool:
        """Whether the cell is in the template."""
        return INSTRUCTOR not in self.tags


def has_master(root: Path, slug: str) -> bool:
    """Say whether an assignment has a master notebook."""
    return any((root / "reference" / f"{slug}{end}").exists() for end in FORMATS)


def find_master(root: Path, slug: str) -> Path:
    """Return the path of an assignment's master. Raises CourseError when there is not just one.

    Of a text and a notebook that jupytext pairs it is the text: both say the same.
    """
    folder = root / "reference"
    found = [folder / f"{slug}{end}" for end in FORMATS if (folder / f"{slug}{end}").exists()]
    if not found:
        raise CourseError(
            say("there-no-master-notebook", slug=slug, folder=str(folder)),
            say("write-reference-py-docs-masters-md-says", slug=slug),
        )
    if len(found) == 2 and found[1].suffix == ".ipynb" and _are_paired(*found):
        _demand_the_same(*found)
        return found[0]
    if len(found) > 1:
        names = in_a_row(path.name for path in found)
        raise CourseError(
            say("has-several-master-notebooks", slug=slug, names=names),
            say("keep-one-them-or-pair-them-docs"),
        )
    return found[0]


def _are_paired(text: Path, notebook: Path) -> bool:
    """Say whether jupytext keeps two files in step: by the metadata of one, or its settings."""
    formats = (_formats_of(text), _formats_of(notebook), _settings_for(text))
    for each in filter(None, formats):
        try:
            pairs = paired_paths(str(text), FORMATS[text.suffix], each)
        except (InconsistentPath, JupytextFormatError):
            continue
        if str(notebook) in {path for path, _ in pairs}:
            return True
    return False


def _formats_of(path: Path) -> Any:
    return read_master(path).metadata.get("jupytext", {}).get("formats")


def _settings_for(path: Path) -> Any:
    """Return the formats that the settings beside a file, or above it, have for it."""
    try:
        settings = load_jupytext_config(str(path))
        return None if settings is None else settings.default_formats(str(path))
    except (JupytextConfigurationError, JupytextFormatError, OSError):
        return None


def _demand_the_same(text: Path, notebook: Path) -> None:
    """Raise CourseError where paired files do not say the same: one was changed by itself."""
    one, other = (
        [
            (each.cell_type, each.source.rstrip(), tags_of(each), each.metadata.get("lang"))
            for each in read_master(path).cells
        ]
        for path in (text, notebook)
    )
    if one != other:
        raise CourseError(
            say("and-paired-and-differ", text=text.name, notebook=notebook.name),
            say("run-jupytext-sync-file-that-saved-last", path=str(text)),
        )


def read_master(path: Path) -> NotebookNode:
    """Read a master notebook. Raises CourseError when the file cannot be read as one."""
    if path.suffix not in FORMATS:
        raise CourseError(
            say("not-master-notebook", name=path.name),
            say("name-must-end", names=in_a_row(FORMATS)),
        )
    try:
        if path.suffix == ".ipynb":
            return _read_notebook(path)
        return jupytext.read(path, fmt=FORMATS[path.suffix])
    except (OSError, ValueError, nbformat.ValidationError) as error:
        problem = str(error.message) if isinstance(error, nbformat.ValidationError) else str(error)
        raise CourseError(
            say("cannot-read-master-notebook", path=str(path), problem=problem),
            say("docs-masters-md-says-how-written"),
        ) from None


def _read_notebook(path: Path) -> NotebookNode:
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    fields = document if isinstance(document, dict) else {}
    if not isinstance(fields.get("cells", fields.get("worksheets")), list):
        raise ValueError("it is JSON, but no notebook")  # noqa: TRY004 - a damaged file
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    return notebook


def sources(master: NotebookNode, language: str = ENGLISH) -> list[Source]:
    """Return the cells of the notebook in one language, with ids.

    What has no translation is in English. Raises UsageError for a language that the master does
    not have, CourseError for marks that do not pair up and translations of nothing.
    """
    known = master_languages(master)
    if language not in known:
        raise UsageError(
            say("master-notebook-has-no-text", language=repr(language)),
            say("has-sentence", names=in_a_row(known)),
        )
    passages, misplaced = find_passages(master)
    if misplaced:
        raise CourseError(
            say("cell-master-notebook", number=misplaced[0].number, problem=misplaced[0].problem),
            say("grader-lint-lists-all-such-cells"),
        )
    languages = comment_languages(master)
    seen: Counter[str] = Counter()
    return [_source(passage, language, languages, seen) for passage in passages]


def marked_source(cell: NotebookNode, text: str) -> str:
    """Return a cell's text, with marks around all of it where nbgrader's metadata stand for them.

    In nbgrader, a cell with `"solution": true` and no marks is a solution as a whole. Raises
    MarkError.
    """
    is_solution = nbgrader_options(cell).get("solution") is True
    if is_solution and len(regions(text)) == 1:
        return f"{BEGIN}\n{text}\n{END}"
    return text


def has_solution(cell: NotebookNode) -> bool:
    """Say whether something of a cell is marked as a solution. Raises MarkError."""
    return any(each.kind == "solution" for each in regions(marked_source(cell, cell.source)))


def is_instructors_code(cell: NotebookNode) -> bool:
    """Say whether a cell is code that the tag for instructors keeps from students."""
    return cell.cell_type == "code" and INSTRUCTOR in tags_of(cell)


def nbgrader_options(cell: NotebookNode) -> dict[str, Any]:
    """Return what nbgrader notes in a cell's metadata."""
    options = cell.metadata.get("nbgrader")
    return options if isinstance(options, dict) else {}


def _source(
    passage: Passage, language: str, languages: tuple[str, ...], seen: Counter[str]
) -> Source:
    _check(passage, languages)
    cell = passage.cell
    try:
        english = marked_source(cell, passage.text(ENGLISH, languages))
        text = marked_source(cell, passage.text(language, languages))
        visible = f"{cell.cell_type}\n{without_solutions(english, cell.cell_type)}"
        without_solutions(text, cell.cell_type)
    except MarkError as error:
        raise CourseError(
            say("cell-master-notebook-has", number=passage.number, error=error.reason),
            say("pair-marks-each-solution-as-docs-masters"),
        ) from None
    return Source(cell_id(visible, seen), cell, text, tags_of(cell), passage.number)


def _check(passage: Passage, languages: tuple[str, ...]) -> None:
    """Raise CourseError for what would make a cell appear where it should not."""
    if UNREADABLE in passage.cell.metadata:
        raise CourseError(
            say(
                "cell-master-notebook-has-metadata-that-cannot",
                number=passage.number,
                metadata=str(passage.cell.metadata[UNREADABLE]),
            ),
            say("write-them-like-tags-instructor-or-lang"),
        )
    if passage.cell.cell_type == "code":
        for item in cut_comments(passage.cell.source, languages):
            if isinstance(item, Misplaced):
                raise CourseError(
                    say(
                        "line-cell-master-notebook",
                        line=item.line + 1,
                        number=passage.number,
                        problem=item.problem,
                    ),
                    say("put-directly-below-comment-with-same-indentation"),
                )


def tags_of(cell: NotebookNode) -> tuple[str, ...]:
    """Return the tags of a cell."""
    tags = cell.metadata.get("tags", ())
    return tuple(str(tag) for tag in tags) if isinstance(tags, (list, tuple)) else ()


def cell_id(text: str, seen: Counter[str]) -> str:
    """Return an id for a cell of this text; n distinguishes several equal ones."""
    seen[text] += 1
    return hashlib.sha256(f"{seen[text]}\n{text}".encode()).hexdigest()[:12]
