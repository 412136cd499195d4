"""A notebook is graded by an assignment that limits memory, from the cell to every page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader import api
from grader.report import Bars, Report
from tests.dialects.untimed import notebook

ROOT = Path(__file__).parents[3]
LIMIT = """
[[part.check]]
id = "memory"
kind = "peak_bytes"
points = 5
options = { most = 64 }
"""
ADD = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        kept = T.sblock_alloc_buffer(KEPT, "int64")
        for i, j in T.grid(4, 4):
            with T.sblock("keep"):
                x, y = T.axis.remap("SS", [i, j])
                kept[ROW y] = B[y]
        for i, j in T.grid(4, 4):
            with T.sblock("add"):
                x, y = T.axis.remap("SS", [i, j])
                C[x, y] = A[x, y] + kept[ROW y]
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course with the first part of an assignment, and a limit on memory."""
    root = tmp_path_factory.mktemp("course")
    folder = root / "assignments" / "tensorir"
    folder.mkdir(parents=True)
    original = ROOT / "assignments" / "tensorir"
    shutil.copy(original / "oracle.py", folder)
    head, first, *_ = (original / "assignment.toml").read_text("utf-8").split("[[part]]\n")
    head = head.replace("points = 100", "points = 20").replace('module_of = "bmm_relu"\n', "")
    head = head.replace("[arguments]\n", "").replace('module = ["mod", "module", "ir_mod*"]\n', "")
    (folder / "assignment.toml").write_text(f"{head}[[part]]\n{first}{LIMIT}", encoding="utf-8")
    return root


def graded(course: Path, kept: str, row: str, folder: Path) -> Report:
    path = folder / "homework.ipynb"
    path.write_bytes(notebook("tensorir", [ADD.replace("KEPT", kept).replace("ROW", row)]))
    return api.grade(path, course=course, seed=1)


@pytest.fixture(scope="module")
def large(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of a function that keeps a row for each row of the result."""
    return graded(course, "(4, 4)", "x,", tmp_path_factory.mktemp("large"))


def test_a_buffer_that_is_too_large_costs_the_points_of_the_check(large: Report) -> None:
    (part,) = large.parts
    check = part.checks[-1]
    assert ("failed", 0.0, 5.0) == (check.verdict, check.score, check.max_score)
    assert "The module allocates 128 bytes at its peak, of 64 allowed." == check.reason.english
    assert "`add`" in check.hint.english
    assert 15.0 == large.score


def test_its_page_has_a_bar_beside_the_limit(large: Report) -> None:
    (section,) = large.parts[0].sections
    (bars,) = section.blocks
    assert isinstance(bars, Bars)
    assert ([128.0, 128.0], 64.0) == ([each.value for each in bars.bars], bars.limit)
    assert ("peak", ("peak_bytes",)) == (section.kind, section.explains)
    assert {"bytes": 128, "most": 64} == section.figures


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_every_rendering_tells_both(large: Report, format: str) -> None:
    page = large.render(format)
    assert "Memory at the peak" in page
    assert "At most 64 bytes" in page


@pytest.mark.parametrize(("language", "title"), [("zh", "内存峰值"), ("ko", "최대 메모리")])
def test_it_is_told_in_every_language(large: Report, language: str, title: str) -> None:
    assert title in large.render("markdown", language=language)


def test_a_small_buffer_earns_them(course: Path, tmp_path: Path) -> None:
    report = graded(course, "(4,)", "", tmp_path)
    assert 20.0 == report.score
    assert {"bytes": 32, "most": 64} == report.parts[0].sections[0].figures
