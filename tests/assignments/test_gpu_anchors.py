"""The anchors of the points for cost are what the model says today."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import tvm
from tvm import te
from tvm.s_tir import dlight

from grader.evidence.gpu.cost import cycles_of
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from tests.evidence.gpu.more_schedules import TARGET
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
PARTS = ("window", "matmul", "conv")
RULES = tuple(
    getattr(dlight.gpu, each)() for each in ("Matmul", "GEMV", "Reduction", "GeneralReduction")
)


def _cells() -> list[str]:
    notebook = nbformat.read(ROOT / "examples" / "gpu" / "reference.ipynb", as_version=4)
    return [each.source for each in notebook.cells if each.cell_type == "code"]


def _names(part: str) -> dict[str, Any]:
    """Return what the reference's cells of a part define; TVM looks for their lines."""
    names: dict[str, Any] = {"te": te, "tvm": tvm}
    for number, cell in enumerate(_cells()):
        if f"def {part}():" in cell or f"sch_{part} = " in cell:
            file = f"<cell {number}>"
            linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
            exec(compile(cell, file, "exec"), names)
    return names


def _cycles(module: Any) -> int:
    lowered = lower(module, "main", "sm_80")
    shapes = [[int(each) for each in one.ty.shape] for one in module["main"].params]
    generator = np.random.default_rng(45)
    arrays = [generator.standard_normal(shape, dtype="float32") for shape in shapes]
    execution = Program(lowered.function, lowered.shapes).execute(arrays, [len(arrays) - 1])
    return cycles_of(DEVICES["sm_80"], execution.counts())


def _options(part: str) -> dict[str, int]:
    assignment = our_course().get("gpu").assignment
    (found,) = (each for each in assignment.part if each.id == part)
    return next(each.options for each in found.check if each.id == "cost")


@pytest.mark.parametrize("part", PARTS)
def test_the_reference_is_what_the_course_s_schedule_takes(part: str) -> None:
    assert _options(part)["reference"] == _cycles(_names(part)[f"sch_{part}"].mod)


@pytest.mark.parametrize("part", PARTS)
def test_the_default_rules_take_what_is_told_of_them(part: str) -> None:
    with TARGET:
        schedule = dlight.ApplyDefaultSchedule(*RULES, dlight.gpu.Fallback())
        module = schedule(_names(part)[part]())
    assert _options(part)["dlight"] == _cycles(module)
