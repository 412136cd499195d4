"""The pool of runners: started ahead of need, used once, ended in any case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from grader.errors import DisplacedError, SandboxError
from grader.evidence.runners import Kind, KnownAnswers, RunnerPool, size_of
from grader.language import foreign
from grader.messages.frames import pack_array
from grader.messages.runner import (
    SEARCH_SECONDS,
    FindStep,
    FromRunner,
    ReplayResult,
    ReplayTrace,
    RunArgument,
    RunModule,
    RunResult,
    TaskFailure,
    ToRunner,
    TracedPass,
    TraceModule,
    TraceResult,
)
from grader.messages.timing import TimedFunction, TimeSchedule
from grader.sandbox.room import Stay

ANSWER = TaskFailure("run", "Died", "A fake.")
TASK: Any = None
RUN = RunModule(b"", (RunArgument(pack_array(np.zeros((1, 1), "float32"))),), "llvm", 1)
SHAPE = TimedFunction(b"a module", "f", RUN.arguments[0].array)
RULES: Any = None
TIMED = TimeSchedule("", (SHAPE,), ("data",), (), 1, "llvm", (0,), 1, RULES)
RESULT = RunResult(pack_array(np.zeros((1, 1), "float32")))


class FakeRunner:
    """A runner that notes what is done with it."""

    peak = 0

    def __init__(self, kind: Kind, fails: bool, answer: FromRunner) -> None:
        self.kind = kind
        self.fails = fails
        self.answer = answer
        self.events: list[str] = []
        self.timeouts: list[float] = []
        self.displaced = False
        self.seconds = 0.0

    def request(self, task: object, timeout: float) -> FromRunner:
        self.timeouts.append(timeout)
        self.events.append("request")
        if self.displaced:
            raise DisplacedError(foreign("It was ended for what others took."))
        return self.answer

    def build_ahead(self, task: object) -> None:
        self.events.append("build_ahead")

    def is_building(self) -> bool:
        return self.events == ["build_ahead"]

    def await_built(self, _timeout: float) -> bool:
        self.events.append("await_built")
        return not self.fails

    def await_start(self) -> None:
        self.events.append("await_start")
        if self.fails:
            raise SandboxError(foreign("A runner could not be started."))

    def close(self) -> None:
        self.events.append("close")

    def __enter__(self) -> FakeRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Factory:
    """Starts fakes; those of a kind in `fails` never become ready."""

    def __init__(self, *fails: Kind, answer: FromRunner = ANSWER) -> None:
        self.runners: list[FakeRunner] = []
        self._fails = fails
        self._answer = answer

    def __call__(self, kind: Kind) -> Any:
        self.runners.append(FakeRunner(kind, kind in self._fails, self._answer))
        return self.runners[-1]

    def events(self, kind: Kind) -> list[list[str]]:
        return [runner.events for runner in self.runners if runner.kind == kind]


def test_a_runner_that_was_expected_does_the_task_and_ends() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["pure"])
        assert ANSWER is pool.request("pure", TASK)
    assert [["request", "close"]] == factory.events("pure")


def test_one_that_was_not_expected_is_started_for_the_task() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.request("extern", TASK)
        pool.request("extern", TASK)
    assert [["request", "close"]] * 2 == factory.events("extern")


def test_what_only_explains_is_not_waited_for_long() -> None:
    """A program between two steps may be one that takes an hour to build: no clock of the runner's
    ends that."""
    factory = Factory()
    with RunnerPool(factory, 120) as pool:
        pool.request("pure", RUN)
        pool.request("pure", FindStep(RUN, b"", b"", 0.0))
    assert [[120], [SEARCH_SECONDS]] == [each.timeouts for each in factory.runners]


def test_leaving_ends_those_that_nobody_used() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["pure", "pure", "timing"])
        for kind in ("pure", "timing"):
            pool.request(kind, TASK)
    assert all(runner.events[-1] == "close" for runner in factory.runners)


def test_settling_ends_what_is_not_needed_and_waits_for_the_rest() -> None:
    factory = Factory()
    with RunnerPool(factory, 20) as pool:
        pool.expect(["timing"])
        pool.settle("timing", [])
        assert [["await_start"]] == factory.events("timing")
        pool.expect(["pure"])
        pool.settle("timing", [])
        assert all(events == ["close"] for events in factory.events("pure"))
        pool.request("timing", TASK)
    assert [["await_start", "await_start", "request", "close"]] == factory.events("timing")


def test_a_runner_that_never_becomes_ready_is_said_when_settling() -> None:
    with RunnerPool(Factory("timing"), 20) as pool:
        pool.expect(["timing"])
        with pytest.raises(SandboxError, match="could not be started"):
            pool.settle("timing", [])


class TestBuiltAhead:
    """A runner that has built for a task does it; any other task has another one."""

    MODULE = replace(RUN, module=b"a module")

    def events(self, *tasks: RunModule, answer: FromRunner = RESULT) -> list[list[str]]:
        factory = Factory(answer=answer)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            for task in tasks:
                assert answer is pool.request("pure", task)
        return factory.events("pure")

    def test_it_does_the_task_and_ends(self) -> None:
        inputs = RunArgument(pack_array(np.ones((9, 1), "float32")))
        assert [["build_ahead", "request", "close"]] == self.events(
            replace(self.MODULE, arguments=(inputs,))
        )

    def test_another_module_has_another_one(self) -> None:
        assert [["build_ahead", "close"], ["request", "close"]] == self.events(RUN)

    def test_another_kind_has_another_one(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            pool.request("extern", self.MODULE)
        assert [["request", "close"]] == factory.events("extern")

    @pytest.mark.parametrize("module", [b"a module", b"another"], ids=["the same", "another"])
    def test_the_newest_of_a_part_is_kept(self, module: bytes) -> None:
        """What it was before the module was changed would be built for nothing, beside it."""
        factory = Factory(answer=RESULT)
        newest = replace(RUN, module=module)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            pool.build_ahead("part", "pure", newest)
            assert ["build_ahead", "close"] == factory.runners[0].events
            pool.request("pure", newest)
        assert ["build_ahead", "request", "close"] == factory.runners[1].events

    def test_that_of_another_part_is_kept_beside_it(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            for part in ("part", "other"):
                pool.build_ahead(part, "pure", self.MODULE)
            assert [["build_ahead"]] * 2 == factory.events("pure")
            assert 2 == pool.building()

    def test_what_a_part_is_not_any_more_is_ended(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            for part in ("part", "other"):
                pool.build_ahead(part, "pure", self.MODULE)
            pool.forget("part")
            assert [["build_ahead", "close"], ["build_ahead"]] == factory.events("pure")
            assert 1 == pool.building()

    def test_one_that_was_ended_for_others_says_nothing_another_one_is_asked(self) -> None:
        """It waits while the notebook takes what it may; without it nobody would have been there to
        be ended."""
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            factory.runners[0].displaced = True
            assert RESULT is pool.request("pure", self.MODULE)
        assert 2 == len(factory.runners)

    def test_one_that_is_there_after_the_end_is_ended(self) -> None:
        """Who is interrupted leaves the pool while a runner is started."""
        factory, begun, left = Factory(answer=RESULT), Event(), Event()

        def start(kind: Kind) -> Any:
            begun.set()
            assert left.wait(20)
            return factory(kind)

        pool = RunnerPool(start, 20)
        with ThreadPoolExecutor() as executor:
            building = executor.submit(pool.build_ahead, "part", "pure", self.MODULE)
            assert begun.wait(20)
            leaving = executor.submit(pool.__exit__)
            while not pool._is_over:
                time.sleep(0.001)
            left.set()
            building.result()
            leaving.result()
        assert [["build_ahead", "close"]] == factory.events("pure")

    def test_one_that_has_died_says_nothing_another_one_is_asked(self) -> None:
        """It may have been ended for what it held while the notebook ran."""
        assert [["build_ahead", "request", "close"], ["request", "close"]] == self.events(
            self.MODULE, answer=ANSWER
        )

    def test_one_that_takes_too_long_is_not_waited_for_twice(self) -> None:
        late = TaskFailure("run", "TimeLimit", "A fake.")
        assert [["build_ahead", "request", "close"]] == self.events(self.MODULE, answer=late)

    @pytest.mark.parametrize(("seconds", "runners"), [(19.0, 1), (21.0, 2)])
    def test_what_took_longer_with_its_build_than_it_may_is_done_anew(
        self, seconds: float, runners: int
    ) -> None:
        """A module that builds for 18 of 20 seconds and runs for 3 passed alone, as its build was
        not counted, and failed in a batch."""
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            factory.runners[0].seconds = seconds
            assert RESULT is pool.request("pure", self.MODULE)
        assert runners == len(factory.runners)

    def test_what_is_timed_is_measured_for_as_long_as_the_course_wants(self) -> None:
        """It is compiled ahead in a batch, too, and that beside others who compute."""
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build("part", "timing", TIMED)
            factory.runners[0].seconds = 21.0
            assert RESULT is pool.request("timing", TIMED)
        assert 1 == len(factory.runners)

    def test_what_compiled_for_too_long_while_the_notebook_ran_is_ended(self) -> None:
        """In a batch, where it has no notebook's time for it, it would be ended, too."""
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "timing", TIMED)
            factory.runners[0].seconds = 21.0
            pool.build("part", "timing", TIMED)
            assert "close" == factory.runners[0].events[-1]

    def test_a_failure_is_told_however_long_it_took(self) -> None:
        """What cannot be built was tried twice, and is not tried a third time."""
        refused = TaskFailure("build", "Raised", "A fake.")
        factory = Factory(answer=refused)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            factory.runners[0].seconds = 21.0
            assert refused is pool.request("pure", self.MODULE)
        assert 1 == len(factory.runners)

    def test_what_is_to_be_there_at_once_is_waited_for(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build("part", "timing", self.MODULE)
            assert [["build_ahead", "await_built"]] == factory.events("timing")
            pool.request("timing", self.MODULE)
        assert [["build_ahead", "await_built", "request", "close"]] == factory.events("timing")

    def test_who_has_built_a_part_of_it_builds_the_rest(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "timing", self.MODULE)
            pool.build("part", "timing", self.MODULE)
            assert [["build_ahead", "await_built"] * 2] == factory.events("timing")

    def test_who_has_built_another_module_does_not(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "timing", RUN)
            pool.build("part", "timing", self.MODULE)
            ended, kept = factory.events("timing")
        assert ["build_ahead", "close"] == ended
        assert ["build_ahead", "await_built"] == kept[:2]

    def test_what_takes_too_long_is_ended(self) -> None:
        factory = Factory("timing", answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build("part", "timing", self.MODULE)
            assert [["build_ahead", "await_built", "close"]] == factory.events("timing")

    def test_it_has_room_while_it_builds_and_none_while_it_waits(self) -> None:
        """Who has the turn to time waits for room, too: both would wait for ever."""
        factory, inside = Factory(answer=RESULT), list[list[str]]()

        @contextmanager
        def admit(_kind: Kind) -> Iterator[Stay]:
            yield Stay()
            inside.append([*factory.runners[0].events])

        with RunnerPool(factory, 20, admit) as pool:
            pool.build("part", "timing", self.MODULE)
            assert [["build_ahead", "await_built"]] == inside

    def test_settling_ends_those_that_are_not_needed(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "pure", self.MODULE)
            pool.settle("timing", ["part"])
            assert [["build_ahead", "close"]] == factory.events("pure")

    def test_settling_waits_for_no_part_that_is_not_timed(self) -> None:
        """Whose outputs were not there in time may build for as long once more."""
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "timing", self.MODULE)
            pool.settle("timing", ["other"])
            assert [["build_ahead", "close"]] == factory.events("timing")

    @pytest.mark.parametrize("fails", [(), ("timing",)], ids=["in time", "too late"])
    def test_settling_waits_for_those_that_are_needed(self, fails: tuple[Kind, ...]) -> None:
        """What still compiles would disturb every measurement."""
        factory = Factory(*fails, answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.build_ahead("part", "timing", self.MODULE)
            pool.settle("timing", ["part"])
            last = ["close"] if fails else []
            assert [["build_ahead", "await_built", *last]] == factory.events("timing")

    def test_it_is_one_of_those_that_were_expected(self) -> None:
        factory = Factory(answer=RESULT)
        with RunnerPool(factory, 20) as pool:
            pool.expect(["pure"])
            pool.build_ahead("part", "pure", self.MODULE)
        assert 1 == len(factory.runners)


class TestKnown:
    """What a runner answered once, no runner is asked for again."""

    @staticmethod
    def requests(
        kind: Kind,
        *tasks: ToRunner,
        answer: FromRunner = RESULT,
        limits: tuple[bytes, bytes] = (b"", b""),
    ) -> int:
        """Ask two pools that share what is known for all tasks; return how often one ran."""
        factory, known = Factory(answer=answer), KnownAnswers()
        for within in limits:
            with RunnerPool(factory, 20, known=known, within=within) as pool:
                for task in tasks:
                    assert answer is pool.request(kind, task)
        return len(factory.runners)

    def test_the_same_task_is_done_once(self) -> None:
        assert 1 == self.requests("pure", RUN, RUN)

    def test_another_module_is_another_task(self) -> None:
        assert 2 == self.requests("pure", RUN, replace(RUN, module=b"another"))

    def test_another_input_is_another_task(self) -> None:
        other = RunArgument(pack_array(np.ones((1, 1), "float32")))
        assert 2 == self.requests("pure", RUN, replace(RUN, arguments=(other,)))

    def test_what_calls_externs_is_done_each_time(self) -> None:
        assert 2 == self.requests("extern", RUN)

    def test_what_depends_on_a_clock_is_done_each_time(self) -> None:
        assert 2 == self.requests("pure", FindStep(RUN, b"", b"", 0.0))

    def test_a_failure_is_not_kept(self) -> None:
        assert 2 == self.requests("pure", RUN, answer=ANSWER)

    def test_what_a_failure_ended_early_is_not_kept(self) -> None:
        """It may have been the machine's, and whoever handed in the same would be told of it."""
        trace = TraceModule(RUN)
        assert 1 == self.requests("pure", trace, answer=TraceResult((TracedPass(()),)))
        assert 2 == self.requests("pure", trace, answer=TraceResult((TracedPass((), ANSWER),)))

    def test_within_other_limits_a_task_is_another_one(self) -> None:
        """What has run for 15 seconds where 20 are allowed, is ended where 10 are."""
        assert 1 == self.requests("pure", RUN, limits=(b"20", b"20"))
        assert 2 == self.requests("pure", RUN, limits=(b"20", b"10"))

    def test_what_is_drawn_is_drawn_each_time(self) -> None:
        """A trace may leave open what it draws: one lucky draw would be everybody's."""
        drawn = b'[[["SamplePerfectTile", ["l0"], [2, 16], ["v1", "v2"]]], []]'
        answer = ReplayResult("equal")
        assert 2 == self.requests("pure", ReplayTrace(drawn, b"", b""), answer=answer)
        assert 1 == self.requests("pure", ReplayTrace(b"[[], []]", b"", b""), answer=answer)

    def test_an_answer_that_takes_more_than_there_is_drives_nobody_out(self) -> None:
        known = KnownAnswers(2 * size_of(RESULT))
        known.learn(b"one", RESULT)
        known.learn(b"large", RunResult(pack_array(np.zeros(1000, "float32"))))
        assert [RESULT, None] == [known.find(each) for each in (b"one", b"large")]

    def test_what_takes_memory_is_counted_and_not_what_is_sent(self) -> None:
        """Names of one letter are fifty bytes each, and two on their way."""
        names = RunResult(RESULT.outputs, tuple(chr(0x100 + n) for n in range(4096)))
        assert size_of(names) > 4096 * 50
        assert size_of({chr(0x100 + n): n for n in range(4096)}) > 4096 * 50

    def test_the_answer_that_was_asked_for_least_lately_makes_room(self) -> None:
        known = KnownAnswers(2 * size_of(RESULT))
        for digest in (b"one", b"two"):
            known.learn(digest, RESULT)
        assert known.find(b"one") is RESULT
        known.learn(b"three", RESULT)
        assert [RESULT, None, RESULT] == [known.find(each) for each in (b"one", b"two", b"three")]
