"""Errors that follow from another one: the cell that was to define a name is told."""

from __future__ import annotations

import nbformat
import pytest
from msgspec.structs import replace

from grader.execute.consequences import binds, cause_of, stale_in, told_problems
from grader.execute.known_errors import KnownError
from grader.execute.result import Execution, LostCell
from grader.report import CellProblem


def undefined(name: str) -> KnownError:
    return KnownError("undefined_name", (name,))


def failed(cell: int, source: str, lacks: str = "") -> LostCell:
    told = ("NameError", f"name '{lacks}' is not defined") if lacks else ("ValueError", "no")
    return LostCell(cell, source, "failed", *told)


LOST = (
    failed(1, "import tvm\nweight = load()"),
    failed(3, "mod = build(weight)", "weight"),
    failed(5, "mod = None", ""),
)


def test_the_first_of_errors_that_follow_from_one_another_is_the_cause():
    assert (LOST[0], "weight") == cause_of(undefined("mod"), LOST, 4)


def test_an_error_of_its_own_has_no_other_cause():
    assert cause_of(KnownError("unknown"), LOST, 4) is None
    assert cause_of(undefined("sch"), LOST, 4) is None


def test_a_later_cell_is_no_cause():
    assert cause_of(undefined("weight"), LOST, 1) is None


@pytest.mark.parametrize(
    "source",
    [
        "name = 1",
        "name: int = 1",
        "other, name = f()",
        "(other, name), more = f()",
        "name, other = f()",
        "def name(x):",
        "async def name(x):",
        "class name:",
        "import name",
        "import numpy as name",
        "from layers import name",
        "from layers import (\n    other,\n    name,\n)",
        "x = 1\nname = 2",
    ],
)
def test_a_line_binds_a_name(source: str) -> None:
    assert binds(failed(1, source), "name")


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "name == 1",
        "x = name",
        "def f():\n    name = 1",
        "named = 1",
        "f(name=1)",
        "from name import other",
        "# import name",
    ],
)
def test_a_line_that_uses_a_name_does_not_bind_it(source: str) -> None:
    assert not binds(failed(1, source), "name")


def test_what_a_file_binds_that_the_cell_runs_counts():
    assert binds(LostCell(2, "%run m.py", "failed", called="%%writefile m.py\nname = 1"), "name")


def test_long_lines_take_no_time():
    assert not binds(failed(1, "a, " * 100_000 + "\n" + "import " + "b, " * 100_000), "name")


def test_a_problem_tells_of_the_cell_it_comes_from():
    sources = ("import my_helpers\nweight = 1", "print(weight)")
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    problems = (
        CellProblem(1, "ModuleNotFoundError", "No module named 'my_helpers'", 1),
        CellProblem(2, "NameError", "name 'weight' is not defined", 1),
    )
    notebook = nbformat.v4.new_notebook(cells=cells)
    execution = Execution(notebook, problems, 2, 0, (), (), begun=2)
    told = told_problems(execution)
    assert problems[0] == told[0]
    assert told[1].hint.english == (
        "Code cell 1, which defines `weight`, did not run to its end: fix that one first."
    )


def at(cell: int, line: int, source: str, error: str = "KeyError") -> LostCell:
    return LostCell(cell, source, "failed", error, "no", line)


MAKES = "mod = create()\nsch = None"
USES = at(24, 4, "sch = Schedule(mod)\nblock = sch.get_sblock('a')")


def test_what_a_cell_finds_under_a_name_that_was_to_be_bound_anew_is_older():
    before = at(23, 1, MAKES)
    assert (before, "mod") == stale_in(USES, (before, USES))
    asserted = at(23, 1, MAKES, "AssertionError")  # in TOPI
    assert (asserted, "mod") == stale_in(USES, (asserted, USES))


@pytest.mark.parametrize(
    "before",
    [
        at(23, 2, MAKES),  # it had bound the name
        at(25, 1, MAKES),
        at(23, 1, f"check(sch)\n{MAKES}", "AssertionError"),
        at(23, 1, "model = create()"),
        at(23, 1, "sch = create()"),  # the other cell binds it itself
        LostCell(23, MAKES, "stopped"),
    ],
)
def test_what_it_binds_or_what_was_bound_is_not(before: LostCell) -> None:
    assert stale_in(USES, (before, USES)) is None


def test_what_another_cell_bound_in_between_is_not():
    lost = at(21, 1, MAKES)
    for error in ("KeyError", "AssertionError"):
        assert stale_in(USES, (lost, at(23, 2, MAKES, error), USES)) is None
    sources = ("mod = create()", "mod = other()", USES.source)
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    problems = (CellProblem(1, "KeyError", "'w'", 1), CellProblem(3, "ValueError", "no", 2))
    execution = Execution(nbformat.v4.new_notebook(cells=cells), problems, 3, 1, (), (), begun=3)
    assert stale_in(execution.lost[-1], execution.lost) is None


def test_what_is_made_of_an_older_one_is_still_older() -> None:
    """A pass in between, or in the cell itself, ran on the lecture's module."""
    legalized = "mod = LegalizeOps()(mod)"
    before = replace(at(23, 1, MAKES), after=f"\n{legalized}")
    assert (before, "mod") == stale_in(USES, (before, USES))
    own = replace(USES, source=f"{legalized}\n{USES.source}")
    assert (before, "mod") == stale_in(own, (before, own))
    anew = replace(USES, source=f"mod = create()  # mod\n{own.source}")
    assert stale_in(anew, (before, anew)) is None
