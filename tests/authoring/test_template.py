"""From a master notebook to a template and a reference.

Templates of a course as files.
"""

from __future__ import annotations

import ast

import nbformat
import pytest

from grader.authoring.master import read_master
from grader.authoring.template import (
    build_reference,
    build_templates,
    find_left_over,
    find_stale,
    make_notebook,
    make_reference,
    make_template,
    notebook_bytes,
    paste_solutions,
    write_files,
)
from grader.course import load_course
from grader.errors import CourseError, UsageError
from grader.reading.submission import parse_content
from tests.authoring.masters import write_course

MASTER = """\
# ---
# jupyter:
#   kernelspec:
#     display_name: Something else
#     name: elsewhere
# ---

# %% [markdown]
# # A task

# %% [markdown] tags=["instructor"]
# The answer is 42.

# %%
# !echo data
before = 1

# %% tags=["hard"]
def answer():
    start = 40
    ### BEGIN SOLUTION
    secret = start + 2
    return secret
    ### END SOLUTION

# %%
### BEGIN SOLUTION
kept = answer()
### END SOLUTION
print("after")

# %%
print("after")
"""


@pytest.fixture
def master(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(MASTER)
    return read_master(path)


def master_of(tmp_path, source):
    path = tmp_path / "master.py"
    path.write_text("# %%\nfirst = 1\n\n# %%\n" + source)
    return read_master(path)


def sources(notebook):
    return [cell.source for cell in notebook.cells]


class TestTemplate:
    def test_has_no_line_of_a_solution(self, master):
        text = notebook_bytes(make_template(master, "task", 1)).decode()
        assert "secret" not in text
        assert "kept" not in text
        assert "SOLUTION" not in text

    def test_raises_in_place_of_a_function_s_solution(self, master):
        namespace = {}
        exec(sources(make_template(master, "task", 1))[2], namespace)
        with pytest.raises(NotImplementedError):
            namespace["answer"]()

    def test_keeps_what_stands_around_a_solution(self, master):
        template = sources(make_template(master, "task", 1))
        stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
        assert template[2] == f"def answer():\n    start = 40\n{stub}"
        assert template[3] == '# YOUR CODE HERE\n...\nprint("after")'

    def test_leaves_out_the_instructor_s_cells(self, master):
        assert not any("42" in source for source in sources(make_template(master, "task", 1)))

    def test_turns_commented_magic_back_into_magic(self, master):
        assert sources(make_template(master, "task", 1))[1] == "!echo data\nbefore = 1"

    def test_says_which_assignment_and_version_it_is(self, master):
        metadata = make_template(master, "task", 3).metadata
        assert metadata.grader == {"assignment": "task", "language": "en", "version": 3}
        assert metadata.kernelspec.name == "python3"
        assert metadata.language_info.name == "python"

    def test_has_neither_outputs_nor_counts(self, master):
        for cell in make_template(master, "task", 1).cells:
            if cell.cell_type == "code":
                assert (cell.outputs, cell.execution_count) == ([], None)

    def test_keeps_other_tags(self, master):
        assert make_template(master, "task", 1).cells[2].metadata.tags == ["hard"]


class TestReference:
    def test_has_solutions_without_marks_and_the_instructor_s_cells(self, master):
        reference = sources(make_reference(master, "task", 1))
        assert (
            reference[3]
            == "def answer():\n    start = 40\n    secret = start + 2\n    return secret"
        )
        assert reference[1] == "The answer is 42."
        assert "SOLUTION" not in "".join(reference)


def test_both_say_their_language(tmp_path):
    path = tmp_path / "task.py"
    path.write_text('# %% [markdown]\n# a\n# %% [markdown] lang="ko"\n# 가')
    master = read_master(path)
    for make in (make_template, make_reference):
        assert "en" == make(master, "task", 1).metadata.grader.language
        korean = make(master, "task", 1, "ko")
        assert ("ko", ["가"]) == (korean.metadata.grader.language, sources(korean))


class TestDamagedMaster:
    @pytest.mark.parametrize(
        "source",
        [
            "### BEGIN SOLUTION\nx = 1",
            "x = 1\n### END SOLUTION",
            "### END SOLUTION\nx = 1\n### BEGIN SOLUTION",
            "### BEGIN SOLUTION\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n### END SOLUTION",
        ],
    )
    @pytest.mark.parametrize("make", [make_template, make_reference])
    def test_is_refused_when_marks_do_not_pair_up(self, tmp_path, make, source):
        with pytest.raises(CourseError, match=r"Cell 2 .* SOLUTION"):
            make(master_of(tmp_path, source), "task", 1)

    def test_is_refused_when_a_cell_does_not_parse_without_its_solution(self, tmp_path):
        source = "x = [\n    ### BEGIN SOLUTION\n    1,\n    ### END SOLUTION\n]"
        with pytest.raises(CourseError, match="Cell 2 does not parse"):
            make_template(master_of(tmp_path, source), "task", 1)

    def test_that_is_not_there_is_refused(self, tmp_path):
        with pytest.raises(CourseError, match="Cannot read"):
            read_master(tmp_path / "nothing.py")


class TestFile:
    def test_has_the_same_bytes_each_time(self, tmp_path, master):
        (tmp_path / "copy.py").write_text(MASTER)
        again = read_master(tmp_path / "copy.py")
        first = notebook_bytes(make_template(master, "task", 1))
        assert notebook_bytes(make_template(master, "task", 1)) == first
        assert notebook_bytes(make_template(again, "task", 1)) == first

    def test_is_a_valid_notebook_of_the_current_format(self, master):
        text = notebook_bytes(make_template(master, "task", 1)).decode()
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
        assert text.endswith("}\n")

    def test_gives_a_cell_the_same_id_in_template_and_reference(self, master):
        template = {cell.id for cell in make_template(master, "task", 1).cells}
        reference = {cell.id for cell in make_reference(master, "task", 1).cells}
        assert template < reference

    def test_keeps_the_ids_of_other_cells_when_one_changes(self, tmp_path, master):
        changed = tmp_path / "changed.py"
        changed.write_text(MASTER.replace("before = 1", "before = 2\n\n# %%\nnew = True"))
        before = [cell.id for cell in make_template(master, "task", 1).cells]
        after = [cell.id for cell in make_template(read_master(changed), "task", 1).cells]
        assert before[0] == after[0]
        assert before[1] not in after
        assert before[2:] == after[3:]

    def test_tells_equal_cells_apart(self):
        cells = [nbformat.v4.new_code_cell("same") for _ in range(3)]
        assert len({cell.id for cell in make_notebook(cells, "task", 1).cells}) == 3


def test_a_stub_parses_wherever_a_statement_may_stand(tmp_path):
    """Solutions may be a function's body, nested in blocks, or a whole cell."""
    mark = "### BEGIN SOLUTION\n{0}x = 1\n{0}### END SOLUTION"
    nested = "for i in range(3):\n    with open(i):\n        " + mark.format("        ")
    for source in (mark.format(""), nested, "class A:\n    " + mark.format("    ")):
        template = make_template(master_of(tmp_path, source), "task", 1)
        ast.parse(template.cells[-1].source)


class TestPaste:
    """What a student hands in who wrote the reference's solutions into the template."""

    def test_gives_the_solved_notebook_without_the_instructor_s_cells(self, master):
        template = make_template(master, "task", 1)
        solved = {cell.id: cell.source for cell in make_reference(master, "task", 1).cells}
        pasted = paste_solutions(template, master)
        assert [solved[cell.id] for cell in template.cells] == sources(pasted)
        assert "YOUR CODE HERE" not in "".join(sources(pasted))
        assert "YOUR CODE HERE" in "".join(sources(template))

    def test_fills_several_stubs_of_a_cell_in_order(self, tmp_path):
        mark = "### BEGIN SOLUTION\n{}\n### END SOLUTION\n"
        source = mark.format("a = '# YOUR CODE HERE'") + "b = 2\n" + mark.format("c = 3\nd = 4")
        master = master_of(tmp_path, source)
        pasted = paste_solutions(make_template(master, "task", 1), master)
        assert "a = '# YOUR CODE HERE'\nb = 2\nc = 3\nd = 4" == pasted.cells[-1].source

    def test_leaves_a_student_s_own_cells_alone(self, master):
        template = make_template(master, "task", 1)
        template.cells.append(nbformat.v4.new_code_cell("# YOUR CODE HERE\n..."))
        assert "# YOUR CODE HERE\n..." == paste_solutions(template, master).cells[-1].source

    def test_refuses_a_template_whose_stub_was_changed(self, master):
        template = make_template(master, "task", 1)
        template.cells[2].source = "def answer():\n    return 1"
        with pytest.raises(CourseError, match="no placeholder code for cell 4"):
            paste_solutions(template, master)


def test_a_cell_of_hidden_tests_alone_is_not_in_the_template(tmp_path):
    master = master_of(tmp_path, "### BEGIN HIDDEN TESTS\nassert x\n### END HIDDEN TESTS")
    assert ["first = 1"] == sources(make_template(master, "task", 1))
    assert "assert x" == sources(make_reference(master, "task", 1))[-1]


def test_pictures_of_a_text_cell_are_kept(tmp_path):
    path = tmp_path / "task.ipynb"
    picture = {"a.png": {"image/png": "aGVsbG8="}}
    cell = nbformat.v4.new_markdown_cell("![a](attachment:a.png)", attachments=picture)
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=[cell])))
    template = make_template(read_master(path), "task", 1)
    assert picture == nbformat.reads(notebook_bytes(template).decode(), 4).cells[0].attachments


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
            assert "task" == parse_content(content, ".ipynb").metadata.grader.assignment

    def test_each_is_in_its_language(self, course):
        made = build_templates(course.root, course.get("task"))
        cells = nbformat.reads(made["task.zh.ipynb"].decode(), as_version=4).cells
        stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
        assert f"def answer():\n    # 返回输入的两倍。\n{stub}" == cells[1].source
        assert "# 一道题" == cells[0].source.split("\n")[0]
        assert 2 == len(cells)


@pytest.mark.parametrize(
    "master",
    [
        "# %%\ndef answer():\n    return 42\n",
        '# %% [markdown] tags=["instructor"]\n# A note.\n\n# %%\nx = 1\n',
        "# %%\nx = 1\n### BEGIN HIDDEN TESTS\nx\n### END HIDDEN TESTS\n",
    ],
)
def test_a_solved_notebook_is_no_template(course, master):
    (course.root / "reference" / "task.py").write_text(master)
    with pytest.raises(CourseError, match="No solution is marked"):
        build_templates(course.root, course.get("task"))


def test_a_solution_may_be_kept_back_by_a_tag(course):
    text = '# %%\nanswer = ...\n\n# %% tags=["instructor"]\nanswer = 42\n'
    (course.root / "reference" / "task.py").write_text(text)
    (made,) = build_templates(course.root, course.get("task")).values()
    assert b"42" not in made


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
