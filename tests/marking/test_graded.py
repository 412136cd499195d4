"""A notebook with a written answer and a plot, graded: the rest is a person's."""

from __future__ import annotations

import nbformat
import pytest

from grader.course import load_course
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.progress import Silent
from grader.reading.submission import read_submission
from grader.report import Report
from grader.sandbox.interface import Sandbox
from tests.marking.factory import COURSE

PLOT = """# times-plot
import matplotlib.pyplot as plt
plt.plot([3, 1, 2])
plt.show()"""


@pytest.fixture(scope="module")
def report(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What became of a notebook that builds nothing and answers both parts."""
    cell, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    notebook = nbformat.v4.new_notebook(
        cells=[
            text("# answer-why is asked below", id="c0"),
            cell("x = 1", id="c1"),
            text("It stays in registers.", id="c2", metadata={"tags": ["answer-why"]}),
            cell(PLOT, id="c3", metadata={"tags": ["other"]}),
            text("<!-- answer-why -->\nAnd is never written.", id="c4"),
        ]
    )
    path = tmp_path_factory.mktemp("submission") / "hw.ipynb"
    nbformat.write(notebook, path)
    settings = Settings(sandbox, seed=7, data="builtin")
    prepared = Preparation(load_course(COURSE).get("written"), settings)
    return grade(read_submission(path), prepared, Silent())


def test_what_a_person_marks_is_open_and_not_lost(report: Report) -> None:
    assert (0, 10, 10) == (report.score, report.max_score, report.open)
    assert [("model", 0), ("why", 6), ("plot", 4)] == [
        (each.id, each.open) for each in report.parts
    ]


def test_its_answers_are_found_where_they_stand(report: Report) -> None:
    assert [(), (2, 4), (3,)] == [each.answer for each in report.parts]
    first, second = (report.cells[at].source for at in report.parts[1].answer)
    assert "registers" in first
    assert second.startswith("<!-- answer-why -->\n")


def test_a_plot_was_drawn_by_the_grader(report: Report) -> None:
    assert "image" in {each.kind for each in report.cells[3].outputs}
