"""What a runner of each kind does."""

from __future__ import annotations

import numpy as np
import pytest

from grader.messages import RunResult, TaskFailure
from grader.runner import tasks
from grader.runner.tasks import perform
from tests.runner import modules
from tests.runner.test_timing import timing_task


class TestPerform:
    def test_a_module_is_run(self) -> None:
        answer = perform(modules.task(modules.TwoOutputs, np.ones((1, 4))), "pure")
        assert isinstance(answer, RunResult)

    def test_a_failure_is_an_answer(self) -> None:
        answer = perform(modules.task(b"{", np.ones((1, 4))), "pure")
        assert isinstance(answer, TaskFailure)
        assert answer.stage == "load"

    def test_an_error_of_our_own_is_an_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object) -> RunResult:
            raise ZeroDivisionError("oh")

        monkeypatch.setattr(tasks, "run_module", fail)
        answer = perform(modules.task(b"", np.ones((1, 4))), "pure")
        assert answer == TaskFailure("run", "ZeroDivisionError", "oh")

    def test_a_pure_runner_loads_no_student_python(self) -> None:
        task = modules.task(modules.TwoOutputs, np.ones((1, 4)), externs={"env.f": b"x"})
        answer = perform(task, "pure")
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("externs", "NotHere")

    def test_an_extern_runner_measures_no_time(self) -> None:
        answer = perform(timing_task(modules.timed_convolution()), "extern")
        assert isinstance(answer, TaskFailure)
        assert (answer.stage, answer.error_name) == ("time", "NotHere")
