"""A master notebook as `grader lint` and `grader verify` look at it, and where its cells stand."""

import ast
from pathlib import Path
from typing import Literal

import msgspec
from nbformat import NotebookNode

from grader.assignment import Assignment
from grader.authoring.master import (
    ENGLISH,
    INSTRUCTOR,
    MarkError,
    Misplaced,
    Passage,
    Source,
    comment_languages,
    find_master,
    find_passages,
    has_master,
    marked_source,
    master_languages,
    read_master,
    sources,
    tags_of,
    with_solutions,
    without_solutions,
)
from grader.authoring.template import make_reference, make_template, parse_cell
from grader.course import CourseAssignment
from grader.language import Text
from grader.reading.submission import defined_names

Severity = Literal["error", "warning"]


class LintFinding(msgspec.Struct, frozen=True):
    """One thing to mend. `number` counts the master's cells from 1, 0 for none of them.

    `line` is a line of the file, from 1; None where the file has no lines, as a notebook has not.
    """

    severity: Severity
    number: int
    line: int | None
    problem: Text
    hint: Text


class LintedMaster(msgspec.Struct, frozen=True):
    """A master notebook. `lines` says for each cell on which line of the file its text begins."""

    assignment: Assignment
    master: NotebookNode
    passages: tuple[Passage, ...]
    misplaced: tuple[Misplaced, ...]
    lines: tuple[int | None, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the master, English first."""
        return master_languages(self.master)

    @property
    def comment_languages(self) -> tuple[str, ...]:
        """The languages that comments may be in."""
        return comment_languages(self.master)

    @property
    def for_students(self) -> tuple[Passage, ...]:
        """The cells that are not for instructors alone."""
        return tuple(each for each in self.passages if INSTRUCTOR not in tags_of(each.cell))

    def finding(
        self, severity: Severity, problem: Text, hint: Text, number: int = 0, line: int = 0
    ) -> LintFinding:
        """Return a finding in a cell, or in a line of it, counted from 0."""
        start = self.lines[number - 1] if number else None
        return LintFinding(severity, number, None if start is None else start + line, problem, hint)

    def visible(self, passage: Passage) -> str:
        """Return what students see of a cell; nothing where its marks do not pair up."""
        text = passage.text(ENGLISH, self.comment_languages)
        try:
            return without_solutions(marked_source(passage.cell, text), passage.cell.cell_type)
        except MarkError:
            return ""

    def solved(self, passage: Passage) -> str:
        """Return a cell with its solutions; with all its lines where marks do not pair up."""
        try:
            return with_solutions(passage.text(ENGLISH, self.comment_languages))
        except MarkError:
            return str(passage.cell.source)


def read_subject(path: Path, assignment: Assignment) -> LintedMaster:
    """Read a master notebook for lint. Raises CourseError when it cannot be read as one."""
    master = read_master(path)
    passages, misplaced = find_passages(master)
    return LintedMaster(assignment, master, passages, misplaced, locate_cells(path, master))


def locate_cells(path: Path, master: NotebookNode) -> tuple[int | None, ...]:
    """Return for each cell the line, from 1, on which its text begins; None in an `.ipynb`.

    In py:percent, text cells and magic are written as comments.
    """
    if path.suffix == ".ipynb":
        return (None,) * len(master.cells)
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").split("\n")]
    found: list[int | None] = []
    position = 0
    for cell in master.cells:
        first, *others = cell.source.split("\n")
        written = {first.rstrip(), f"# {first}".rstrip(), f"#{first}".rstrip()}
        start = next((n for n in range(position, len(lines)) if lines[n] in written), position)
        found.append(start + 1)
        position = start + 1 + len(others)
    return tuple(found)


class _Names(ast.NodeVisitor):
    """Collects the names that a cell binds, functions' and classes' own names apart."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.found.add(node.name)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.found.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.found.add(node.name)

    def visit_alias(self, node: ast.alias) -> None:
        self.found.add(node.asname or node.name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.found.add(node.id)


def bound_names(code: str) -> frozenset[str]:
    """Return the names that a cell defines or binds outside of functions and classes."""
    names = _Names()
    try:
        names.visit(parse_cell(code))
    except SyntaxError:
        return defined_names((code,))
    return frozenset(names.found)


class Notebooks:
    """What is made of an assignment's master notebook. Raises CourseError where that cannot be."""

    def __init__(self, root: Path, chosen: CourseAssignment) -> None:
        assignment = chosen.assignment
        slug = assignment.slug if has_master(root, assignment.slug) else chosen.folder.name
        path = find_master(root, slug)
        master = read_master(path)
        self.reference = make_reference(master, assignment.slug, assignment.version)
        self.template = make_template(master, assignment.slug, assignment.version)
        lines = locate_cells(path, master)
        name = path.relative_to(root)
        self._places = tuple(
            str(name) if line is None else f"{name}:{line}"
            for line in (lines[each.number - 1] for each in sources(master) if _is_run(each))
        )

    def place_of(self, cell: int) -> str:
        """Return file and line of a code cell of the reference, counted from 1."""
        return self._places[cell - 1] if 0 < cell <= len(self._places) else ""


def _is_run(source: Source) -> bool:
    return source.cell.cell_type == "code" and bool(with_solutions(source.text).strip())
