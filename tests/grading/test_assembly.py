"""What the runners of gradings share, and which lost cells are the handout's."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from grader.course import load_course
from grader.execute.result import Execution
from grader.grading import assembly
from grader.grading.preparation import Preparation, Settings
from grader.report import CellProblem
from tests.evidence.test_runners import RESULT, RUN, Factory

COURSE = load_course(Path(__file__).parents[1] / "courses" / "small")


@pytest.mark.parametrize(
    ("other", "times"),
    [("small", 1), ("tight", 2)],
    ids=["the same assignment", "the same computation in half of the time"],
)
def test_an_answer_is_known_to_those_with_the_same_limits(
    monkeypatch: pytest.MonkeyPatch, other: str, times: int
) -> None:
    factory = Factory(answer=RESULT)
    monkeypatch.setattr(assembly, "runner_starter", lambda *_: factory)
    settings = Settings(sandbox=None, seed=7)  # type: ignore[arg-type]  nothing is started
    for slug in ("small", other):
        with assembly.open_runners(Preparation(COURSE.get(slug), settings)) as pool:
            assert RESULT == pool.request("pure", RUN)
    assert times == len(factory.runners)


def test_a_lost_cell_that_is_as_it_was_given_is_the_handouts(tmp_path: Path) -> None:
    """Its error is that of what it uses, and nobody is asked to mend it."""
    shutil.copytree(Path(__file__).parents[1] / "courses" / "small", tmp_path, dirs_exist_ok=True)
    cells = [nbformat.v4.new_code_cell(each) for each in ("check(run)", "mine()")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    handout = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("check(run)  \n")])
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "small.ipynb").write_text(nbformat.writes(handout))
    problems = tuple(CellProblem(cell, "TypeError", "no", None) for cell in (1, 2))
    execution = Execution(notebook, problems, 2, 0, (), (), begun=2)
    settings = Settings(sandbox=None, seed=7)  # type: ignore[arg-type]  nothing is started
    prepared = Preparation(load_course(tmp_path).get("small"), settings)
    assert [True, False] == [each.is_given for each in assembly.lost_cells(execution, prepared)]
