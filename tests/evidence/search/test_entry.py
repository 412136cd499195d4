"""Trials: schedules are drawn from a space, each different one once, and the fastest is known."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm.script import tirx as T  # noqa: N812

from grader.evidence.search.inside.entry import perform, rank_trials
from grader.evidence.search.messages import (
    DrawnTrials,
    DrawTrials,
    RankTrials,
    TrialTimes,
)
from grader.inside.common.modules import load_module
from grader.inside.runner import entry
from grader.inside.runner.evaluation import Evaluator
from grader.messages.evidence import Examine, Examined
from grader.messages.runner import RunModule, TaskFailure
from tests.evidence import spaces
from tests.evidence.schedules import saved_trace
from tests.ir import modules

BASE = modules.save(spaces.product())


@cache
def trace_of(space: spaces.Space) -> bytes:
    schedule = tvm.s_tir.Schedule(spaces.product(), seed=1)
    space(schedule)
    return saved_trace(schedule)


@cache
def drawn(space: spaces.Space = spaces.tiled, seed: int = 5, trials: int = 12) -> DrawnTrials:
    answer = perform(DrawTrials(trace_of(space), BASE, seed, trials))
    assert isinstance(answer, DrawnTrials)
    return answer


def run_of(threads: int = 1) -> RunModule:
    arranged = spaces.arrangement()
    return RunModule(
        b"", arranged.packed(), "llvm", threads, function="product", outputs=arranged.outputs
    )


def rank(*documents: bytes) -> tuple[float | None, ...]:
    answer = perform(RankTrials(run_of(), documents))
    assert isinstance(answer, TrialTimes)
    return answer.seconds


class TestDrawing:
    def test_each_different_program_is_there_once(self):
        found = drawn()
        assert 0 == found.failed
        assert 1 < len(found.trials) <= 12
        assert len(found.trials) == len({each.module for each in found.trials})

    def test_a_seed_gives_the_same_schedules_and_another_seed_others(self):
        again = perform(DrawTrials(trace_of(spaces.tiled), BASE, 5, 12))
        assert drawn() == again
        assert drawn() != drawn(seed=900)

    def test_what_was_drawn_in_the_notebook_does_not_matter(self):
        instructions, decisions = json.loads(trace_of(spaces.tiled))
        assert decisions
        assert drawn() == perform(DrawTrials(json.dumps([instructions, []]).encode(), BASE, 5, 12))

    def test_the_trace_of_a_trial_gives_its_module(self):
        for each in drawn().trials:
            schedule = tvm.s_tir.Schedule(spaces.product())
            tvm.s_tir.schedule.Trace.apply_json_to_schedule(json.loads(each.trace), schedule)
            assert tvm_ffi.structural_equal(load_module(each.module), schedule.mod)

    def test_draws_that_leave_a_step_impossible_are_counted(self):
        found = drawn(spaces.half_impossible)
        assert 0 < found.failed < 12
        assert 1 == len(found.trials)
        assert "ScheduleError" in found.message

    def test_a_space_of_nothing_else_gives_no_trial(self):
        assert ((), 12) == (drawn(spaces.impossible).trials, drawn(spaces.impossible).failed)

    def test_what_is_left_to_the_postprocessors_is_done(self):
        (text, *_) = (each.module.decode() for each in drawn(spaces.asking).trials)
        function = tvm.ir.load_json(text)["product"].script()
        assert "T.parallel" in function
        assert "_init" in function
        assert "meta_schedule" not in function

    def test_a_tuning_record_is_drawn_from_without_its_own_postprocessing(self):
        record = drawn(spaces.asking).trials[0].trace
        again = perform(DrawTrials(record, BASE, 5, 12))
        assert isinstance(again, DrawnTrials)
        assert (0, drawn(spaces.asking).trials) == (again.failed, again.trials)


class TestRanking:
    def test_a_module_that_does_more_takes_longer(self):
        slow = tvm.s_tir.Schedule(spaces.product())
        block = slow.get_sblock("c", func_name="product")
        slow.reorder(*reversed(slow.get_loops(block)))
        slow.annotate(slow.get_loops(block)[0], "pragma_auto_unroll_max_step", 0)
        again = slow.mod.clone()
        twice = repeated(again, 40)
        fast, longer = rank(BASE, modules.save(twice))
        assert fast is not None and longer is not None
        assert 5 * fast < longer

    def test_what_cannot_be_built_has_no_time(self):
        other = tvm.IRModule({"other": spaces.product()["product"]})
        time, nothing = rank(BASE, modules.save(other))
        assert (True, None) == (time is not None, nothing)

    def test_what_leaves_its_buffers_has_no_time(self):
        time, nothing = rank(BASE, modules.save(tvm.IRModule({"product": wild})))
        assert (True, None) == (time is not None, nothing)

    def test_what_would_be_written_out_for_minutes_is_not_built(self):
        schedule = tvm.s_tir.Schedule(spaces.product())
        for loop in schedule.get_loops(schedule.get_sblock("c", func_name="product")):
            for part in schedule.split(loop, [8, 4]):
                schedule.unroll(part)
        time, nothing = rank(BASE, modules.save(schedule.mod))
        assert (True, None) == (time is not None, nothing)

    def test_what_there_is_no_time_for_is_not_built(self):
        clock = iter([0.0, 1.0, *(100.0 + tick for tick in range(100))])
        answer = rank_trials(RankTrials(run_of(), (BASE, BASE)), lambda: next(clock))
        assert [False, True] == [each is None for each in answer.seconds]


@pytest.mark.parametrize(
    "task", [DrawTrials(b"[[], []]", BASE, 1, 1), RankTrials(run_of(), (BASE,))]
)
def test_beside_student_python_nothing_is_drawn_or_ranked(task: Any):
    asked = Examine.of("search", task)
    assert isinstance(entry.perform(asked), Examined)
    answer = entry.perform(asked, Evaluator.__new__(Evaluator))
    assert isinstance(answer, TaskFailure)
    assert "NotHere" == answer.code


@T.prim_func(s_tir=True)
def wild(
    a: T.Buffer((16, 16), "float32"),
    b: T.Buffer((16, 16), "float32"),
    c: T.Buffer((16, 16), "float32"),
):
    local = T.sblock_alloc_buffer((300,), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            local[vi * 16 + vj] = a[vi, vj] + b[vi, vj]
    for i, j in T.grid(16, 16):
        with T.sblock("wild"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = local[vi * vi // (vi + 1) * 30 + vj]


def repeated(module: Any, times: int) -> Any:
    """Return a module that computes the same, so many times."""
    function = module["product"]
    loop = tvm.tirx.For(
        tvm.tirx.Var("again", "int32"), 0, times, tvm.tirx.ForKind.SERIAL, function.body.block.body
    )
    block = function.body.block
    body = tvm.s_tir.SBlock(
        block.iter_vars,
        block.reads,
        block.writes,
        block.name_hint,
        loop,
        None,
        block.alloc_buffers,
        block.match_buffers,
        block.annotations,
    )
    realize = tvm.s_tir.SBlockRealize([], True, body)
    return tvm.IRModule({"product": function.with_body(realize)})
