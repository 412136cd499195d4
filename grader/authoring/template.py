"""A master notebook, and the two notebooks made from it: the students' template and the reference.

The master is a py:percent file (jupytext). Lines between `### BEGIN SOLUTION` and
`### END SOLUTION` (nbgrader's marks) are the solution: the template has a stub in their place, the
reference has them without the marks. Cells tagged `instructor` are left out of the template.

All functions are pure: the same master makes the same bytes, cell ids included.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jupytext
import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from grader.errors import CourseError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
INSTRUCTOR = "instructor"
STUB_COMMENT = "# YOUR CODE HERE"

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}


def read_master(path: Path) -> NotebookNode:
    """Read a master notebook. Raises CourseError when the file cannot be read as one."""
    try:
        return jupytext.read(path, fmt="py:percent")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"Cannot read the master notebook {path}: {error}.") from None


def make_template(master: NotebookNode, slug: str, version: int) -> NotebookNode:
    """Return the notebook that students start from: stubs for solutions, no instructor's cells.

    Raises CourseError when marks do not pair up or a cell does not parse without its solution.
    """
    notebook = _notebook(_with_ids(master), slug, version, _stub)
    _check_syntax(notebook)
    notebook.cells = [
        cell for cell in notebook.cells if INSTRUCTOR not in cell.metadata.get("tags", ())
    ]
    return notebook


def make_reference(master: NotebookNode, slug: str, version: int) -> NotebookNode:
    """Return the solved notebook: every cell, solutions in place, marks removed.

    Raises CourseError when marks do not pair up.
    """
    return _notebook(_with_ids(master), slug, version, lambda region, _: region)


def make_notebook(cells: list[NotebookNode], slug: str, version: int) -> NotebookNode:
    """Return a notebook of `cells` for assignment `slug`, with ids made from the cells' text."""
    return _notebook(_with_ids(nbformat.v4.new_notebook(cells=cells)), slug, version)


def notebook_bytes(notebook: NotebookNode) -> bytes:
    """Return the notebook as a file's content: UTF-8 JSON with sorted keys and a final newline."""
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, indent=1, sort_keys=True)
    return f"{text.rstrip()}\n".encode()


def solution_parts(source: str) -> list[tuple[bool, list[str]]]:
    """Cut a cell into runs of lines, in order: (is it a solution, its lines without the marks).

    Raises ValueError when marks do not pair up.
    """
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    for line in source.split("\n"):
        mark, inside = line.strip(), parts[-1][0]
        if mark not in (BEGIN, END):
            parts[-1][1].append(line)
        elif (mark == BEGIN) == inside:
            raise ValueError(f"`{mark}` where it cannot be")
        else:
            parts.append((not inside, []))
    if parts[-1][0]:
        raise ValueError(f"`{BEGIN}` without `{END}`")
    return parts


Rewrite = Callable[[list[str], str], list[str]]
"""What becomes of a solution: (its lines, the indentation of its first line) to the lines kept."""


def _stub(region: list[str], indentation: str) -> list[str]:
    """Inside a block a stub raises, so that an unanswered function returns nothing gradable."""
    del region
    statement = "raise NotImplementedError()" if indentation else "..."
    return [indentation + STUB_COMMENT, indentation + statement]


def _notebook(
    cells: list[NotebookNode], slug: str, version: int, rewrite: Rewrite | None = None
) -> NotebookNode:
    """Put cells into a fresh notebook, with `rewrite` applied to the solutions of code cells."""
    fresh = []
    for number, cell in enumerate(cells, start=1):
        source = cell.source
        if rewrite is not None and cell.cell_type == "code":
            source = _rewritten(source, rewrite, number)
        fresh.append(_clean(cell, source))
    metadata = {
        "grader": {"assignment": slug, "version": version},
        "kernelspec": dict(KERNEL),
        "language_info": dict(LANGUAGE),
    }
    return nbformat.v4.new_notebook(cells=fresh, metadata=metadata)


def _clean(cell: NotebookNode, source: str) -> NotebookNode:
    """Copy a cell with its id and tags only: no outputs, counts or settings of an editor."""
    tags = cell.metadata.get("tags")
    metadata = {"tags": list(tags)} if tags else {}
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[cell.cell_type]
    return make(source, id=cell.id, metadata=metadata)


def _rewritten(source: str, rewrite: Rewrite, number: int) -> str:
    try:
        parts = solution_parts(source)
    except ValueError as error:
        raise CourseError(
            f"Cell {number} of the master notebook has {error}.",
            "Pair up the marks of each solution.",
        ) from None
    lines: list[str] = []
    for is_solution, part in parts:
        lines += rewrite(part, _indentation(part)) if is_solution else part
    return "\n".join(lines)


def _indentation(lines: list[str]) -> str:
    """Return the white space before the first line that is not blank."""
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _check_syntax(notebook: NotebookNode) -> None:
    """Raise CourseError for a code cell that Python, with IPython's `%` and `!`, cannot parse."""
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code":
            try:
                ast.parse(TransformerManager().transform_cell(cell.source))
            except SyntaxError as error:
                raise CourseError(
                    f"Cell {number} does not parse without its solution: {error.msg}.",
                    "Mark whole statements as the solution.",
                ) from None


def _with_ids(master: NotebookNode) -> list[NotebookNode]:
    """Copy the cells with ids of their own text, solutions included.

    An id survives changes in other cells; the n-th of several equal cells is told apart by n.
    """
    seen: Counter[str] = Counter()
    cells = []
    for cell in master.cells:
        text = f"{cell.cell_type}\n{cell.source}"
        seen[text] += 1
        digest = hashlib.sha256(f"{seen[text]}\n{text}".encode()).hexdigest()
        cells.append(NotebookNode({**cell, "id": digest[:12]}))
    return cells
