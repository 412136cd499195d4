"""Solutions of a course are recognised in a repository that does not have them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from grader.course import load_course
from grader.release.secret import SolutionFingerprint, find_solutions, fingerprints

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def known() -> tuple[SolutionFingerprint, ...]:
    """What the solutions of this repository are known by."""
    return fingerprints(load_course(ROOT))


@pytest.fixture
def solution() -> str:
    """The longest cell of a solved notebook."""
    notebook = nbformat.read(ROOT / "examples/e2e-mlp/reference.ipynb", 4)
    return max((each.source for each in notebook.cells if each.cell_type == "code"), key=len)


def found(folder: Path, known: tuple[SolutionFingerprint, ...]) -> list[tuple[str, int | None]]:
    return [(str(each.path), each.cell) for each in find_solutions(folder, known)]


def write(path: Path, *sources: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.mark.parametrize(
    "slug", ["e2e-conv", "e2e-mlp", "from-torch", "gpu", "graph-passes", "quantized", "tensorir"]
)
def test_a_solved_notebook_has_them_and_a_template_has_none(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...], slug: str
) -> None:
    for folder in ("examples", "templates"):
        (tmp_path / folder).mkdir()
    solved = (ROOT / "examples" / slug / "reference.ipynb").read_bytes()
    (tmp_path / "examples/hw.ipynb").write_bytes(solved)
    template = (ROOT / "templates" / f"{slug}.ipynb").read_bytes()
    (tmp_path / "templates/hw.ipynb").write_bytes(template)
    assert {"examples/hw.ipynb"} == {name for name, _ in found(tmp_path, known)}


def test_the_cell_is_named(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...], solution: str
) -> None:
    write(tmp_path / "b/hw.ipynb", "x = 1", solution)
    assert [("b/hw.ipynb", 2)] == found(tmp_path, known)


@pytest.mark.parametrize("end", [".py", ".md"])
def test_scripts_and_markdown_are_looked_at(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...], solution: str, end: str
) -> None:
    (tmp_path / f"hw{end}").write_text(solution)
    assert [(f"hw{end}", None)] == found(tmp_path, known)


def test_comments_empty_lines_and_indentation_do_not_hide_it(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...], solution: str
) -> None:
    lines = [f"  {line}\n\n# mine\n" for line in solution.split("\n")]
    write(tmp_path / "hw.ipynb", "".join(lines))
    assert [("hw.ipynb", 1)] == found(tmp_path, known)


def test_a_master_is_recognised_as_well(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...]
) -> None:
    (tmp_path / "e2e-mlp.py").write_bytes((ROOT / "reference/e2e-mlp.py").read_bytes())
    assert [("e2e-mlp.py", None)] == found(tmp_path, known)


def test_what_cannot_be_read_is_passed_over(
    tmp_path: Path, known: tuple[SolutionFingerprint, ...], solution: str
) -> None:
    (tmp_path / "damaged.ipynb").write_text("{")
    (tmp_path / "bytes.py").write_bytes(b"\xff\x00")
    (tmp_path / "link.ipynb").symlink_to("/dev/zero")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/hw.py").write_text(solution)
    assert [] == found(tmp_path, known)
