"""What an instructor says with one word when a class is graded: another rubric, the imports."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tests.dialects.untimed import untimed_course
from tests.endtoend.batches import GradedBatch, grade_batch
from tests.endtoend.examples import EXAMPLES

pytestmark = pytest.mark.graded

TENSORIR, CONVOLUTION = "tensorir/reference", "e2e-conv/reference"


def content(name: str) -> bytes:
    """Return an example's notebook."""
    return EXAMPLES[name].with_name(f"{name.split('/')[1]}.ipynb").read_bytes()


def without_imports(name: str) -> bytes:
    """Return an example's notebook as a student has it whose imports are in another file."""
    notebook = nbformat.reads(content(name).decode(), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines = cell.source.splitlines()
            cell.source = "\n".join(
                line for line in lines if not line.startswith(("import ", "from "))
            )
    return nbformat.writes(notebook).encode()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> GradedBatch:
    contents = {name: content(name) for name in (TENSORIR, CONVOLUTION)}
    return grade_batch(tmp_path_factory.mktemp("variant"), contents, "--assignment", "course2022")


class TestVariant:
    """`--assignment course2022`, for whatever was handed in."""

    def test_each_notebook_is_graded_by_its_own_assignment_s(self, graded: GradedBatch) -> None:
        assert 0 == graded.code, graded.messages
        assert [f"{name.split('/')[0]}-course2022" for name in (TENSORIR, CONVOLUTION)] == [
            graded.reports[name].assignment.slug for name in (TENSORIR, CONVOLUTION)
        ]

    def test_a_schedule_s_steps_earn_what_its_speed_would_have(self, graded: GradedBatch) -> None:
        report = graded.reports[CONVOLUTION]
        assert (100, 100) == (report.score, report.max_score)
        assert {"steps": 30} == {
            check.id: check.score for check in report.parts[-1].checks if check.max_score
        }

    def test_a_faster_schedule_is_not_the_text_s_target(self, graded: GradedBatch) -> None:
        """Of the target, today's reference has two thirds."""
        scores = {part.id: part.score for part in graded.reports[TENSORIR].parts}
        assert {"broadcast_add": 15, "conv2d": 25, "bmm_relu": 25, "transform": 23.33} == scores


class TestPreamble:
    """`--preamble`, where notebooks are one of several files."""

    @pytest.mark.parametrize(("options", "score"), [((), 0), (("--preamble",), 85)])
    def test_it_makes_up_for_imports_that_are_missing(
        self, options: tuple[str, ...], score: float, tmp_path: Path
    ) -> None:
        course = untimed_course(tmp_path)
        contents = {TENSORIR: without_imports(TENSORIR)}
        batch = grade_batch(tmp_path, contents, "--course", course, *options)
        assert 0 == batch.code, batch.messages
        assert score == batch.reports[TENSORIR].score
