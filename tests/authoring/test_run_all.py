"""\"Run all\" in a template that nobody has solved reaches every `%grader check`.

JupyterLab goes on after a cell that raises if it has the tag `raises-exception`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.authoring.template import parse_cell
from tests.our_course import our_course
from tests.selfcheck.kernels import run_notebook, shown

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").glob("*.ipynb"))
RAISES = "raises-exception"
STUB = "# YOUR CODE HERE"


def read(path: Path) -> list[NotebookNode]:
    notebook = nbformat.read(path, 4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_tagged(cell: NotebookNode) -> bool:
    return RAISES in cell.metadata.get("tags", ())


def is_check(cell: NotebookNode) -> bool:
    return bool(re.match(r"%grader check\b", cell.source))


def stubs(cell: NotebookNode, tree: ast.Module) -> set[str]:
    """Return the names that students define: functions that raise, and what a comment says."""
    functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    raising = {name for name in functions if f"def {name}" in cell.source and _raises(tree, name)}
    said = re.findall(r"# (?:Define|Make) (.*?)(?: here| from|\.$|$)", cell.source, re.MULTILINE)
    return raising | set(re.findall(r"\w+_func\b|\bMy\w+", " ".join(said)))


def _raises(tree: ast.Module, name: str) -> bool:
    function = next(each for each in tree.body if getattr(each, "name", "") == name)
    return "NotImplementedError" in ast.unparse(function)


def used(tree: ast.AST) -> set[str]:
    """Return the names that are looked up while a cell runs, not those in functions of it."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.FunctionDef):
            waiting += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found


def unsolved(cells: list[NotebookNode]) -> list[str]:
    """Return the first lines of untagged cells that raise in a template: they need a solution."""
    missing: set[str] = set()
    found = []
    for cell in cells:
        tree = parse_cell(cell.source)
        is_script = "@T.prim_func" in cell.source and STUB in cell.source  # TVM reads no `raise`
        needs = used(tree) & missing
        if (is_script or needs) and not is_tagged(cell) and not is_check(cell):
            found.append(cell.source.splitlines()[0])
        missing |= stubs(cell, tree)
        for each in tree.body:
            if isinstance(each, ast.Assign) and used(each.value) & missing:
                missing |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_part_that_students_see_is_checked(path: Path) -> None:
    assignment = our_course().get(path.stem.partition(".")[0]).assignment
    lines = [cell.source for cell in read(path) if is_check(cell)]
    asked = [part for line in lines for part in line.split()[2:]]
    assert [part.id for part in assignment.part if not part.hidden] == asked


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_what_needs_a_solution_is_tagged(path: Path) -> None:
    cells = read(path)
    assert [] == unsolved(cells)
    assert any(map(is_tagged, cells))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_check_follows_its_solution_before_anything_tries_it(path: Path) -> None:
    """Where tags mean nothing, \"Run all\" still reaches the check of the first part.

    Between the two only functions are defined, which are there to try it out.
    """
    cells = [cell for cell in read(path) if not only_defines(cell) or STUB in cell.source]
    for number, cell in enumerate(cells):
        if is_check(cell):
            assert STUB in cells[number - 1].source or "sch.show()" in cells[number - 1].source


def only_defines(cell: NotebookNode) -> bool:
    return all(isinstance(each, ast.FunctionDef) for each in parse_cell(cell.source).body)


@pytest.mark.parametrize("slug", ["tensorir", "from-torch"])
def test_run_all_reaches_every_check(slug: str, tmp_path: Path) -> None:
    """These two need no data. nbclient heeds the tag as JupyterLab does."""
    notebook = nbformat.read(ROOT / "templates" / f"{slug}.ipynb", 4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells if cell.cell_type == "code"]
    done = run_notebook(tmp_path, *sources, tags=tags, GRADER_COURSE=str(ROOT))
    checks = [source for source in sources if source.startswith("%grader check")]
    assert checks
    for check in checks:
        assert "So far 0 of" in shown(done, check)
