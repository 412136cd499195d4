"""The notebooks that are made from a master: what students start from, and the solved one.

In the template a stub stands in place of each solution; hidden tests and instructors' cells are
left out. The solved notebook has everything, without the marks. Both are made in each language of
the master, with the same cell ids.

All functions are pure: the same master makes the same bytes.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from grader.authoring.master import (
    ENGLISH,
    Source,
    cell_id,
    find_master,
    has_solution,
    is_instructors_code,
    master_languages,
    read_master,
    regions,
    sources,
    stub_lines,
    tags_of,
    with_solutions,
    without_solutions,
)
from grader.course import CourseAssignment
from grader.errors import CourseError
from grader.files import write_whole, writing
from grader.language import say

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}

UNMARKED = (
    say("no-solution-marked-students-would-see-all"),
    say("put-begin-solution-before-each-solution"),
)
"""What is wrong with a master whose template is the solved notebook, and what to do."""


def make_template(
    master: NotebookNode, slug: str, version: int, language: str = ENGLISH
) -> NotebookNode:
    """Return the notebook that students start from: stubs for solutions, no instructor's cells.

    Raises CourseError when the master is damaged or a cell does not parse without its solution.
    """
    cells = []
    for source in sources(master, language):
        text = without_solutions(source.text, source.cell.cell_type)
        problem = syntax_problem(text) if source.cell.cell_type == "code" else ""
        if problem:
            raise CourseError(
                say("cell-does-not-parse-without-solution", number=source.number, problem=problem),
                say("mark-whole-statements-as-solution"),
            )
        if source.is_for_students and not _is_emptied(source, text):
            cells.append(_fresh(source.cell, text, source.id))
    return _notebook(cells, {"assignment": slug, "language": language, "version": version})


def make_reference(
    master: NotebookNode, slug: str, version: int, language: str = ENGLISH
) -> NotebookNode:
    """Return the solved notebook: every cell, solutions and hidden tests in place, marks removed.

    Raises CourseError when the master is damaged.
    """
    cells = [
        _fresh(source.cell, with_solutions(source.text), source.id)
        for source in sources(master, language)
    ]
    return _notebook(cells, {"assignment": slug, "language": language, "version": version})


def make_notebook(cells: Iterable[NotebookNode], slug: str, version: int) -> NotebookNode:
    """Return a notebook of `cells` for assignment `slug`, with ids made from the cells' text."""
    seen: Counter[str] = Counter()
    fresh = [
        _fresh(cell, cell.source, cell_id(f"{cell.cell_type}\n{cell.source}", seen))
        for cell in cells
    ]
    return _notebook(fresh, {"assignment": slug, "version": version})


def paste_solutions(
    template: NotebookNode, master: NotebookNode, language: str = ENGLISH
) -> NotebookNode:
    """Return a copy of a template with the master's solutions in its stubs, found by cell id.

    It is what a student would hand in who had written them. Raises CourseError where the template
    has not the stubs that the master makes.
    """
    by_id = {source.id: source for source in sources(master, language)}
    solved = nbformat.from_dict(template)
    for cell in solved.cells:
        if cell.id in by_id:
            cell.source = _pasted(cell.source, by_id[cell.id])
    return solved


def _pasted(text: str, source: Source) -> str:
    done, rest = "", text
    for region in regions(source.text):
        if region.kind != "solution":
            continue
        stub = "\n".join(stub_lines(region.indentation, source.cell.cell_type))
        before, found, rest = rest.partition(stub)
        if not found:
            raise CourseError(
                say("template-has-no-stub-for-cell-master", number=source.number),
                say("generate-again-with-grader-template"),
            )
        done += before + "\n".join(region.lines)
    return done + rest


def notebook_bytes(notebook: NotebookNode) -> bytes:
    """Return the notebook as a file's content: UTF-8 JSON with sorted keys and a final newline."""
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, indent=1, sort_keys=True)
    return f"{text.rstrip()}\n".encode()


def syntax_problem(code: str) -> str:
    """Say why a cell cannot be parsed; empty if it can."""
    try:
        parse_cell(code)
    except SyntaxError as error:
        return str(error.msg)
    return ""


def parse_cell(code: str) -> ast.Module:
    """Parse a cell of Python with IPython's `%` and `!`. Raises SyntaxError."""
    tree: ast.Module = ast.parse(TransformerManager().transform_cell(code))
    return tree


def _is_emptied(source: Source, text: str) -> bool:
    """Say whether nothing is left of a cell that was made of hidden tests alone."""
    return bool(source.text.strip()) and not text.strip()


def _notebook(cells: list[NotebookNode], declared: dict[str, Any]) -> NotebookNode:
    metadata = {
        "grader": declared,
        "kernelspec": dict(KERNEL),
        "language_info": dict(LANGUAGE),
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def _fresh(cell: NotebookNode, source: str, identity: str) -> NotebookNode:
    """Copy a cell with its tags and pictures only: no outputs, counts or settings of an editor."""
    tags = tags_of(cell)
    fields: dict[str, Any] = {"id": identity, "metadata": {"tags": list(tags)} if tags else {}}
    if "attachments" in cell:
        fields["attachments"] = cell.attachments
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[cell.cell_type]
    return make(source, **fields)


def template_name(slug: str, language: str) -> str:
    """Return the file name of a template; the English one is named by the assignment alone."""
    return f"{slug}.ipynb" if language == ENGLISH else f"{slug}.{language}.ipynb"


def build_templates(
    root: Path, chosen: CourseAssignment, language: str | None = None
) -> dict[str, bytes]:
    """Return an assignment's templates by file name: in one language, or in all of its master.

    Raises CourseError for a master that is missing or damaged, or keeps nothing from students,
    UsageError for a language that it does not have.
    """
    slug, version = chosen.assignment.slug, chosen.assignment.version
    master = read_master(find_master(root, slug))
    languages = master_languages(master) if language is None else (language,)
    made = {
        template_name(slug, each): notebook_bytes(make_template(master, slug, version, each))
        for each in languages
    }
    if not any(map(_is_kept_back, master.cells)):
        raise CourseError(*UNMARKED)
    return made


def _is_kept_back(cell: NotebookNode) -> bool:
    """Say whether students do not read all code of a cell."""
    return is_instructors_code(cell) or has_solution(cell)


def build_reference(root: Path, chosen: CourseAssignment) -> bytes:
    """Return the solved notebook of an assignment, in English. Raises CourseError."""
    slug, version = chosen.assignment.slug, chosen.assignment.version
    return notebook_bytes(make_reference(read_master(find_master(root, slug)), slug, version))


def find_stale(files: Mapping[Path, bytes]) -> list[Path]:
    """Return the paths whose file is missing or differs from what is made now."""
    return [
        path for path, content in files.items() if not path.exists() or path.read_bytes() != content
    ]


def find_left_over(folder: Path, slug: str, names: Iterable[str]) -> list[Path]:
    """Return an assignment's templates in a folder that are no longer made."""
    found = (folder / f"{slug}.ipynb", *sorted(folder.glob(f"{slug}.*.ipynb")))
    return [path for path in found if path.exists() and path.name not in set(names)]


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write the files, making folders as needed. Raises UsageError for one that cannot be."""
    for path, content in files.items():
        what = say("a-notebook") if path.suffix == ".ipynb" else say("file-course")
        with writing(path, what):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
