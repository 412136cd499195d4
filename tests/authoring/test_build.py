"""Templates of a course as files."""

from __future__ import annotations

import nbformat
import pytest

from grader.authoring.template import (
    build_reference,
    build_templates,
    find_left_over,
    find_stale,
    write_files,
)
from grader.course import load_course
from grader.errors import UsageError
from grader.reading.submission import parse_notebook
from tests.authoring.masters import write_course


@pytest.fixture
def course(tmp_path):
    return load_course(write_course(tmp_path))


class TestTemplates:
    def test_there_is_one_for_each_language_of_the_master(self, course):
        made = build_templates(course.root, course.get("task"))
        assert ["task.ipynb", "task.zh.ipynb", "task.ko.ipynb"] == list(made)

    def test_one_language_may_be_chosen(self, course):
        assert ["task.ko.ipynb"] == list(build_templates(course.root, course.get("task"), "ko"))
        with pytest.raises(UsageError, match="'de'"):
            build_templates(course.root, course.get("task"), "de")

    def test_metadata_say_what_it_is_and_the_grader_reads_them(self, course):
        for language, content in zip(
            ("en", "zh", "ko"),
            build_templates(course.root, course.get("task")).values(),
            strict=True,
        ):
            notebook = nbformat.reads(content.decode(), as_version=4)
            expected = {"assignment": "task", "language": language, "version": 3}
            assert expected == notebook.metadata.grader
            assert "task" == parse_notebook(content).metadata.grader.assignment

    def test_each_is_in_its_language(self, course):
        made = build_templates(course.root, course.get("task"))
        cells = nbformat.reads(made["task.zh.ipynb"].decode(), as_version=4).cells
        stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
        assert f"def answer():\n    # 返回输入的两倍。\n{stub}" == cells[1].source
        assert "# 一道题" == cells[0].source.split("\n")[0]
        assert 2 == len(cells)


def test_the_reference_is_solved_and_in_english(course):
    notebook = nbformat.reads(build_reference(course.root, course.get("task")).decode(), 4)
    assert "return 42" in notebook.cells[-1].source
    assert "en" == notebook.metadata.grader.language


class TestFiles:
    def test_what_is_missing_or_changed_is_stale(self, tmp_path):
        files = {tmp_path / "a" / name: name.encode() for name in ("same", "other", "none")}
        write_files(files)
        (tmp_path / "a" / "other").write_bytes(b"changed")
        (tmp_path / "a" / "none").unlink()
        assert [tmp_path / "a" / "other", tmp_path / "a" / "none"] == find_stale(files)

    def test_what_is_no_longer_made_is_left_over(self, tmp_path):
        for name in ("task.ipynb", "task.zh.ipynb", "task.de.ipynb", "task-2.ipynb"):
            (tmp_path / name).write_text("{}")
        made = ("task.ipynb", "task.zh.ipynb")
        assert [tmp_path / "task.de.ipynb"] == find_left_over(tmp_path, "task", made)
