"""A report made fit for a page."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from grader.render.html.clean import CELLS_LENGTH, PARTS, TEXT_LENGTH, cleaned
from grader.report import Cell, CellOutput, CellProblem
from tests import sample_reports

TYPICAL = sample_reports.typical()


def test_an_ordinary_report_stays_as_it_is() -> None:
    assert TYPICAL == cleaned(TYPICAL)


def test_long_texts_end_in_an_ellipsis() -> None:
    problem = CellProblem(1, "E" * (TEXT_LENGTH + 1), "short")
    (clean,) = cleaned(replace(TYPICAL, problems=(problem,))).problems
    assert "E" * TEXT_LENGTH + " …" == clean.error


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value: float) -> None:
    assert 0.0 == cleaned(replace(TYPICAL, score=value)).score


def test_numbers_can_be_written_down() -> None:
    assert 10**15 == cleaned(replace(TYPICAL, seed=10**5000)).seed
    assert 1e12 == cleaned(replace(TYPICAL, score=1e300)).score


def test_empty_lines_at_the_top_of_a_cell_stay() -> None:
    report = replace(TYPICAL, cells=(Cell("code", "\n\n\tx\x00", 1),))
    assert "\n\n    x" == cleaned(report).cells[0].source


def test_an_output_that_is_no_image_is_a_sentence() -> None:
    cell = Cell("code", "x", 1, None, (CellOutput("image", "PHN2Zy8+"),))
    (output,) = cleaned(replace(TYPICAL, cells=(cell,))).cells[0].outputs
    assert CellOutput("result", "(an image that cannot be shown)") == output


def test_names_of_packages_are_texts_too() -> None:
    environment = replace(TYPICAL.environment, packages={"a\x1b[2J": "\u202e1"})
    assert {"a": "1"} == cleaned(replace(TYPICAL, environment=environment)).environment.packages


def test_of_too_many_cells_the_first_are_kept() -> None:
    cells = (Cell("code", "x" * 100_000, 1),) * 100
    assert CELLS_LENGTH // 100_000 == len(cleaned(replace(TYPICAL, cells=cells)).cells)


def test_of_too_many_parts_the_first_are_kept() -> None:
    assert PARTS == len(cleaned(replace(TYPICAL, parts=TYPICAL.parts * 100)).parts)
