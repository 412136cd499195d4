"""Errors on their way to the referee."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.inside.common.failure import MESSAGE_LIMIT, TaskError, shorten, stage


class TestShorten:
    @pytest.mark.parametrize(
        ("message", "short"),
        [
            ("plain", "plain"),
            ("two\n   lines", "two lines"),
            ("no /home/me/a.py here", "no a.py here"),
            ("at (/usr/lib/x/y.cc:12)", "at (y.cc:12)"),
            ("[12:34:56] /src/tvm/z.cc:3: Check failed", "z.cc:3: Check failed"),
            ("a/b and 1/2 stay", "a/b and 1/2 stay"),
            ("bad\nStack trace:\n  0: tvm::f()", "bad"),
            ('bad\nTraceback (most recent call last):\n  File "/x/y.py", line 1', "bad"),
            ("\x1b[31mred\x1b[0m", "red"),
            ('  File "/x/y.py", line 1\nthen', "then"),
        ],
    )
    def test_it_leaves_what_a_person_needs(self, message: str, short: str) -> None:
        assert shorten(message) == short

    def test_a_message_that_is_only_a_trace_is_not_emptied(self) -> None:
        assert shorten("Stack trace: here") != ""

    def test_it_is_never_longer_than_the_limit(self) -> None:
        assert len(shorten("x" * 10_000)) == MESSAGE_LIMIT
        assert shorten("x" * 10_000).endswith("…")


class TestStage:
    def test_an_error_gets_the_stage_and_its_name(self) -> None:
        with pytest.raises(TaskError) as caught, stage("build"):
            raise KeyError("no")
        failure = caught.value.as_failure()
        assert (failure.stage, failure.error_name, failure.message) == ("build", "KeyError", "'no'")

    def test_an_inner_stage_wins(self) -> None:
        with pytest.raises(TaskError) as caught, stage("build"), stage("load"):
            raise KeyError("no")
        assert caught.value.stage == "load"

    def test_an_interrupt_is_no_failure_of_the_task(self) -> None:
        with pytest.raises(KeyboardInterrupt), stage("run"):
            raise KeyboardInterrupt

    def test_an_error_in_a_file_of_the_course_names_the_line(self) -> None:
        text = "def reference():\n    return {}['loops']\n"
        workload: dict[str, Callable[[], object]] = {}
        exec(compile(text, "workload.py", "exec"), workload)
        with pytest.raises(TaskError) as caught, stage("time"):
            workload["reference"]()
        assert "workload.py, line 2: 'loops'" == caught.value.as_failure().message
