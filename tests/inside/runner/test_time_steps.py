"""TimeSteps with real schedules: what is timed, what is not, and what of it can be checked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest
import tvm
from tvm import te, topi

from grader.inside.common.failure import TaskError
from grader.inside.runner.time_steps import Bench, build_steps_ahead, round_seconds, time_steps
from grader.ir.trace import read_trace
from grader.measurement.steps.gather import choose_prefixes
from grader.messages.frames import pack_array, unpack_array, view_array
from grader.messages.timing import StepTimes, TimeSteps
from grader.timing.slices import Plan
from grader.timing.stack import PLACES
from tests.inside.runner import modules
from tests.inside.runner.timed import draw

RING = 4
SIZE = 32

Do = Callable[[Any], None]


@pytest.fixture(scope="module", autouse=True)
def unpinned() -> Iterator[None]:
    """Give this process its processors back, which a measurement confines to the task's."""
    before = os.sched_getaffinity(0)
    yield
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), before)


def product() -> Any:
    """A product of matrices with a bias of its own block."""
    left, right = (te.placeholder((SIZE, SIZE), name=name) for name in ("left", "right"))
    result = topi.nn.relu(topi.matmul(left, right))
    return tvm.IRModule({"product": te.create_prim_func([left, right, result])})


def tiled(schedule: Any) -> None:
    """Steps of all common kinds, on one function."""
    block = schedule.get_sblock("T_matmul", func_name="product")
    cache = schedule.cache_write(block, 0, "global")
    i, j, k = schedule.get_loops(block)
    outer, inner = schedule.split(j, factors=[None, 8])
    schedule.reorder(i, outer, k, inner)
    schedule.reverse_compute_at(cache, outer)
    schedule.vectorize(inner)
    schedule.unroll(schedule.split(k, factors=[None, 4])[1])
    schedule.parallel(i)
    schedule.decompose_reduction(block, schedule.get_loops(block)[2])


def task_of(do: Do, **changes: Any) -> TimeSteps:
    base = product()
    schedule = tvm.s_tir.Schedule(base)
    do(schedule)
    document = json.dumps(schedule.trace.as_json(), default=lambda each: each.value).encode()
    trace = read_trace(document)
    fields: dict[str, Any] = {
        "base": modules.document(base),
        "trace": trace.document,
        "function": "product",
        "ends": tuple(each.end for each in choose_prefixes(trace, ())),
        "names": ("left", "right"),
        "data": pack_array(draw(2 * RING, SIZE, SIZE)),
        "fixed": (pack_array(draw(SIZE, SIZE)),),
        "ring": RING,
        "target": "llvm",
        "cpus": (min(os.sched_getaffinity(0)),),
        "seed": 1,
        "block_seconds": 0.00001,
        "build_seconds": 60.0,
        "budget_seconds": 0.05,
    }
    return TimeSteps(**{**fields, **changes})


@pytest.fixture(scope="module")
def measured() -> tuple[TimeSteps, StepTimes]:
    task = task_of(tiled)
    return task, time_steps(task)


def right(task: TimeSteps, inputs: Any) -> np.ndarray:
    data, fixed = unpack_array(task.data), unpack_array(task.fixed[0])
    return np.maximum(data[np.asarray(inputs)] @ fixed, 0)


class TestResult:
    def test_each_beginning_has_a_fate_and_what_changes_code_is_timed(
        self, measured: tuple[TimeSteps, StepTimes]
    ) -> None:
        """With one thread a parallel loop is a plain one: that step changes nothing."""
        task, answer = measured
        assert len(task.ends) == len(answer.fates)
        assert {"timed", "same"} == {*answer.fates}
        assert answer.fates.count("same") == 1

    def test_every_function_has_a_time_in_every_round(
        self, measured: tuple[TimeSteps, StepTimes]
    ) -> None:
        _, answer = measured
        functions = 2 + answer.fates.count("timed")
        seconds = [view_array(*each.seconds) for each in answer.slices]
        assert {each.shape for each in seconds} == {(functions, seconds[0].shape[1])}
        assert {*range(PLACES)} == {each.place for each in answer.slices}
        assert all(float(each.min()) > 0 for each in seconds)

    def test_what_calls_have_left_can_be_checked(
        self, measured: tuple[TimeSteps, StepTimes]
    ) -> None:
        task, answer = measured
        for each in answer.outputs:
            outputs = view_array(each.outputs)
            np.testing.assert_allclose(outputs, right(task, each.inputs), rtol=1e-3, atol=1e-3)
            inputs, places, values = (
                view_array(one) for one in (each.slots.inputs, each.slots.places, each.slots.values)
            )
            wanted = right(task, inputs).reshape(len(inputs), -1)[range(len(inputs)), places]
            np.testing.assert_allclose(values, wanted, rtol=1e-3, atol=1e-3)


class TestFailed:
    def test_a_beginning_that_cannot_be_made_has_failed_and_is_not_timed(self) -> None:
        task = task_of(tiled)
        instructions, decisions = json.loads(task.trace)
        broken = [["Vectorize", ["l999"], [], []], *instructions]
        ends = (1, *(each + 1 for each in task.ends))
        changed = msgspec.json.encode([broken, decisions])
        answer = time_steps(msgspec.structs.replace(task, trace=changed, ends=ends))
        assert {*answer.fates} == {"failed"}
        assert len(answer.outputs) == 1


class TestCost:
    def test_without_time_to_build_the_last_beginning_is_there_alone_or_none(self) -> None:
        answer = time_steps(task_of(tiled, build_seconds=0.0))
        assert {*answer.fates} <= {"skipped", "same"}

    def test_what_takes_too_long_is_not_measured(self) -> None:
        with pytest.raises(TaskError) as caught:
            time_steps(task_of(tiled, budget_seconds=1e-9))
        assert caught.value.code == "TooLong"

    def test_what_was_built_ahead_is_not_built_again(self, monkeypatch: Any) -> None:
        task = task_of(tiled, seed=7)
        build_steps_ahead(task)
        monkeypatch.setattr("grader.inside.runner.time_steps._build", None)
        assert "timed" in time_steps(task).fates

    def test_a_round_that_was_interrupted_is_not_what_functions_take(self) -> None:
        """A neighbour takes the processor in the first round of all, and in one of another."""
        rounds = iter([[1e-4, 2.0, 1e-4], [2e-4, 1e-4, 3.0], [1e-4, 1e-4, 1e-4]])

        class Interrupted:
            count = 3

            def run(self, function: int, block: int, plan: Plan) -> None: ...

            def seconds(self, blocks: int) -> Any:
                return np.array(next(rounds))

        assert 6e-4 == pytest.approx(round_seconds(cast("Bench", Interrupted()), Plan(1, 1)))


class TestStrangers:
    def test_a_function_that_is_not_there_is_refused(self) -> None:
        with pytest.raises(TaskError):
            time_steps(task_of(tiled, function="other"))
