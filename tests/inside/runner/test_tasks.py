"""What a runner of each kind does."""

from __future__ import annotations

import numpy as np
import pytest

from grader.inside.runner import entry
from grader.inside.runner.entry import perform
from grader.inside.runner.evaluation import Evaluator
from grader.messages import RunResult, TaskFailure
from tests.inside.runner import modules
from tests.inside.runner.timed import timing_task


class TestPerform:
    def test_a_module_is_run(self) -> None:
        answer = perform(modules.task(modules.TwoOutputs, np.ones((1, 4))))
        assert isinstance(answer, RunResult)

    def test_a_failure_is_an_answer(self) -> None:
        answer = perform(modules.task(b"{", np.ones((1, 4))))
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "load"

    def test_an_error_of_our_own_is_an_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> RunResult:
            raise ZeroDivisionError("oh")

        monkeypatch.setattr(entry, "run_module", fail)
        answer = perform(modules.task(b"", np.ones((1, 4))))
        assert answer == TaskFailure("run", "Raised", "oh", error="ZeroDivisionError")

    def test_a_runner_with_an_evaluator_has_it_call_externs(self, evaluator: Evaluator) -> None:
        task = modules.task(modules.calls_extern("env.f"), np.ones((1, 4)), externs={"env.f": b"x"})
        answer = perform(task, evaluator)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("externs", "UnpicklingError")

    def test_a_runner_without_one_loads_no_student_python(self) -> None:
        task = modules.task(modules.TwoOutputs, np.ones((1, 4)), externs={"env.f": b"x"})
        answer = perform(task)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("externs", "NotHere")

    def test_a_runner_with_an_evaluator_measures_no_time(self, evaluator: Evaluator) -> None:
        answer = perform(timing_task(), evaluator)
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("time", "NotHere")
