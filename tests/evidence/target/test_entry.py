"""CompareTarget: what makes a difference, and what does not."""
# ruff: noqa: N805, N812 - TVMScript has its own rules

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T

from grader.evidence.target.inside.entry import perform as compare_target
from grader.evidence.target.messages import CompareTarget, TargetResult
from grader.inside.common.failure import TaskError
from grader.inside.runner.entry import perform
from grader.inside.runner.evaluation import Evaluator
from grader.messages.evidence import Examine, Examined
from grader.messages.runner import TaskFailure
from tests.inside.runner import modules

WORKLOAD = """
import tvm
from tvm import te

def target():
    x = te.placeholder((8, 16), "float32", name="x")
    k = te.reduce_axis((0, 16), name="k")
    y = te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="sum")
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([x, y])}))
    i, k = schedule.get_loops(schedule.get_sblock("sum"))
    schedule.parallel(i)
    return schedule.mod
"""


@I.ir_module
class Student:
    """The same with other names, what blocks touch written out, and no attributes."""

    @T.prim_func(s_tir=True, private=True)
    def row_sums(data: T.Buffer((8, 16), "float32"), result: T.Buffer((8,), "float32")):
        for row in T.parallel(8):
            for column in range(16):
                with T.sblock("adds"):
                    a = T.axis.spatial(8, row)
                    b = T.axis.reduce(16, column)
                    T.reads(data[a, 0:16])
                    T.writes(result[a])
                    with T.init():
                        result[a] = T.float32(0)
                    result[a] = result[a] + data[a, b]


def compare(module: Any, name: str = "row_sums", workload: str = WORKLOAD) -> TargetResult:
    return compare_target(CompareTarget(workload, modules.document(module), name))


def test_names_attributes_and_regions_make_no_difference():
    answer = compare(Student)
    assert (True, "") == (answer.equal, answer.place)


def test_the_target_comes_along():
    module = tvm.ir.load_json(compare(Student).target.decode())
    assert "T.parallel(8)" in str(module.script())


@pytest.mark.parametrize(
    "step",
    [
        lambda schedule, loop: schedule.split(loop, [4, 4]),
        lambda schedule, loop: schedule.split(loop, [16, 1]),
        lambda schedule, loop: schedule.unroll(loop),
        lambda schedule, loop: schedule.decompose_reduction(
            schedule.get_sblock("adds", "row_sums"), loop
        ),
    ],
    ids=["split", "split by one", "unroll", "decompose"],
)
def test_a_step_makes_one(step: Any):
    schedule = s_tir.Schedule(Student)
    *_, column = schedule.get_loops(schedule.get_sblock("adds", "row_sums"))
    step(schedule, column)
    answer = compare(schedule.mod)
    assert not answer.equal
    assert answer.place.startswith("<root>.body")


@pytest.mark.parametrize(
    "workload",
    ["", "import tvm\ndef target():\n    return tvm.IRModule()", "def target():\n    return 1"],
)
def test_a_workload_without_a_target_fails_as_the_courses_own(workload: str):
    with pytest.raises(TaskError) as caught:
        compare(Student, workload=workload)
    assert "time" == caught.value.stage


def test_a_function_that_is_not_there_is_refused():
    with pytest.raises(TaskError) as caught:
        compare(Student, "sums")
    assert ("signature", "NoFunction") == (caught.value.stage, caught.value.error_name)


def test_it_is_a_task_of_runners_without_externs():
    task = Examine.of("target", CompareTarget(WORKLOAD, modules.document(Student), "row_sums"))
    answer = perform(task)
    assert isinstance(answer, Examined)
    assert answer.read(TargetResult).equal
    assert isinstance(perform(task, Evaluator.__new__(Evaluator)), TaskFailure)
