"""mutants.toml: what is read, what is refused, and what becomes of a notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.authoring.mutants import MUTANTS_FILE, DeclaredMutant, apply_declared, load_declared
from grader.course import CourseAssignment, load_course
from grader.errors import CourseError

SMALL = load_course(Path(__file__).parents[1] / "courses" / "small").get("small").assignment
TABLE = """
[[mutant]]
id = "tanh"
about = "tanh in place of ReLU"
part = "model"
find = "relu"
replace = "tanh"
expect = "equivalence"
"""


def load(folder: Path, text: str) -> tuple[DeclaredMutant, ...]:
    (folder / MUTANTS_FILE).write_text(text)
    return load_declared(CourseAssignment(SMALL, folder))


def notebook(*sources: str) -> NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=[*cells, nbformat.v4.new_markdown_cell("relu")])


def mutant(**fields: str) -> DeclaredMutant:
    return DeclaredMutant("tanh", "", "model", **{"find": "relu", "replace": "tanh"} | fields)


class TestLoad:
    def test_an_assignment_without_the_file_declares_none(self, tmp_path: Path) -> None:
        assert () == load_declared(CourseAssignment(SMALL, tmp_path))

    def test_a_table_is_a_mutant(self, tmp_path: Path) -> None:
        (read,) = load(tmp_path, TABLE)
        assert ("tanh", "model", "equivalence") == (read.id, read.part, read.expect)

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ('part = "model"', 'part = "modle"', "part 'modle'"),
            ('"equivalence"', '"equality"', "check 'equality'"),
            ("about", "abuot", "abuot"),
            ('find = "relu"', 'find = ""', "changes nothing"),
            ('find = "relu"', 'find = "tanh"', "changes nothing"),
            (TABLE, TABLE + TABLE, "the same id"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(
        self, tmp_path: Path, old: str, new: str, complaint: str
    ) -> None:
        with pytest.raises(CourseError, match=complaint):
            load(tmp_path, TABLE.replace(old, new))


class TestApply:
    def test_one_text_is_replaced_in_a_copy(self) -> None:
        original = notebook("a = relu(b)", "c = 1")
        changed = apply_declared(mutant(), original)
        assert ["a = tanh(b)", "c = 1", "relu"] == [cell.source for cell in changed.cells]
        assert "a = relu(b)" == original.cells[0].source

    @pytest.mark.parametrize("sources", [(), ("relu(relu(x))",), ("relu(x)", "relu(y)")])
    def test_it_must_be_there_once(self, sources: tuple[str, ...]) -> None:
        with pytest.raises(CourseError, match="times, not once"):
            apply_declared(mutant(), notebook(*sources))

    def test_a_cell_may_be_told_by_another_text(self) -> None:
        changed = apply_declared(mutant(within="def f"), notebook("def f(): relu", "relu"))
        assert ["def f(): tanh", "relu"] == [cell.source for cell in changed.cells[:2]]

    def test_the_cell_must_be_the_only_one_with_that_text(self) -> None:
        with pytest.raises(CourseError, match="2 code cells"):
            apply_declared(mutant(within="def"), notebook("def f(): relu", "def g(): pass"))
