"""Finding the step of a schedule from which on another result is computed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm
from tvm import s_tir, te, topi

from grader.inside.common.failure import TaskError
from grader.inside.runner.entry import perform
from grader.inside.runner.find_step import (
    BLOCKS,
    NAME_LENGTH,
    SECONDS,
    STEP_LIMIT,
    conflicts,
    find_step,
)
from grader.messages.frames import decode_payload, encode_frame, pack_array, unpack_array
from grader.messages.runner import (
    FindStep,
    FoundStep,
    RunArgument,
    RunModule,
    TaskFailure,
    TensorSpec,
)
from tests.evidence import schedules
from tests.ir import modules

SIZE = 16


def product() -> Any:
    """Return the ReLU of a product of two matrices, in two blocks."""
    a, b = (te.placeholder((SIZE, SIZE), "float32", name=each) for each in "AB")
    k = te.reduce_axis((0, SIZE), "k")
    y = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="Y")
    c = te.compute((SIZE, SIZE), lambda i, j: te.max(y[i, j], tvm.tirx.const(0, "float32")), "C")
    function = te.create_prim_func([a, b, c]).with_attr("global_symbol", "product")
    return tvm.IRModule({"product": function})


Steps = Callable[[Any, Any, Any], None]


def scheduled(steps: Steps) -> Any:
    """Return the schedule of the product after some steps on its two blocks."""
    schedule = s_tir.Schedule(product())
    blocks = (schedule.get_sblock(name, func_name="product") for name in "YC")
    steps(schedule, *blocks)
    return schedule


def task(schedule: Any, module: Any = None) -> FindStep:
    """Return what a runner is asked of a schedule, and of the module that was handed in."""
    values = np.random.default_rng(1).standard_normal((2, 1, SIZE, SIZE)).astype(np.float32)
    run = RunModule(
        modules.save(product()),
        tuple(RunArgument(pack_array(each)) for each in values),
        "llvm",
        1,
        function="product",
        outputs=(TensorSpec("float32", (SIZE, SIZE)),),
    )
    expected = modules.save(schedule.mod if module is None else module)
    return FindStep(run, schedules.saved_trace(schedule), expected, 2e-5)


def find(steps: Steps) -> FoundStep:
    """Return the step of a schedule that changes the result, as a runner finds it."""
    answer = perform(task(scheduled(steps)))
    assert isinstance(answer, FoundStep), answer
    return answer


def test_a_right_schedule_has_no_such_step() -> None:
    def steps(sch: Any, y: Any, _c: Any) -> None:
        i, j, k = sch.get_loops(y)
        sch.reorder(i, k, j)
        sch.decompose_reduction(y, k)

    assert 0 == find(steps).number


def in_lanes(sch: Any, y: Any, c: Any) -> None:
    """Hand over in a vectorized loop what has room for one number."""
    i, j, k = sch.get_loops(y)
    sch.parallel(i)
    sch.vectorize(j)
    sch.reverse_compute_at(c, j)
    sch.decompose_reduction(y, k)


def test_two_blocks_in_one_vectorized_loop() -> None:
    found = find(in_lanes)
    assert (3, "ReverseComputeAt") == (found.number, found.instruction)
    assert (("C",), ("j",)) == (found.blocks, found.loops)
    assert ("lanes", "C", "Y", "j") == (
        found.within,
        found.reader,
        found.writer,
        found.within_loop,
    )
    assert (True, "i") == (found.may_go, found.other_loop)


def test_the_outputs_of_the_unscheduled_module_are_told() -> None:
    asked = task(scheduled(in_lanes))
    answer = perform(asked)
    assert isinstance(answer, FoundStep), answer
    a, b = (unpack_array(each.array)[0].astype(float) for each in asked.run.arguments)
    np.testing.assert_allclose(unpack_array(answer.outputs)[0], np.maximum(a @ b, 0), atol=1e-4)


def test_the_trace_of_another_module_says_nothing() -> None:
    answer = perform(task(scheduled(in_lanes), product()))
    assert isinstance(answer, FoundStep)
    assert 0 == answer.number


def test_a_trace_of_many_instructions_is_not_looked_at() -> None:
    def steps(sch: Any, y: Any, c: Any) -> None:
        for _ in range(STEP_LIMIT):
            sch.get_loops(y)
        in_lanes(sch, y, c)

    answer = perform(task(scheduled(steps)))
    assert isinstance(answer, TaskFailure)
    assert "TooLong" == answer.error_name


def test_a_search_that_takes_too_long_is_given_up() -> None:
    ticks = itertools.count(0, SECONDS / 2)
    with pytest.raises(TaskError, match="too long"):
        find_step(task(scheduled(in_lanes)), lambda: next(ticks))


def test_what_was_drawn_stays_with_its_instruction_where_a_step_is_left_out() -> None:
    def steps(sch: Any, y: Any, c: Any) -> None:
        _, j, k = sch.get_loops(y)
        sch.vectorize(j)
        sch.reverse_compute_at(c, j)
        sch.split(k, sch.sample_perfect_tile(k, 2, 4, decision=[4, 4]))

    found = find(steps)
    assert ("ReverseComputeAt", True) == (found.instruction, found.may_go)


def test_names_are_cut_to_what_a_message_carries() -> None:
    """TVM has names of any length; an answer with one of 201 characters would be none."""

    def steps(sch: Any, y: Any, c: Any) -> None:
        _, j, _ = sch.get_loops(y)
        sch.vectorize(j)
        sch.reverse_compute_at(c, j)

    asked = task(scheduled(steps))
    for old in (b'"C"', b'"Y"'):
        new = old.replace(b'"', b"").ljust(NAME_LENGTH + 50, b"x")
        run, trace, expected = (
            each.replace(old, b'"' + new + b'"')
            for each in (asked.run.module, asked.trace, asked.expected)
        )
        run = msgspec.structs.replace(asked.run, module=run)
        asked = FindStep(run, trace, expected, asked.tolerance)
    answer = perform(asked)
    assert isinstance(answer, FoundStep), answer
    assert (2, NAME_LENGTH) == (answer.number, len(answer.blocks[0]))
    assert answer == decode_payload(encode_frame(answer)[8:], FoundStep)


def test_a_program_of_many_blocks_is_not_looked_through() -> None:
    """Each would be looked at beside each other one."""
    a = te.placeholder((4,), "float32", name="A")
    stages = [a]
    for number in range(BLOCKS + 1):
        stages.append(topi.add(stages[-1], tvm.tirx.const(number, "float32")))
    function = te.create_prim_func([a, stages[-1]]).with_attr("global_symbol", "many")
    schedule = s_tir.Schedule(tvm.IRModule({"many": function}))
    first, reader, *_ = schedule.get_child_blocks(schedule.get_sblock("root", func_name="many"))
    loop = schedule.get_loops(first)[0]
    schedule.vectorize(loop)
    schedule.reverse_compute_at(reader, loop)
    assert [] == list(conflicts(schedule.mod))
