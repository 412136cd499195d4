"""Codes: what came of a check can be told apart without a look at its sentences."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

from grader.evidence.case import Problem
from grader.evidence.registry import failed, not_graded, partial, passed
from grader.language import foreign
from grader.report import CellCode, CheckCode

ROOT = Path(__file__).parents[2]
JUDGING = ("checks", "diagnosis", "evidence", "grading", "measurement")


def test_no_problem_of_the_referees_is_without_one() -> None:
    files = [path for room in JUDGING for path in (ROOT / "grader" / room).rglob("*.py")]
    assert set(JUDGING) == {path.relative_to(ROOT / "grader").parts[0] for path in files}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Problem"
        and "code" not in {keyword.arg for keyword in node.keywords}
    ]
    assert [] == wrong


def test_every_one_is_explained() -> None:
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    codes = {*get_args(CheckCode), *get_args(CellCode)}
    assert [] == sorted(code for code in codes if f"`{code}`" not in page)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (passed("It is."), "passed"),
        (partial(0.5, "Half.", "More."), "incomplete"),
        (partial(0.0, "None.", "More."), "unmet"),
        (partial(0.0, "None.", "More.", "values"), "values"),
        (partial(1.0, "All.", ""), "passed"),
        (failed("No.", "Yes."), "unmet"),
        (failed("No.", "Yes.", "shape"), "shape"),
        (not_graded(Problem(foreign("?"), code="crashed")), "crashed"),
        (not_graded(Problem(foreign("?"))), "undecided"),
    ],
)
def test_it_follows_from_the_outcome_where_a_check_names_none(outcome, code) -> None:
    assert code == outcome.code


def test_what_a_course_says_in_plain_strings_is_said_as_it_is() -> None:
    words = ("Too many calls: {x}.", "Use fewer.")
    outcome = failed(*words)
    assert words == (
        outcome.reason.in_("ko"),
        outcome.hint.in_("zh"),
    )
