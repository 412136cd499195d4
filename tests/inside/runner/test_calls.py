"""What has no Relax `main` is run by way of one."""
# ruff: noqa: N812 - TVMScript looks like Python and has its own rules

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.script import tirx as T

from grader.inside.common.failure import TaskError
from grader.inside.runner.model import run_module
from grader.messages.frames import pack_array, unpack_array
from grader.messages.runner import RunArgument, RunModule, TensorSpec
from tests.inside.runner.modules import document

A = np.arange(12, dtype="int64").reshape(3, 4)
B = np.array([10, 20, 30, 40], "int64")
ROW = TensorSpec("int64", (4,))


@T.prim_func(s_tir=True)
def forgets_half(
    a: T.Buffer((4,), "int64"), b: T.Buffer((4,), "int64"), c: T.Buffer((4,), "int64")
):
    for i in range(2):
        with T.sblock("C"):
            vi = T.axis.spatial(2, i)
            c[vi] = a[vi] + b[vi]


@T.prim_func(s_tir=True)
def writes_nothing(
    a: T.Buffer((4,), "int64"), b: T.Buffer((4,), "int64"), c: T.Buffer((4,), "int64")
):
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            if a[vi] > b[vi] + T.int64(1000):
                c[vi] = a[vi]


def addition(outputs: int = 1) -> tvm.IRModule:
    """Return a module with one TIR function: a + b, and the same doubled as a second output."""
    a = te.placeholder((4,), "int64", name="a")
    b = te.placeholder((4,), "int64", name="b")
    total = te.compute((4,), lambda i: a[i] + b[i], name="total")
    double = te.compute((4,), lambda i: total[i] * 2, name="double")
    results = [total, double][:outputs]
    return tvm.IRModule({"add": te.create_prim_func([a, b, *results])})


def run(module: tvm.IRModule, function: str = "add", outputs: tuple[TensorSpec, ...] = (ROW,)):
    arguments = (RunArgument(pack_array(A)), RunArgument(pack_array(B), varies=False))
    task = RunModule(document(module), arguments, "llvm", 1, function=function, outputs=outputs)
    return run_module(task)


def failure(*arguments, **names) -> TaskError:
    with pytest.raises(TaskError) as caught:
        run(*arguments, **names)
    return caught.value


def test_a_tir_function_is_called_once_for_each_item_of_what_varies() -> None:
    assert (A + B).tolist() == unpack_array(run(addition()).outputs).tolist()


def test_a_function_called_main_may_be_a_tir_function() -> None:
    module = tvm.IRModule({"main": addition()["add"].with_attr("global_symbol", "main")})
    assert (A + B).tolist() == unpack_array(run(module, "main").outputs).tolist()


def test_several_outputs_are_laid_one_behind_the_other() -> None:
    result = run(addition(2), outputs=(ROW, ROW))
    assert np.hstack([A + B, 2 * (A + B)]).tolist() == unpack_array(result.outputs).tolist()


def test_what_is_not_written_is_poison_and_is_named() -> None:
    assert () == run(tvm.IRModule({"add": forgets_half})).unwritten
    result = run(tvm.IRModule({"add": writes_nothing}))
    assert ("add",) == result.unwritten


def test_a_name_that_is_not_there_is_refused() -> None:
    assert "NoMain" == failure(addition(), "subtract").error_name


def test_other_shapes_than_the_functions_are_refused() -> None:
    wide = TensorSpec("int64", (5,))
    assert failure(addition(), outputs=(wide,)).stage in ("signature", "build", "run")


def test_arguments_for_different_numbers_of_calls_are_refused() -> None:
    arguments = (RunArgument(pack_array(A)), RunArgument(pack_array(A[:2])))
    task = RunModule(document(addition()), arguments, "llvm", 1, function="add", outputs=(ROW,))
    with pytest.raises(TaskError, match="different numbers"):
        run_module(task)
