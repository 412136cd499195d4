"""Reading masters of all three forms.

nbgrader's marks: what is a region, and what becomes of it.
"""

from __future__ import annotations

import ast
import json
import os

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from jupytext.cli import jupytext as jupytext_command
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class
from nbformat.sign import MemorySignatureStore, NotebookNotary

from grader.authoring.master import (
    MarkError,
    find_master,
    has_master,
    read_master,
    regions,
    sources,
    with_solutions,
    without_solutions,
)
from grader.authoring.template import make_reference, make_template, notebook_bytes
from grader.errors import CourseError, UsageError
from tests.authoring.masters import TRANSLATED, write_course

MARKDOWN = """\
# A task

Define `answer`, see [the manual](https://example.org/manual).

<!-- #region lang="zh" -->
# 一道题

请定义 `answer`，参见[手册](https://example.org/manual)。
<!-- #endregion -->

<!-- #region lang="ko" -->
# 과제

`answer`를 정의하세요. [설명서](https://example.org/manual)를 보세요.
<!-- #endregion -->

<!-- #region tags=["instructor"] -->
Only for instructors.
<!-- #endregion -->

```python
def answer():
    # Return twice the input,
    # item by item.
    # zh: 返回输入的两倍。
    # ko: 입력의 두 배를
    # ko: 반환하세요.
    ### BEGIN SOLUTION
    return 42
    ### END SOLUTION
```
"""


def master_of(tmp_path, text, ending=".py"):
    path = tmp_path / f"task{ending}"
    path.write_text(text, encoding="utf-8")
    return read_master(path)


def templates(master):
    return [notebook_bytes(make_template(master, "task", 1, each)) for each in ("en", "zh", "ko")]


class TestForms:
    def test_markdown_makes_the_same_templates_as_python(self, tmp_path):
        expected = templates(master_of(tmp_path, TRANSLATED))
        assert expected == templates(master_of(tmp_path, MARKDOWN, ".md"))

    def test_a_notebook_makes_the_same_templates_as_python(self, tmp_path):
        master = master_of(tmp_path, TRANSLATED)
        expected = templates(master)
        master.cells[-1].outputs = [nbformat.v4.new_output("stream", text="42")]
        again = master_of(tmp_path, nbformat.writes(master), ".ipynb")
        assert 1 == len(again.cells[-1].outputs)
        assert expected == templates(again)

    @pytest.mark.parametrize(
        ("ending", "content"),
        [
            (".ipynb", b"{"),
            (".ipynb", b"\xff\xfe\x00"),
            (".ipynb", b"[]"),
            (".ipynb", b"{}"),
            (".ipynb", b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 3}'),
            (".py", b"\xff"),
            (".md", b"\xff"),
        ],
    )
    def test_what_cannot_be_read_is_refused(self, tmp_path, ending, content):
        path = tmp_path / f"task{ending}"
        path.write_bytes(content)
        with pytest.raises(CourseError, match="Cannot read the master"):
            read_master(path)

    def test_other_files_are_no_masters(self, tmp_path):
        with pytest.raises(CourseError, match="not a master notebook"):
            read_master(tmp_path / "task.txt")


class TestFinding:
    @pytest.mark.parametrize("ending", [".py", ".md", ".ipynb"])
    def test_a_master_has_the_name_of_its_assignment(self, tmp_path, ending):
        course = write_course(tmp_path, ending=ending)
        assert tmp_path / "reference" / f"task{ending}" == find_master(course, "task")
        assert has_master(course, "task")

    def test_a_missing_one_is_told_with_the_name_that_it_should_have(self, tmp_path):
        with pytest.raises(CourseError) as caught:
            find_master(tmp_path, "task")
        assert "reference/task.py" in caught.value.hint.english
        assert not has_master(tmp_path, "task")

    def test_two_of_one_assignment_are_refused(self, tmp_path):
        write_course(tmp_path)
        (tmp_path / "reference" / "task.md").write_text("text")
        with pytest.raises(CourseError, match=r"task\.py, task\.md"):
            find_master(tmp_path, "task")


class TestPaired:
    """A text and a notebook that jupytext keeps in step, by its own command and in JupyterLab."""

    @pytest.fixture
    def text(self, tmp_path):
        """The text of a pair: `jupytext --set-formats` has written the notebook."""
        path = write_course(tmp_path) / "reference" / "task.py"
        jupytext_command(["--quiet", "--set-formats", "ipynb,py:percent", str(path)])
        assert path.with_suffix(".ipynb").exists()
        return path

    def test_the_text_is_the_master_and_makes_the_same_templates(self, text, tmp_path):
        assert text == find_master(tmp_path, "task")
        assert templates(read_master(text)) == templates(master_of(tmp_path, TRANSLATED))
        assert templates(read_master(text)) == templates(read_master(text.with_suffix(".ipynb")))

    def test_settings_pair_all_masters_of_a_folder(self, tmp_path):
        path = write_course(tmp_path) / "reference" / "task.py"
        path.with_name("jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
        jupytext_command(["--quiet", "--sync", str(path)])
        assert path.with_suffix(".ipynb").exists()
        assert path == find_master(tmp_path, "task")

    def test_what_is_saved_in_jupyterlab_is_in_the_text(self, text, tmp_path):
        manager = build_sync_jupytext_contents_manager_class(LargeFileManager)(
            root_dir=str(text.parent),
            # its own is a database of this user's, which nobody closes
            notary=NotebookNotary(store_factory=MemorySignatureStore, secret=b"secret"),
        )
        model = manager.get("task.ipynb", type="notebook")
        model["content"].cells[0].source += "\n\nSaid in JupyterLab."
        model["content"].cells[-1].outputs = [nbformat.v4.new_output("stream", text="42")]
        manager.save(model, "task.ipynb")
        assert "# Said in JupyterLab." in text.read_text(encoding="utf-8")
        assert '# %% [markdown] lang="zh"' in text.read_text(encoding="utf-8")
        assert "42" not in templates(read_master(find_master(tmp_path, "task")))[0].decode()[:200]

    def test_what_is_saved_in_an_editor_is_told_until_it_is_in_the_notebook(self, text, tmp_path):
        changed = text.read_text(encoding="utf-8").replace("# # A task", "# # A long task")
        text.write_text(changed, encoding="utf-8")
        later = text.with_suffix(".ipynb").stat().st_mtime + 10
        os.utime(text, (later, later))
        with pytest.raises(CourseError, match="paired, but differ") as caught:
            find_master(tmp_path, "task")
        assert f"jupytext --sync {text}" in caught.value.hint.english
        jupytext_command(["--quiet", "--sync", str(text)])
        assert text == find_master(tmp_path, "task")
        assert "A long task" in text.with_suffix(".ipynb").read_text(encoding="utf-8")

    def test_two_files_that_nobody_has_paired_are_refused(self, tmp_path):
        path = write_course(tmp_path) / "reference" / "task.py"
        path.with_suffix(".ipynb").write_text(nbformat.writes(read_master(path)))
        with pytest.raises(CourseError, match=r"several master.*task\.py, task\.ipynb"):
            find_master(tmp_path, "task")


class TestIds:
    def test_are_the_same_in_all_languages(self, tmp_path):
        master = master_of(tmp_path, TRANSLATED)
        english = [each.id for each in sources(master)]
        assert english == [each.id for each in sources(master, "zh")]
        assert len(set(english)) == len(english)

    @pytest.mark.parametrize(
        ("before", "after"),
        [("return 42", "return 6 * 7"), ("一道题", "一道大题"), ("返回", "给出")],
    )
    def test_outlive_changes_of_solutions_and_translations(self, tmp_path, before, after):
        expected = [each.id for each in sources(master_of(tmp_path, TRANSLATED))]
        changed = master_of(tmp_path, TRANSLATED.replace(before, after))
        assert expected == [each.id for each in sources(changed)]

    def test_change_with_what_students_read(self, tmp_path):
        before = sources(master_of(tmp_path, TRANSLATED))
        after = sources(master_of(tmp_path, TRANSLATED.replace("item by item", "one by one")))
        assert [True, True, False] == [
            one.id == other.id for one, other in zip(before, after, strict=True)
        ]


class TestDamaged:
    def test_a_language_that_the_master_lacks_is_told_with_those_it_has(self, tmp_path):
        with pytest.raises(UsageError) as caught:
            sources(master_of(tmp_path, TRANSLATED), "de")
        assert "en, zh, ko" in caught.value.hint.english

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('# %%\nx = 1\n# %% [markdown] lang="zh"\n# b', "Cell 2 .* translates nothing"),
            ("# %%\nx = 1\n# zh: 一", "Line 2 of cell 1 .* translates nothing"),
            ("# %% tags=[instructor]\nsecret = 1", "Cell 1 .* metadata that cannot be read"),
            ("# %% [markdown]\n# a\n# %% [markdown] lang=zh\n# b", "Cell 2 .* metadata"),
        ],
    )
    def test_what_would_be_shown_wrongly_is_refused(self, tmp_path, text, problem):
        with pytest.raises(CourseError, match=problem):
            make_template(master_of(tmp_path, text), "task", 1)


class TestNbgrader:
    def test_a_solution_cell_without_marks_is_a_solution_as_a_whole(self, tmp_path):
        text = '# %% nbgrader={"grade": false, "solution": true}\nsecret = 1'
        master = master_of(tmp_path, text)
        (template,) = make_template(master, "task", 1).cells
        (solved,) = make_reference(master, "task", 1).cells
        assert ("# YOUR CODE HERE\n...", "secret = 1") == (template.source, solved.source)
        assert "nbgrader" not in json.dumps(template)

    def test_one_with_marks_is_a_solution_between_them(self, tmp_path):
        text = (
            '# %% nbgrader={"solution": true}\nx = 1\n### BEGIN SOLUTION\ny = 2\n### END SOLUTION'
        )
        (template,) = make_template(master_of(tmp_path, text), "task", 1).cells
        assert "x = 1\n# YOUR CODE HERE\n..." == template.source


HIDDEN = "assert a\n### BEGIN HIDDEN TESTS\nassert b\n### END HIDDEN TESTS\nassert c"


def test_a_cell_is_cut_at_its_marks_in_order():
    found = regions("a\n### BEGIN SOLUTION\n  b\nc\n### END SOLUTION\nd")
    expected = [("plain", ("a",)), ("solution", ("  b", "c")), ("plain", ("d",))]
    assert expected == [(each.kind, each.lines) for each in found]
    assert "  " == found[1].indentation


def test_a_cell_without_marks_is_one_plain_region():
    assert ["plain"] == [each.kind for each in regions("# a comment\nx = 1")]


def test_hidden_tests_vanish_from_the_template_and_stay_in_the_solved_notebook():
    assert "assert a\nassert c" == without_solutions(HIDDEN, "code")
    assert "assert a\nassert b\nassert c" == with_solutions(HIDDEN)


def test_marks_may_have_fewer_number_signs_as_in_nbgrader():
    source = "# BEGIN SOLUTION\nsecret = 1\n# END SOLUTION"
    assert "secret" not in without_solutions(source, "code")


@pytest.mark.parametrize(
    "mark",
    [
        "### Begin solution",
        "### BEGIN SOLUTIONS",
        "###BEGIN_SOLUTION",
        "### BEGIN SOLUTION: the loop",
        "### BEGIN HIDDEN TEST",
    ],
)
def test_what_is_nearly_a_mark_is_refused_as_it_would_show_the_solution(mark):
    with pytest.raises(MarkError, match="looks like a mark but is none") as caught:
        regions(f"x = 1\n{mark}\nsecret = 2\n### END SOLUTION")
    assert 1 == caught.value.line


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("### BEGIN SOLUTION\nx = 1", 0),
        ("x = 1\n### END SOLUTION", 1),
        ("### BEGIN SOLUTION\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\n### END SOLUTION", 1),
        ("### BEGIN SOLUTION\nx = 1\n### END HIDDEN TESTS", 2),
    ],
)
def test_marks_that_do_not_pair_up_are_refused_with_their_line(source, line):
    with pytest.raises(MarkError) as caught:
        regions(source)
    assert line == caught.value.line


def test_the_stub_of_an_empty_solution_is_indented_as_its_mark():
    source = "def f():\n    ### BEGIN SOLUTION\n\n    ### END SOLUTION"
    stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert f"def f():\n{stub}" == without_solutions(source, "code")


@pytest.mark.parametrize("before", ["", "class A:\n", "for i in x:\n  with y:\n", "def f():\n\t"])
def test_a_stub_parses_wherever_a_statement_may_stand(before):
    last = before.rpartition("\n")[2]
    space = last if last else " " * (before.count("\n") * 2)
    head = before.removesuffix(last)
    source = f"{head}{space}### BEGIN SOLUTION\n{space}x = 1\n{space}### END SOLUTION"
    ast.parse(without_solutions(source, "code"))


def test_a_text_s_stub_is_text():
    source = "Why?\n### BEGIN SOLUTION\nBecause.\n### END SOLUTION"
    assert "Why?\nYOUR ANSWER HERE" == without_solutions(source, "markdown")
