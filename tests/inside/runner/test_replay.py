"""Replaying a trace: the result is the expected module, another one, or none."""

from __future__ import annotations

import json

import pytest
import tvm
from tvm import s_tir

from grader.inside.runner.entry import perform
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.replay import cut
from grader.messages.frames import encode_frame
from grader.messages.runner import ReplayResult, ReplayTrace, TaskFailure
from tests.evidence import schedules
from tests.ir import modules

BASE = modules.save(schedules.model())


def scheduled() -> s_tir.Schedule:
    schedule = s_tir.Schedule(schedules.model())
    schedules.schedule_topi(schedule)
    return schedule


def replay(trace: bytes, expected: bytes, *others: bytes, base: bytes = BASE) -> ReplayResult:
    answer = perform(ReplayTrace(trace, base, expected, others))
    assert isinstance(answer, ReplayResult)
    return answer


class TestReplay:
    def test_an_honest_schedule_gives_its_module(self):
        made = scheduled()
        assert ReplayResult("equal") == replay(schedules.saved_trace(made), modules.save(made.mod))

    def test_the_function_is_printed_before_and_after(self):
        made = scheduled()
        trace, expected = schedules.saved_trace(made), modules.save(made.mod)
        answer = perform(ReplayTrace(trace, BASE, expected, function="conv2d"))
        assert isinstance(answer, ReplayResult)
        assert "@T.prim_func" in answer.before
        assert "T.vectorized" not in answer.before
        assert "T.vectorized" in answer.after
        assert b"T.vectorized" in encode_frame(answer)  # it is text that a message can carry

    @pytest.mark.parametrize("function", ["", "no_such", "main"])
    def test_what_is_no_scheduled_function_is_not_missed(self, function):
        made = scheduled()
        trace, expected = schedules.saved_trace(made), modules.save(made.mod)
        answer = perform(ReplayTrace(trace, BASE, expected, function=function))
        assert "equal" == answer.outcome
        assert (answer.before == "") == (function != "main")

    def test_a_long_function_is_cut(self):
        assert ("x" * 9 + "…", "x" * 10) == (cut("x" * 11, 10), cut("x" * 10, 10))

    def test_the_same_steps_are_done_on_other_modules(self):
        made = scheduled()
        other = modules.save(schedules.model(batch=16))
        answer = replay(schedules.saved_trace(made), modules.save(made.mod), other, other)
        assert "equal" == answer.outcome
        desired = s_tir.Schedule(schedules.model(batch=16))
        schedules.schedule_topi(desired)
        for document in answer.modules:
            module = tvm.ir.load_json(document.decode())
            tvm.ir.assert_structural_equal(desired.mod["conv2d"], module["conv2d"])

    def test_a_trace_that_fails_on_another_module_gives_nothing_for_it(self):
        made = scheduled()
        other, renamed = (
            modules.save(schedules.model(batch=8, name=name)) for name in ("conv2d", "renamed")
        )
        answer = replay(schedules.saved_trace(made), modules.save(made.mod), renamed, other)
        assert ("equal", b"", True) == (
            answer.outcome, answer.modules[0], bool(answer.modules[1])
        )  # fmt: skip

    def test_another_module_differs_by_the_functions_that_do(self):
        made = scheduled()
        trace = schedules.saved_trace(made)
        assert ReplayResult("differs", ("conv2d",)) == replay(trace, BASE)
        made.parallel(made.get_loops(made.get_sblock("compute", "relu"))[0])
        assert ReplayResult("differs", ("relu",)) == replay(trace, modules.save(made.mod))

    def test_another_main_differs_too(self):
        made = scheduled()
        main = schedules.model("hand_written")["main"]
        made.mod.update_func(made.mod.get_global_var("main"), main)
        assert "differs" == replay(schedules.saved_trace(made), modules.save(made.mod)).outcome

    def test_functions_that_are_only_in_one_module_differ(self):
        made = scheduled()
        trace = schedules.saved_trace(made)
        made.mod["another"] = schedules.model()["relu"].with_attr("global_symbol", "another")
        assert ("another",) == replay(trace, modules.save(made.mod)).functions

    def test_a_trace_that_fails_says_why_in_short(self):
        trace = json.dumps([[["GetSBlock", [], ["nobody", "conv2d"], ["b0"]]], []]).encode()
        answer = replay(trace, BASE)
        assert "fails" == answer.outcome
        assert "Cannot find a block with the specified name" == answer.message

    @pytest.mark.parametrize("damaged", ["base", "expected", "other"])
    def test_a_module_that_cannot_be_loaded_is_a_failure(self, damaged):
        documents = {"base": BASE, "expected": BASE, "other": BASE, damaged: b"{}"}
        others = (documents["other"],)
        answer = perform(ReplayTrace(b"[[],[]]", documents["base"], documents["expected"], others))
        assert isinstance(answer, TaskFailure)
        assert "load" == answer.stage

    def test_a_trace_that_is_no_json_is_a_failure(self):
        answer = perform(ReplayTrace(b"[", BASE, BASE))
        assert isinstance(answer, TaskFailure)
        assert "decode" == answer.stage


def test_a_runner_with_an_evaluator_replays_nothing(evaluator: Evaluator):
    answer = perform(ReplayTrace(b"[[],[]]", BASE, BASE), evaluator)
    assert isinstance(answer, TaskFailure)
    assert "NotHere" == answer.error_name
