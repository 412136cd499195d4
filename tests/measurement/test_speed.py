"""Measuring a candidate: what a runner is asked, and what its answers come to."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.errors import ProtocolError
from grader.evidence.case import Candidate, LargerBatch, Problem, Replay, TimedSchedule
from grader.evidence.subject import Subject
from grader.ir.facts import Finding, FunctionFacts
from grader.language import foreign
from grader.measurement import measure as benches
from grader.measurement.measure import (
    MOST_RINGS,
    RING,
    MeasurementSetup,
    measuring_cpus,
    read_slices,
)
from grader.measurement.points import SpeedOptions
from grader.measurement.speed import compare_timed, gather_timing, timing_ahead, timing_to_come
from grader.messages.frames import Array, pack_array, unpack_array
from grader.messages.runner import TaskFailure
from grader.messages.timing import (
    MachineLimits,
    MeasureLimits,
    ShapeResult,
    Slice,
    TimeSchedule,
    TimingResult,
)
from grader.report import Timing
from tests.evidence import factory, products
from tests.evidence.factory import WEIGHT, argument, call, case, convolution, module, update
from tests.timing.machine import NO_SLOTS, free, packed, slots_of, steady

CALL = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
FACTS = module(CALL, functions={"conv2d": convolution(update())})
CANDIDATE: Candidate = case(FACTS).candidate
OPTIONS = SpeedOptions(weight=WEIGHT, threads=2)
LIMITS = MachineLimits(flops=1e12, bytes=1e12)
KEPT = 20


def twice(variant: str, data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """What is right here: the first channel of the images, doubled."""
    assert ("conv2d", WEIGHT, WEIGHT[:1]) == (variant, weight.shape, bias.shape)
    return data[:, :, :1] * 2.0


ORACLE = SimpleNamespace(workload=twice)


def slices_of(shapes: int, *seconds: float, **changes: Any) -> tuple[Slice, ...]:
    """The slices of a quiet machine, as a runner sends them."""
    return packed(steady(*seconds, shapes=shapes, **changes))


class Machine:
    """Answers as a runner on a machine does, with outputs that are `factor` times the inputs.

    Its unscheduled function and the copy of that differ by the factor `off`; `places` are the
    inputs that outputs are computed from, `told` those that it names. `spoil` changes its answers.
    The unscheduled function takes so many `seconds`.
    """

    def __init__(
        self,
        factor: float = 2.0,
        reference: float = 0.2,
        places: Callable[[int], int] = lambda index: index % 4,
        spoil: Callable[[TimingResult], Any] = lambda answer: answer,
        limits: MachineLimits | TaskFailure | ProtocolError = LIMITS,
        seconds: float = 1.0,
        off: float = 1.0,
    ) -> None:
        self.limits, self._seconds, self._off = limits, seconds, off
        self._factor, self._reference = factor, reference
        self._places = self.told = places
        self._spoil = spoil
        self.asked: list[TimeSchedule] = []
        self.measured: list[tuple[int, ...]] = []

    def request(self, kind: str, task: TimeSchedule | MeasureLimits) -> Any:
        if isinstance(task, MeasureLimits):
            assert "pure" == kind
            self.measured.append(task.cpus)
            if isinstance(self.limits, ProtocolError):
                raise self.limits
            return self.limits
        assert "timing" == kind
        self.asked.append(task)
        seconds = [self._seconds * each for each in (1.0, 0.5, self._reference, self._off)]
        answer = TimingResult(
            variant="conv2d",
            target="llvm",
            shapes=tuple(self._outputs(unpack_array(each.data)) for each in task.shapes),
            slices=slices_of(len(task.shapes), *seconds),
        )
        return self._spoil(answer)

    def _outputs(self, data: np.ndarray) -> ShapeResult:
        outputs = [data[self._places(each)][:, :1] * self._factor for each in range(KEPT)]
        told = tuple(self.told(each) for each in range(KEPT))
        stacked = np.stack(outputs).astype(np.float32)
        return ShapeResult(pack_array(stacked), told, slots_of(stacked, told))


NO_MACHINE: tuple[Any, Any] = (None, None)


def first_cpus(count: int) -> tuple[int, ...]:
    return tuple(range(count))


def gather(
    machine: Machine,
    candidate: Candidate = CANDIDATE,
    larger: tuple[LargerBatch, ...] = (),
    choose_cpus: Callable[[int], tuple[int, ...]] = first_cpus,
    place: benches.Machine | None = None,
    **changes: Any,
) -> TimedSchedule | Problem:
    fields: dict[str, Any] = {
        "workload": "text",
        "options": OPTIONS,
        "subject": Subject(WEIGHT, factory.ORACLE),
        "points": 15.0,
        "runners": machine,
        "machine": place or benches.Machine(choose_cpus),
    }
    setup = MeasurementSetup(**{**fields, **changes})
    found = gather_timing(candidate, setup, np.random.default_rng(1), replay(larger))
    return found if isinstance(found, Problem) else compare_timed(found, ORACLE)


def timed(machine: Machine, **changes: Any) -> TimedSchedule:
    evidence = gather(machine, **changes)
    assert isinstance(evidence, TimedSchedule)
    return evidence


def problem(machine: Machine, **changes: Any) -> Problem:
    evidence = gather(machine, **changes)
    assert isinstance(evidence, Problem)
    return evidence


def replay(larger: tuple[LargerBatch, ...]) -> Replay:
    return Replay(proven=True, steps=3, larger=larger)


def larger(**facts: Any) -> LargerBatch:
    function = convolution(update())
    parameters = tuple(
        msgspec.structs.replace(
            each,
            tensor=msgspec.structs.replace(each.tensor, shape=(16, *each.tensor.shape[1:])),
        )
        if each.name == "x"
        else each
        for each in function.parameters
    )
    changed = msgspec.structs.replace(function, parameters=parameters, **facts)
    return LargerBatch(b"larger", "conv2d", changed)


def deciding(name: str, text: str) -> FunctionFacts:
    finding = Finding("content", "kept", name, foreign(text))
    return msgspec.structs.replace(convolution(update()), name=name, decisions=(finding,))


def unguarded(reason: str, code: str = "x") -> FunctionFacts:
    """Return the convolution as one that can not be guarded."""
    finding = Finding(code, "pad", "conv2d", foreign(reason))
    return msgspec.structs.replace(convolution(update()), unguarded=finding)


class TestTask:
    def test_a_quiet_machine_is_asked_once_and_gives_the_ratio(self) -> None:
        machine = Machine()
        evidence = timed(machine)
        assert (1, 2.0, 5.0, True) == (
            len(machine.asked),
            evidence.timing.speedup,
            evidence.timing.reference_speedup,
            evidence.outputs_right,
        )

    def test_it_holds_the_rules_of_the_assignment(self) -> None:
        machine = Machine()
        timed(machine)
        (task,) = machine.asked
        assert ("text", "host", (0, 1)) == (task.workload, task.target, task.cpus)
        assert (4e-5, 1.5) == (task.rules.block_seconds, task.rules.budget_seconds)

    def test_slices_go_on_until_points_are_certain_to_the_grid(self) -> None:
        machine = Machine()
        timed(machine, options=SpeedOptions(weight=WEIGHT, full_at=0.9, grid=0.1), points=20.0)
        timed(machine, options=SpeedOptions(weight=WEIGHT, full_at=0.9, bonus=0.1), points=0.0)
        plain, bonus = (task.rules for task in machine.asked)
        assert (0.9 * 0.1 / 20, 0.9, 2.0) == pytest.approx((plain.resolution, *plain.full))
        assert (0.9, 0.9, 1.1) == pytest.approx((bonus.resolution, *bonus.full))

    def test_many_slices_have_inputs_of_their_own(self) -> None:
        machine = Machine()
        timed(machine)
        (task,) = machine.asked
        inputs = RING * MOST_RINGS
        assert (RING, (inputs, 4, 1, 28, 28)) == (task.ring, task.shapes[0].data.shape)

    def test_inputs_that_are_too_large_are_shared_by_slices(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(benches, "MOST_INPUT_BYTES", 3 * RING * 4 * 4 * 28 * 28)
        machine = Machine()
        timed(machine)
        assert 3 * RING == machine.asked[0].shapes[0].data.shape[0]

    def test_what_will_be_asked_for_is_known_before_with_zeros_in_its_arrays(self) -> None:
        setup = MeasurementSetup(
            "text", OPTIONS, Subject(WEIGHT, factory.ORACLE), 15.0, *NO_MACHINE
        )
        task = timing_to_come(CANDIDATE, setup, replay((larger(),)))
        assert task is not None
        assert [b"{}", b"larger"] == [each.module for each in task.shapes]
        assert not any(unpack_array(each.data).any() for each in task.shapes)

    def test_while_the_notebook_runs_larger_batches_have_the_course_s_own_functions(self) -> None:
        setup = MeasurementSetup(
            "text", OPTIONS, Subject(WEIGHT, factory.ORACLE), 15.0, *NO_MACHINE
        )
        task = timing_ahead(CANDIDATE, setup, (16,))
        assert task is not None
        assert [b"{}", b""] == [each.module for each in task.shapes]
        assert [4, 16] == [each.data.shape[1] for each in task.shapes]

    def test_nothing_is_where_it_would_not_be_timed(self) -> None:
        setup = MeasurementSetup(
            "text", OPTIONS, Subject(WEIGHT, factory.ORACLE), 15.0, *NO_MACHINE
        )
        refused = larger(decisions=(Finding("content", "kept", "t", foreign("It decides.")),))
        assert timing_to_come(CANDIDATE, setup, replay((refused,))) is None

    def test_larger_batches_are_timed_along_with_it(self) -> None:
        machine = Machine()
        evidence = timed(machine, larger=(larger(),))
        (task,) = machine.asked
        assert [b"{}", b"larger"] == [each.module for each in task.shapes]
        assert [4, 16] == [each.data.shape[1] for each in task.shapes]
        assert [4, 16] == [each.batch for each in evidence.timing.shapes]
        assert evidence.outputs_right

    def test_fewer_processors_than_threads_are_noted(self) -> None:
        (note,) = timed(Machine(), choose_cpus=lambda count: (3,)).timing.notes
        assert "Measured with 1 instead of 2 threads: this machine has no more." == note.english
        assert () == timed(Machine()).timing.notes

    def test_processors_are_those_of_this_process(self) -> None:
        assert os.sched_getaffinity(0) == set(measuring_cpus(10**6))
        assert 1 == len(measuring_cpus(1))


class TestGuards:
    def test_one_that_cannot_be_guarded_is_not_timed(self) -> None:
        function = unguarded("It has strides.")
        machine = Machine()
        refused = problem(
            machine, candidate=case(module(CALL, functions={"conv2d": function})).candidate
        )
        assert refused.reason.english.startswith("It has strides. It is not proven")
        assert "leave strides, offsets and alignment to TVM" in refused.hint.english
        assert [] == machine.asked

    def test_nor_is_one_whose_iterations_overlap_and_it_is_not_told_of_buffers(self) -> None:
        machine = Machine()
        functions = {"conv2d": unguarded("Iterations overlap.", "race")}
        refused = problem(machine, candidate=case(module(CALL, functions=functions)).candidate)
        assert ("Iterations overlap.", "not_deterministic") == (
            refused.reason.english,
            refused.code,
        )
        assert [] == machine.asked


class TestRefusals:
    def test_a_function_that_decides_by_contents_is_not_timed(self) -> None:
        text = "The function `conv2d` decides by the contents of `kept` how often it runs."
        facts = module(CALL, functions={"conv2d": deciding("conv2d", text)})
        machine = Machine()
        refused = problem(machine, candidate=case(facts).candidate)
        assert refused.reason.english.startswith(text)
        assert "loop variables only" in refused.hint.english
        assert [] == machine.asked

    def test_nor_is_one_that_does_so_at_a_larger_batch(self) -> None:
        decisions = deciding("conv2d", "It decides.").decisions
        machine = Machine()
        refused = problem(machine, larger=(larger(decisions=decisions),))
        assert refused.reason.english.startswith("It decides.")
        assert [] == machine.asked

    def test_another_function_may_decide_by_contents(self) -> None:
        functions = {
            "conv2d": convolution(update()),
            "look_up": deciding("look_up", "It decides."),
        }
        timed(Machine(), candidate=case(module(CALL, functions=functions)).candidate)

    def test_a_module_without_a_function_for_the_weight(self) -> None:
        machine = Machine()
        problem(machine, candidate=case(module()).candidate)
        assert [] == machine.asked

    def test_a_function_without_images(self) -> None:
        version = larger()
        weight_only = tuple(each for each in version.facts.parameters if each.name != "x")
        blind = msgspec.structs.replace(version.facts, parameters=weight_only)
        machine = Machine()
        refused = problem(machine, larger=(LargerBatch(b"", "conv2d", blind),))
        assert "no argument that could be the images" in refused.reason.english
        assert [] == machine.asked

    def test_what_a_runner_could_not_do_is_told(self) -> None:
        machine = Machine(spoil=lambda _: TaskFailure("run", "InputChanged", "It wrote."))
        assert "wrote into its inputs" in problem(machine).reason.english
        assert 1 == len(machine.asked)


class TestNoise:
    def test_a_machine_on_which_nothing_is_itself_gives_no_grade_and_says_why(self) -> None:
        machine = Machine(off=1.05)
        refused = problem(machine)
        assert "too busy to measure the speed: the unscheduled" in refused.reason.english
        assert "not your fault" in refused.hint.english
        assert 1 == len(machine.asked)

    def test_a_reference_that_is_not_faster_gives_no_grade(self) -> None:
        assert "hardly faster" in problem(Machine(reference=1.0)).reason.english


SLOW = MachineLimits(flops=1e8, bytes=1e8)
"""A machine on which the schedule of these tests would be impossibly fast."""


class TestLimits:
    """What processors can do at most: nothing that a submission has been near says it."""

    def times(self, *limits: MachineLimits | TaskFailure) -> tuple[Machine, list[Timing]]:
        """Measure on one machine as often as limits are given, which it has one after the other;
        return it, and what came of each."""
        machine, place = Machine(seconds=1e-3), benches.Machine(first_cpus)
        found = []
        for machine.limits in limits:
            found.append(timed(machine, place=place).timing)
        return machine, found

    def test_they_are_measured_twice_and_then_the_higher_ones_are_known(self) -> None:
        higher = MachineLimits(flops=2e12, bytes=5e11)
        machine, found = self.times(LIMITS, higher, SLOW, SLOW)
        assert [(0, 1)] * 2 == machine.measured
        assert [1000.0, 2000.0, 2000.0, 2000.0] == [each.peak_gflops for each in found]
        assert [1000.0] * 4 == [each.bandwidth_gbs for each in found]

    def test_those_of_other_processors_are_not_theirs(self) -> None:
        choices = iter([(0, 1), (2, 3)] * 2)
        machine, place = Machine(), benches.Machine(lambda count: next(choices))
        for _ in range(4):
            timed(machine, place=place)
        assert [(0, 1), (2, 3)] * 2 == machine.measured

    def test_where_something_is_faster_they_are_measured_again_and_nothing_else_is(self) -> None:
        machine, found = self.times(SLOW, SLOW, LIMITS, LIMITS)
        assert 4 == len(machine.measured)
        assert 4 == len(machine.asked)
        held = [each.shapes[0].submission_us < each.shapes[0].floor_us for each in found]
        assert [True, True, False, False] == held
        assert 1000.0 == found[-1].peak_gflops

    def test_where_they_cannot_be_measured_again_those_that_are_known_count(self) -> None:
        machine, found = self.times(SLOW, SLOW, TaskFailure("time", "Raised", "no compiler"))
        assert (4, 3) == (len(machine.measured), len(machine.asked))
        assert 0.1 == found[-1].peak_gflops

    def test_what_a_measurement_that_says_nothing_found_counts_as_well(self) -> None:
        """They come from a runner that has no submission."""
        machine, place = Machine(off=1.05), benches.Machine(first_cpus)
        problem(machine, place=place)
        assert LIMITS == place.limits.learn((0, 1), SLOW)

    @pytest.mark.parametrize(
        ("limits", "reason"),
        [
            (TaskFailure("time", "Raised", "no compiler"), "no compiler"),
            (ProtocolError(foreign("no frame")), "no frame"),
        ],
    )
    def test_without_any_nothing_is_timed_and_it_is_tried_again_later(
        self, limits: TaskFailure | ProtocolError, reason: str
    ) -> None:
        machine = Machine(limits=limits)
        refused = problem(machine)
        assert "peak could not be measured: " in refused.reason.english
        assert refused.reason.english.rstrip(".").endswith(reason)
        assert (True, "busy", []) == (refused.again, refused.code, machine.asked)


class TestOutputs:
    def test_wrong_values_in_a_timed_output_are_noticed(self) -> None:
        assert not timed(Machine(factor=2.1)).outputs_right

    def test_wrong_values_at_a_larger_batch_are_noticed(self) -> None:
        def spoil(answer: TimingResult) -> TimingResult:
            first, second = answer.shapes
            zeros = pack_array(np.zeros(second.outputs.shape, np.float32))
            spoilt = msgspec.structs.replace(second, outputs=zeros)
            return msgspec.structs.replace(answer, shapes=(first, spoilt))

        assert not timed(Machine(spoil=spoil), larger=(larger(),)).outputs_right

    def test_an_output_is_compared_with_that_of_its_own_input(self) -> None:
        machine = Machine(places=lambda index: 8 + index)
        assert timed(machine).outputs_right
        machine.told = lambda index: index
        assert not timed(machine).outputs_right

    @pytest.mark.parametrize(
        "change",
        [
            lambda slots: {"values": spoiled(slots.values, np.float32(0.25))},
            lambda slots: {"values": spoiled(slots.values, np.float32("nan"))},
            lambda slots: {"inputs": spoiled(slots.inputs, np.int32(1))},
            lambda slots: {"places": spoiled(slots.places, np.int32(9))},
            lambda slots: {"places": spoiled(slots.places, np.int32(10**9))},
            lambda slots: {"places": spoiled(slots.places, np.int32(-1))},
            lambda slots: {"inputs": spoiled(slots.inputs, np.int32(-1))},
        ],
        ids=[
            "a number",
            "no number",
            "input",
            "place",
            "far away",
            "before the output",
            "no input",
        ],
    )
    def test_one_call_that_left_another_value_is_wrong(self, change: Any) -> None:
        def spoil(answer: TimingResult) -> TimingResult:
            (shape,) = answer.shapes
            slots = msgspec.structs.replace(shape.slots, **change(shape.slots))
            return msgspec.structs.replace(
                answer, shapes=(msgspec.structs.replace(shape, slots=slots),)
            )

        assert not timed(Machine(spoil=spoil)).outputs_right

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_what_is_no_number_is_wrong(self, value: float) -> None:
        assert not timed(Machine(factor=value)).outputs_right

    @pytest.mark.parametrize(
        "result",
        [
            ShapeResult(pack_array(np.zeros((0, 4, 1, 28, 28), np.float32)), (), NO_SLOTS),
            ShapeResult(pack_array(np.zeros((1, 4, 28), np.float32)), (0,), NO_SLOTS),
        ],
        ids=["none", "of another shape"],
    )
    def test_outputs_that_cannot_be_compared_are_wrong(self, result: ShapeResult) -> None:
        def spoil(answer: TimingResult) -> TimingResult:
            return msgspec.structs.replace(answer, shapes=(result,))

        assert not timed(Machine(spoil=spoil)).outputs_right


def one_slice(seconds: np.ndarray = np.ones((4, 10)), units: np.ndarray = free(10)) -> Slice:  # noqa: B008
    """A slice of ten rounds, but for what is given."""
    return Slice(0, (pack_array(seconds),), (pack_array(units),))


def rounds_of_all(slices: Sequence[Slice], rounds: int) -> tuple[Slice, ...]:
    """The same places, with so many rounds."""
    made = one_slice(np.ones((4, rounds)), free(rounds))
    return tuple(msgspec.structs.replace(made, place=each.place) for each in slices)


class TestUnreadable:
    """A runner has run a submission's code: its answer may be anything of the right type."""

    @pytest.mark.parametrize(
        "changes",
        [
            lambda answer: {"shapes": answer.shapes * 2},
            lambda answer: {"slices": (*answer.slices, *slices_of(2))},
            lambda answer: {"slices": answer.slices[:3]},
            lambda answer: {"slices": (*answer.slices, one_slice(np.ones((4, 3)), free(3)))},
            lambda answer: {"slices": (*answer.slices, one_slice(np.zeros((4, 10))))},
            lambda answer: {"slices": (*answer.slices, one_slice(np.ones((4, 10), np.float16)))},
            lambda answer: {"slices": (*answer.slices, one_slice(units=free(9)))},
            lambda answer: {"slices": (*answer.slices, one_slice(units=np.ones((3, 10))))},
            lambda answer: {"slices": (*answer.slices, one_slice(units=0 * free(10)))},
            lambda answer: {"slices": (*answer.slices, one_slice(units=1e300 * free(10)))},
            lambda answer: {"slices": (*answer.slices, one_slice(np.full((4, 10), 5e-324)))},
            lambda answer: {"slices": rounds_of_all(answer.slices, 65)},
            lambda answer: {"shapes": (cut(answer.shapes[0]),)},
            lambda answer: {"shapes": (forget_inputs(answer.shapes[0]),)},
            lambda answer: {"shapes": (ShapeResult(pack_array(np.float32(1)), (0,), NO_SLOTS),)},
            lambda answer: {"shapes": (with_slots(answer.shapes[0], places=(0,)),)},
            lambda answer: {"shapes": (with_slots(answer.shapes[0], values=(0.0,) * KEPT),)},
        ],
        ids=[
            "shapes",
            "shapes of a slice",
            "a place without slices",
            "fewer rounds",
            "no time",
            "times of another type",
            "units of fewer rounds",
            "units of three functions",
            "no units",
            "units without end",
            "times of no ratio",
            "more rounds than are ever taken",
            "outputs cut",
            "inputs not named",
            "a single number",
            "slots without places",
            "slots of another type",
        ],
    )
    def test_an_answer_that_does_not_fit_is_a_problem(self, changes: Any) -> None:
        machine = Machine(spoil=lambda answer: msgspec.structs.replace(answer, **changes(answer)))
        assert "unreadable" in problem(machine).reason.english
        assert 1 == len(machine.asked)

    @pytest.mark.parametrize(("rounds", "fits"), [(32, True), (33, False)])
    def test_shapes_share_the_blocks_of_a_slice(self, rounds: int, fits: bool) -> None:
        """Eight shapes had eight times as many, and the referee estimated for minutes."""
        slices = rounds_of_all(slices_of(1), rounds)
        both = [Slice(each.place, each.seconds * 2, each.units * 2) for each in slices]
        assert fits == (read_slices((), both, 2, 4) is not None)

    def test_an_answer_that_is_no_message_is_a_problem(self) -> None:
        def fail(_: TimingResult) -> None:
            raise ProtocolError(foreign("no"), foreign("no"))

        assert "unreadable" in problem(Machine(spoil=fail)).reason.english


def spoiled(array: Array, value: Any) -> Array:
    """An array whose last item is another one."""
    values = unpack_array(array)
    values[-1] = value
    return pack_array(values)


def with_slots(result: ShapeResult, **changes: Sequence[float]) -> ShapeResult:
    """A result some of whose slots' arrays are others, of integers or of doubles."""
    arrays = {name: pack_array(np.array(each)) for name, each in changes.items()}
    return msgspec.structs.replace(result, slots=msgspec.structs.replace(result.slots, **arrays))


def forget_inputs(result: ShapeResult) -> ShapeResult:
    return msgspec.structs.replace(result, inputs=result.inputs[1:])


def cut(result: ShapeResult) -> ShapeResult:
    outputs = msgspec.structs.replace(result.outputs, data=result.outputs.data[:-1])
    return msgspec.structs.replace(result, outputs=outputs)


class TestComputation:
    """A function that a computation names, in a module without a model."""

    def answer(self, task: TimeSchedule) -> Any:
        (timed,) = task.shapes
        data, (fixed,) = unpack_array(timed.data), map(unpack_array, task.fixed)
        outputs = np.maximum(data[:KEPT] @ fixed, 0)
        inputs = tuple(range(len(outputs)))
        slots = slots_of(outputs, inputs)
        result = ShapeResult(pack_array(outputs.astype(np.float32)), inputs, slots)
        return TimingResult(
            variant="bmm_relu",
            target="llvm",
            shapes=(result,),
            slices=slices_of(1, 1.0, 0.5, 0.2),
        )

    def gather(self, candidate: Candidate) -> tuple[TimedSchedule | Problem, list[TimeSchedule]]:
        asked: list[TimeSchedule] = []

        def request(kind: str, task: TimeSchedule | MeasureLimits) -> Any:
            if isinstance(task, MeasureLimits):
                return LIMITS
            asked.append(task)
            return self.answer(task)

        runners = SimpleNamespace(request=request)
        oracle = SimpleNamespace(workload=lambda variant, a, b: np.maximum(a @ b, 0))
        setup = MeasurementSetup(
            workload="text",
            options=SpeedOptions(operations=256),
            subject=products.SUBJECT,
            points=15.0,
            runners=runners,
            machine=benches.Machine(first_cpus),
        )
        found = gather_timing(candidate, setup, np.random.default_rng(1))
        if isinstance(found, Problem):
            return found, asked
        return compare_timed(found, oracle), asked

    def test_it_is_timed_on_the_computations_arguments(self) -> None:
        evidence, (task,) = self.gather(products.scheduled())
        assert isinstance(evidence, TimedSchedule)
        assert evidence.outputs_right
        (shape,) = task.shapes
        assert (("A", "B"), "bmm_relu") == (task.names, shape.function)
        assert (products.SHAPE, products.SHAPE) == (shape.data.shape[1:], task.fixed[0].shape)

    def test_its_work_is_that_of_the_options(self) -> None:
        evidence, _ = self.gather(products.scheduled())
        assert isinstance(evidence, TimedSchedule)
        (shape,) = evidence.timing.shapes
        items = 16 * 128 * 128
        assert (16, 256 * items, 3 * 4 * items) == (shape.batch, shape.flops, shape.bytes)

    def test_inputs_of_all_rounds_together_have_a_bound(self) -> None:
        _, (task,) = self.gather(products.scheduled())
        assert benches.MOST_INPUT_BYTES == len(task.shapes[0].data.data)

    def test_a_module_without_it_is_not_timed(self) -> None:
        evidence, asked = self.gather(CANDIDATE)
        assert isinstance(evidence, Problem)
        assert "the required arguments" in evidence.reason.english
        assert [] == asked


class TestOptions:
    @pytest.mark.parametrize(
        "options", [{"batches": (8,)}, {"weight": WEIGHT, "operations": 1}], ids=str
    )
    def test_what_does_not_fit_together_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="weight"):
            SpeedOptions(**options)

    def test_a_convolution_multiplies_and_adds_for_each_weight_of_a_channel(self) -> None:
        assert (18, 256) == (
            SpeedOptions(weight=WEIGHT).operations_per_item,
            SpeedOptions(operations=256).operations_per_item,
        )
