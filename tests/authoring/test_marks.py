"""nbgrader's marks: what is a region, and what becomes of it."""

from __future__ import annotations

import ast

import pytest

from grader.authoring.master import MarkError, regions, with_solutions, without_solutions

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
    with pytest.raises(MarkError, match="nearly a mark") as caught:
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
