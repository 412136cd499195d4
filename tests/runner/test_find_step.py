"""Finding the step of a schedule from which on another result is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import s_tir, te

from grader.messages import (
    FindStep,
    FoundStep,
    RunArgument,
    RunModule,
    TensorSpec,
    pack_array,
    unpack_array,
)
from grader.runner.tasks import perform
from tests.ir import modules
from tests.referee import schedules

SIZE = 16


def product() -> Any:
    """Return the ReLU of a product of two matrices, in two blocks."""
    a, b = (te.placeholder((SIZE, SIZE), "float32", name=each) for each in "AB")
    k = te.reduce_axis((0, SIZE), "k")
    y = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="Y")
    c = te.compute((SIZE, SIZE), lambda i, j: te.max(y[i, j], tvm.tirx.const(0, "float32")), "C")
    function = te.create_prim_func([a, b, c]).with_attr("global_symbol", "product")
    return tvm.IRModule({"product": function})


def find(steps: Callable[[Any, Any, Any], None]) -> FoundStep:
    """Return the step of a schedule that changes the result, as a runner finds it."""
    module = product()
    schedule = s_tir.Schedule(module)
    steps(
        schedule,
        schedule.get_sblock("Y", func_name="product"),
        schedule.get_sblock("C", func_name="product"),
    )
    values = np.random.default_rng(1).standard_normal((2, 1, SIZE, SIZE)).astype(np.float32)
    run = RunModule(
        modules.save(module),
        tuple(RunArgument(pack_array(each)) for each in values),
        "llvm",
        1,
        function="product",
        outputs=(TensorSpec("float32", (SIZE, SIZE)),),
    )
    answer = perform(FindStep(run, schedules.saved_trace(schedule), 2e-5))
    assert isinstance(answer, FoundStep), answer
    wanted = np.maximum(values[0, 0].astype(float) @ values[1, 0], 0)
    np.testing.assert_allclose(unpack_array(answer.outputs)[0], wanted, atol=1e-4)
    return answer


def test_a_right_schedule_has_no_such_step() -> None:
    def steps(sch: Any, y: Any, _c: Any) -> None:
        i, j, k = sch.get_loops(y)
        sch.reorder(i, k, j)
        sch.decompose_reduction(y, k)

    assert 0 == find(steps).number


def test_two_blocks_in_one_vectorized_loop() -> None:
    def steps(sch: Any, y: Any, c: Any) -> None:
        i, j, k = sch.get_loops(y)
        sch.parallel(i)
        sch.vectorize(j)
        sch.reverse_compute_at(c, j)
        sch.decompose_reduction(y, k)

    found = find(steps)
    assert (3, "ReverseComputeAt") == (found.number, found.instruction)
    assert (("C",), ("j",)) == (found.blocks, found.loops)
    assert ("lanes", "C", "Y", "j") == (
        found.within,
        found.reader,
        found.writer,
        found.within_loop,
    )
    assert (True, "i") == (found.may_go, found.other_loop)
