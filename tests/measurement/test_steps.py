"""Which beginnings of a schedule are timed, and what their times come to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.evidence.case import Replay
from grader.evidence.replay import NO_SCHEDULE
from grader.ir.trace import Trace, read_trace
from grader.language import NOTHING, say
from grader.measurement.points import SpeedOptions
from grader.measurement.steps import advice
from grader.measurement.steps.gather import (
    MeasuredSteps,
    Prefix,
    StepsTask,
    choose_prefixes,
    gather_steps,
    steps_task,
    unproven,
)
from grader.measurement.steps.read import read_steps, without_times
from grader.messages.frames import pack_array
from grader.messages.kernel import StepLine
from grader.messages.runner import TaskFailure
from grader.messages.timing import PREFIX_LIMIT, ShapeResult, Slice, Slots, StepTimes, TimeSteps
from grader.timing.stack import PLACES
from tests import sample_reports
from tests.timing.machine import FREE

BLOCK = ["GetSBlock", [], ["sum", "main"], ["b0"]]
LOOPS = ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]]


def trace(*steps: list[Any]) -> Trace:
    return read_trace(msgspec.json.encode([[BLOCK, LOOPS, *steps], []]))


def step(kind: str, loop: str = "l1") -> list[Any]:
    return [kind, [loop], [], []]


def at(line: int) -> StepLine:
    return StepLine(3, line, f"line {line}")


class TestPrefixes:
    def test_look_ups_samples_and_notes_for_tuning_are_no_steps(self) -> None:
        note = ["Annotate", ["l1", 4], ["meta_schedule.parallel"], []]
        draw = ["SamplePerfectTile", ["l2"], [2, 16], ["v4", "v5"]]
        assert (Prefix(5, ("unroll",)),) == choose_prefixes(trace(note, draw, step("Unroll")), ())

    def test_an_annotation_that_unrolls_is_a_step(self) -> None:
        note = ["Annotate", ["l1", 4], ["pragma_auto_unroll_max_step"], []]
        assert (Prefix(3, ("annotate",)),) == choose_prefixes(trace(note), ())

    def test_steps_of_one_line_are_one(self) -> None:
        steps = trace(step("Vectorize"), step("Vectorize", "l2"), step("Vectorize", "l3"))
        lines = (StepLine(), StepLine(), at(5), at(5), at(6))
        assert (
            Prefix(4, ("vectorize", "vectorize"), (at(5),)),
            Prefix(5, ("vectorize",), (at(6),)),
        ) == choose_prefixes(steps, lines)

    def test_too_many_are_merged_and_nothing_is_lost(self) -> None:
        kinds = ("Unroll", "Vectorize", "Parallel") * 10
        steps = trace(*map(step, kinds))
        found = choose_prefixes(steps, ())
        assert len(found) == PREFIX_LIMIT
        assert found[-1].end == 2 + len(kinds)
        assert [kind for each in found for kind in each.kinds] == [each.lower() for each in kinds]


# --- times ----------------------------------------------------------------------------------------

SIZE = 4
DATA = np.arange(2 * SIZE, dtype="float32").reshape(2, 1, SIZE) + 1


def doubled(_variant: str, data: np.ndarray) -> np.ndarray:
    return data[:, 0] * 2.0


ORACLE: Any = SimpleNamespace(workload=doubled)


def outputs(factor: float = 2.0) -> ShapeResult:
    whole = DATA[:1, 0] * np.float32(factor)
    none = np.zeros(1, "int32")
    slots = Slots(*map(pack_array, (none, none, whole.reshape(-1)[:1])))
    return ShapeResult(pack_array(whole), (0,), slots)


def answer(
    *times: float, fates: tuple[str, ...], wrong: tuple[int, ...] = (), copy: float = 1.0
) -> StepTimes:
    """An answer of a machine that hardly disturbs: times of the base and what was timed."""
    generator = np.random.default_rng(0)
    base, *others = times
    exact = np.array([base, base * copy, *others])[:, np.newaxis]
    slices = [
        Slice(
            number % PLACES,
            (pack_array(exact * np.exp(np.abs(generator.normal(0, 0.001, (len(exact), 8))))),),
            (pack_array(np.full((len(exact), 8), FREE)),),
        )
        for number in range(16)
    ]
    found = [outputs(3.0 if place in wrong else 2.0) for place in range(len(times))]
    return StepTimes(fates, tuple(found), tuple(slices))  # type: ignore[arg-type]


def slices(seconds: np.ndarray, units: np.ndarray | None = None) -> tuple[Slice, ...]:
    """A slice of these times at each place of the stack."""
    seen = pack_array(np.full(seconds.shape, FREE) if units is None else units)
    return tuple(Slice(place, (pack_array(seconds),), (seen,)) for place in range(PLACES))


def at_two_shapes(one: Slice) -> Slice:
    return msgspec.structs.replace(one, seconds=one.seconds * 2, units=one.units * 2)


def asked(*names: str) -> StepsTask:
    task = TimeSteps(
        base=b"",
        trace=b"",
        function="f",
        ends=tuple(range(1, len(names) + 1)),
        names=("data",),
        data=pack_array(DATA),
        fixed=(),
        ring=2,
        target="llvm",
        cpus=(0,),
        seed=0,
        block_seconds=1e-5,
        build_seconds=1.0,
        budget_seconds=1.0,
    )
    return StepsTask(task, tuple(Prefix(end + 1, (name,)) for end, name in enumerate(names)))


def gathered(wanted: StepsTask, found: object) -> MeasuredSteps | None:
    setup: Any = SimpleNamespace(
        machine=SimpleNamespace(choose_cpus=lambda _: (0,)),
        options=SimpleNamespace(threads=1),
        runners=SimpleNamespace(request=lambda *_: found),
    )
    return gather_steps(wanted, setup)


def read(wanted: StepsTask, found: StepTimes) -> Any:
    measured = gathered(wanted, found)
    assert measured is not None
    return read_steps(measured, "any", ORACLE, np.random.default_rng(0))


class TestFactors:
    def test_each_step_is_held_against_the_one_before_it(self) -> None:
        told = read(asked("a", "b"), answer(4.0, 2.0, 2.5, fates=("timed", "timed")))
        assert ["faster", "slower"] == [each.change for each in told.steps]
        assert [each.factor for each in told.steps] == pytest.approx([2.0, 0.8], rel=0.005)
        assert told.speedup == pytest.approx(1.6, rel=0.005)
        assert all(each.low < each.factor < each.high for each in told.steps)

    def test_a_loss_that_a_later_step_makes_up_for_is_none(self) -> None:
        times = answer(4.0, 16.0, 4.0, 5.0, fates=("timed", "timed", "timed"))
        told = read(asked("reorder", "vectorize", "unroll"), times)
        assert ["regained", "faster", "slower"] == [each.change for each in told.steps]
        assert [("unroll",)] == [each.kinds for each in advice.costly(told)]

    def test_a_loss_that_is_made_up_for_in_part_is_one(self) -> None:
        told = read(asked("a", "b"), answer(4.0, 8.0, 5.0, fates=("timed", "timed")))
        assert ["slower", "faster"] == [each.change for each in told.steps]

    def test_no_factor_is_zero(self) -> None:
        """A runner may tell any times: what brought 0.0000 ended the grading with an error."""
        told = read(asked("a", "b"), answer(1.0, 1e5, 0.5, fates=("timed", "timed")))
        assert ["regained", "faster"] == [each.change for each in told.steps]

    def test_a_step_whose_interval_contains_one_is_no_gain_and_no_loss(self) -> None:
        told = read(asked("a"), answer(1.0, 0.997, fates=("timed",)))
        assert told.steps[0].change == "equal"

    def test_what_a_copy_is_off_is_no_gain(self) -> None:
        told = read(asked("a"), answer(1.0, 0.97, fates=("timed",), copy=1.05))
        assert told.steps[0].change == "equal"

    def test_a_beginning_with_a_wrong_output_has_no_factor_and_the_next_has_both(self) -> None:
        times = answer(4.0, 0.1, 2.0, fates=("timed", "timed"), wrong=(1,))
        told = read(asked("a", "b"), times)
        assert [("a",), ("a", "b")] == [each.kinds for each in told.steps]
        assert ["wrong", "faster"] == [each.change for each in told.steps]
        assert told.steps[1].factor == pytest.approx(2.0, rel=0.005)

    def test_a_wrong_function_without_steps_says_nothing(self) -> None:
        told = read(asked("a"), answer(4.0, 2.0, fates=("timed",), wrong=(0,)))
        assert (told.steps, bool(told.reason)) == ((), True)

    def test_what_was_skipped_is_in_the_next_and_what_changes_nothing_is_named(self) -> None:
        fates = ("skipped", "timed", "same", "failed", "timed")
        told = read(asked("a", "b", "c", "d", "e"), answer(4.0, 2.0, 1.0, fates=fates))
        assert [("a", "b"), ("d",), ("d", "e")] == [each.kinds for each in told.steps]
        assert ["faster", "failed", "faster"] == [each.change for each in told.steps]
        assert ("c",) == told.idle


class TestAnswers:
    """A runner's answer is believed as far as it is whole."""

    GOOD = answer(2.0, 1.0, fates=("timed",))

    @pytest.mark.parametrize(
        "change",
        [
            {"fates": ("timed", "timed")},
            {"fates": ("same",)},
            {"outputs": (outputs(),)},
            {"slices": slices(np.ones((3, 2)))[:1]},
            {"slices": slices(np.ones((2, 2)))},
            {"slices": slices(np.zeros((3, 2)))},
            {"slices": slices(np.full((3, 2), np.nan))},
            {"slices": (*slices(np.ones((3, 2))), *slices(np.ones((3, 3))))},
            {"slices": slices(np.ones((3, 2), "float32"))},
            {"slices": slices(np.ones((3, 2)), np.ones((2, 2)))},
            {"slices": tuple(at_two_shapes(each) for each in slices(np.ones((3, 2))))},
        ],
    )
    def test_what_does_not_fit_says_nothing(self, change: Any) -> None:
        assert gathered(asked("a"), self.GOOD) is not None
        assert gathered(asked("a"), msgspec.structs.replace(self.GOOD, **change)) is None

    def test_a_runner_that_failed_says_nothing_and_the_report_says_that(self) -> None:
        assert gathered(asked("a"), TaskFailure("time", "Died", "")) is None
        told = read_steps(None, "any", ORACLE, np.random.default_rng(0))
        assert told is not None
        assert told.reason

    def test_without_a_reason_nothing_is_said(self) -> None:
        assert without_times(NOTHING) is None
        assert without_times(say("it differs")) is not None


class TestAdvice:
    STEPS = sample_reports.STEPS

    def test_what_costs_most_is_to_be_looked_at_first(self) -> None:
        told = advice.look_at(self.STEPS).english
        assert "parallel in code cell 7, line 8, first" in told
        assert "0.87" in told

    def test_nothing_is_said_where_nothing_costs(self) -> None:
        assert not advice.look_at(None)

    def test_losses_and_gains_are_known_by_their_names(self) -> None:
        assert advice.is_costly(self.STEPS, ("parallel",))
        assert not advice.is_costly(self.STEPS, ("vectorize",))
        assert advice.is_gain(self.STEPS, ("vectorize",))
        assert not advice.is_gain(self.STEPS, ("parallel",))


class TestWhatIsAsked:
    """Of a schedule that is proven, where the course wants it; else nothing, or why."""

    def setup_of(self, **options: Any) -> Any:
        return SimpleNamespace(options=SpeedOptions(**options))

    def test_one_that_is_not_proven_says_why(self) -> None:
        replay = Replay(proven=False, steps=3, reason=say("it differs"))
        assert unproven(self.setup_of(), replay).english == "it differs"

    @pytest.mark.parametrize("reason", NO_SCHEDULE)
    def test_what_is_no_schedule_says_nothing(self, reason: Any) -> None:
        assert not unproven(self.setup_of(), Replay(proven=False, steps=3, reason=reason))
        assert not unproven(self.setup_of(), None)

    def test_one_word_switches_it_off(self) -> None:
        setup, generator = self.setup_of(each_step=False), np.random.default_rng(0)
        replay = Replay(proven=False, steps=3, reason=say("it differs"))
        assert not unproven(setup, replay)
        candidate: Any = SimpleNamespace(capture=None)
        assert steps_task(candidate, setup, Replay(proven=True, steps=3), generator) is None
