"""Which cells students were given."""

from __future__ import annotations

import json
from pathlib import Path

from grader.grading.preparation import as_given, handout_cells

ROOT = Path(__file__).parents[2]


def course(folder: Path, **notebooks: object) -> Path:
    """Return the folder of the assignment `hw` of a course with these templates."""
    (folder / "templates").mkdir()
    for name, content in notebooks.items():
        path = folder / "templates" / f"{name.replace('_', '.')}.ipynb"
        path.write_text(json.dumps(content), encoding="utf-8")
    return folder / "assignments" / "hw"


def of(*sources: object) -> dict[str, object]:
    return {"cells": [{"cell_type": "code", "source": source} for source in sources]}


def test_they_are_the_cells_of_the_templates_in_all_languages(tmp_path: Path) -> None:
    folder = course(tmp_path, hw=of("import tvm", ["a = 1\n", "b"]), hw_zh=of("# 第一"))
    assert {"import tvm", "a = 1\nb", "# 第一"} == handout_cells(folder)


def test_other_assignments_give_none(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(course(tmp_path, hw2=of("a"), other=of("b")))


def test_an_empty_cell_is_nobodys(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(course(tmp_path, hw=of("", " \n")))


def test_a_damaged_template_is_passed_over(tmp_path: Path) -> None:
    folder = course(tmp_path, hw=["no", "notebook"], hw_zh=of("a"))
    assert {"a"} == handout_cells(folder)


def test_a_course_without_templates_gives_nothing(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(tmp_path / "assignments" / "hw")


def test_spaces_that_an_editor_changes_do_not_count() -> None:
    assert as_given("def f():\n    pass\n") == as_given("\ndef f():  \r\n    pass \n\n")
    assert as_given("def f():\n  pass") != as_given("def f():\n    pass")


def test_our_own_templates_are_read() -> None:
    assert len(handout_cells(ROOT / "assignments" / "e2e-conv")) > 20
