"""From a master notebook to a template and a reference."""

from __future__ import annotations

import ast

import nbformat
import pytest

from grader.authoring.template import (
    make_notebook,
    make_reference,
    make_template,
    notebook_bytes,
    read_master,
    solution_parts,
)
from grader.errors import CourseError

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
        assert metadata.grader == {"assignment": "task", "version": 3}
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


class TestSolutionParts:
    def test_cuts_a_cell_at_its_marks_in_order(self):
        source = "a\n### BEGIN SOLUTION\nb\nc\n### END SOLUTION\nd"
        assert solution_parts(source) == [(False, ["a"]), (True, ["b", "c"]), (False, ["d"])]


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
