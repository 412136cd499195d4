"""A notebook with kernels for a GPU is graded where there is none, from the cell to every page."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import api
from grader.render.findings import first_causes
from grader.report import Bars, Check, Grid, Report
from tests.dialects.untimed import notebook

ASSIGNMENT = """
slug = "gpu-trial"
title = "Kernels"
version = 1
points = 100

[data]
dataset = "none"

[limits]
cell_seconds = 120
notebook_seconds = 600
task_seconds = 120
memory_mb = 4096
scratch_mb = 256
processes = 256
output_mb = 8

[[computation]]
id = "reversed"
arguments = [{ name = "A", shape = [256] }]
outputs = [{ shape = [256] }]
cases = 2

[[part]]
id = "reversed"
title = "Blocks, reversed"
entry_kind = "module"
entry = ["MyReversed"]
computation = "reversed"

[[part.check]]
id = "outputs"
kind = "gpu_equivalence"
points = 40

[[part.check]]
id = "threads"
kind = "gpu_threads"
points = 30

[[part.check]]
id = "fits"
kind = "gpu_fits"
points = 10

[[part.check]]
id = "cost"
kind = "gpu_cost"
points = 20
options = { naive = 3278, reference = 424 }
"""
ORACLE = '''
"""What is right."""

def reversed(_parameters, a):
    return a.reshape(len(a), -1, 64)[:, :, ::-1].reshape(a.shape).astype("float64")
'''
KERNEL = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class MyReversed:
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                S = T.alloc_buffer((64,), "float32", scope="shared")
                S[tx] = A[bx * 64 + tx]
                T.tvm_storage_sync("shared")
                B[bx * 64 + tx] = S[63 - tx]
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course with one assignment."""
    root = tmp_path_factory.mktemp("course")
    folder = root / "assignments" / "gpu-trial"
    folder.mkdir(parents=True)
    (folder / "assignment.toml").write_text(ASSIGNMENT, encoding="utf-8")
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    return root


def graded(course: Path, kernel: str, folder: Path) -> Report:
    path = folder / "homework.ipynb"
    path.write_bytes(notebook("gpu-trial", [kernel]))
    return api.grade(path, course=course, seed=1)


def checks(report: Report) -> dict[str, Check]:
    (part,) = report.parts
    return {each.id: each for each in part.checks}


@pytest.fixture(scope="module")
def right(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of a right kernel."""
    return graded(course, KERNEL, tmp_path_factory.mktemp("right"))


def test_a_right_kernel_earns_all_points(right: Report) -> None:
    assert 100.0 == right.score, [each.reason.english for each in right.parts[0].checks]


def test_its_page_has_cycles_and_accesses(right: Report) -> None:
    (section,) = right.parts[0].sections
    kinds = [type(each) for each in section.blocks]
    assert Bars in kinds
    assert Grid in kinds
    assert section.figures["kernel_1_global_units"] == section.figures["kernel_1_global_least"]
    assert "S[63 - threadIdx.x]" in right.render("markdown")


def test_a_barrier_that_is_missing_is_told_with_both_statements(
    course: Path, tmp_path: Path
) -> None:
    without = KERNEL.replace('                T.tvm_storage_sync("shared")\n', "")
    found = checks(graded(course, without, tmp_path))
    threads = found["threads"]
    assert "failed" == threads.verdict
    assert "thread 63 stores it with `S[threadIdx.x] = A[" in threads.reason.english
    assert "Put a barrier" in threads.hint.english
    assert ("not_graded", "waits") == (found["cost"].verdict, found["cost"].code)


def test_wrong_outputs_are_one_cause_of_all_points_that_they_cost(
    course: Path, tmp_path: Path
) -> None:
    """The points for few cycles came first in the list, as these are more, and not why."""
    report = graded(course, KERNEL.replace("S[63 - tx]", "S[tx]"), tmp_path)
    (cause,) = first_causes(report)
    lost = {each.id: each.max_score for each in report.parts[0].checks if not each.score}
    assert ("outputs", {"outputs", "cost"}) == (cause.check.id, {*lost} - {"threads"})
    assert sum(lost.values()) == cause.points


def test_a_program_without_threads_is_no_kernel(course: Path, tmp_path: Path) -> None:
    serial = KERNEL.replace('T.thread_binding(4, thread="blockIdx.x")', "T.serial(4)")
    serial = serial.replace('T.thread_binding(64, thread="threadIdx.x")', "T.serial(64)")
    serial = serial.replace(', scope="shared"', "").replace('T.tvm_storage_sync("shared")', "pass")
    serial = serial.replace("                pass\n", "")
    report = graded(course, serial, tmp_path)
    assert 0.0 == report.score


def test_other_intrinsics_stay_forbidden(course: Path, tmp_path: Path) -> None:
    calling = KERNEL.replace(
        'T.tvm_storage_sync("shared")', 'T.evaluate(T.call_extern("int32", "getpid"))'
    )
    report = graded(course, calling, tmp_path)
    assert 0.0 == report.score
    assert "not allowed" in checks(report)["outputs"].reason.english


def test_the_change_that_makes_a_kernel_right_is_advised(course: Path, tmp_path: Path) -> None:
    report = graded(course, KERNEL.replace("S[63 - tx]", "S[62 - tx]"), tmp_path)
    found = checks(report)
    for each in ("outputs", "threads"):
        assert (
            "Write `S[63 - tx]` instead of `S[62 - tx]` in `B[bx * 64 + tx] = S[62 - tx]`: then no"
            " threads race, and all outputs are right." == found[each].hint.english
        )


def test_an_element_that_no_thread_stores_is_named_and_is_no_race(
    course: Path, tmp_path: Path
) -> None:
    stored = "                B[bx * 64 + tx] = S[63 - tx]"
    half = KERNEL.replace(stored, f"                if tx % 2 == 0:\n    {stored}")
    found = checks(graded(course, half, tmp_path))
    assert found["outputs"].reason.english.startswith("No thread stores `B[1]`.")
    assert "NaN and infinity come from" not in found["outputs"].hint.english
    assert 30.0 == found["threads"].score
