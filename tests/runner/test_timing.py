"""TimeSchedule: what is measured, and what is refused. No test depends on how fast anything is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm
from tvm import te, topi

from grader.messages import TimeSchedule, pack_array
from grader.runner import timing
from grader.runner.arena import Arena, Arrays, unpack_arrays
from grader.runner.failure import TaskError
from grader.runner.machine import find_target
from grader.runner.timing import Calls, Timed, choose_calls, compile_all, load_workload, measure
from tests.runner import modules

WORKLOAD = (Path(__file__).parents[2] / "assignments/e2e-conv/workload.py").read_text()
RING = 3


def draw(*shape: int) -> np.ndarray:
    generator = np.random.default_rng(sum(shape))
    return generator.standard_normal(shape).astype("float32")


def timing_task(module: object, *, batch: int = 4, **changes: Any) -> TimeSchedule:
    fields: dict[str, Any] = {
        "workload": WORKLOAD,
        "module": modules.document(module),
        "function": "conv2d",
        "data": pack_array(draw(RING, batch, 1, 28, 28)),
        "weight": pack_array(modules.WEIGHT),
        "bias": pack_array(draw(32)),
        "ring": RING,
        "target": "llvm",
        "cpus": (0,),
        "threads": 1,
        "seed": 1,
        "minimum_rounds": 3,
        "maximum_rounds": 5,
        "block_seconds": 0.0005,
        "budget_seconds": 0.0,
    }
    return TimeSchedule(**{**fields, **changes})


def compiled(task: TimeSchedule) -> Timed:
    """Everything up to the measurement, in this process and without pinning it."""
    module = timing.load_module(task.module)
    function = timing.take_function(module, task.function)
    target, _ = find_target(task.target)
    return compile_all(load_workload(task.workload), function, unpack_arrays(task), task, target)


def refusal(module: object, **changes: Any) -> TaskError:
    with pytest.raises(TaskError) as caught:
        compiled(timing_task(module, **changes))
    return caught.value


def fused(*names: str, bias_shape: tuple[int, ...] = (1, 32, 1, 1), batch: int = 4) -> Any:
    """A module whose `conv2d` also does what is named; its parameters are in an unusual order."""
    data = te.placeholder((batch, 1, 28, 28), "float32", name="data")
    weight = te.placeholder((32, 1, 3, 3), "float32", name="weight")
    result, arguments = topi.nn.conv2d(data, weight, 1, 0, 1), [weight, data]
    if "bias" in names:
        bias = te.placeholder(bias_shape, "float32", name="bias")
        arguments.insert(0, bias)
        result = topi.add(result, topi.reshape(bias, (1, 32, 1, 1)))
    if "relu" in names:
        result = topi.nn.relu(result)
    if "tanh" in names:
        result = topi.tanh(result)
    return tvm.IRModule({"conv2d": te.create_prim_func([*arguments, result])})


def parallel_and_wrong(schedule: Any) -> None:
    """Leave the padding in and the convolution as it is."""
    schedule.parallel(schedule.get_loops(schedule.get_sblock("conv2d_nchw"))[0])


@pytest.fixture
def plain() -> Timed:
    return compiled(timing_task(modules.timed_convolution()))


class TestVariant:
    @pytest.mark.parametrize(
        ("names", "variant"),
        [
            ((), "conv2d"),
            (("bias",), "conv2d_bias"),
            (("relu",), "conv2d_relu"),
            (("bias", "relu"), "conv2d_bias_relu"),
        ],
    )
    def test_what_is_fused_is_found_out(self, names: tuple[str, ...], variant: str) -> None:
        assert compiled(timing_task(fused(*names))).variant == variant

    @pytest.mark.parametrize("shape", [(32,), (32, 1, 1), (1, 32, 1, 1)])
    def test_the_bias_may_have_any_shape(self, shape: tuple[int, ...]) -> None:
        assert compiled(timing_task(fused("bias", bias_shape=shape))).variant == "conv2d_bias"

    def test_one_image_is_a_batch_too(self) -> None:
        assert compiled(timing_task(fused(batch=1), batch=1)).variant == "conv2d"

    def test_something_else_is_refused(self) -> None:
        error = refusal(fused("tanh"))
        assert (error.stage, error.error_name) == ("signature", "UnknownWorkload")


class TestSignature:
    def test_a_function_that_is_not_there_is_refused(self) -> None:
        assert refusal(modules.timed_convolution(), function="conv").error_name == "NoFunction"

    def test_other_shapes_are_refused(self) -> None:
        error = refusal(fused(batch=2))
        assert (error.stage, error.error_name) == ("signature", "WrongParameters")

    def test_other_dtypes_are_refused(self) -> None:
        values = te.placeholder((4, 1, 28, 28), "float64", name="data")
        function = te.create_prim_func([values, topi.add(values, values)])
        assert refusal(tvm.IRModule({"conv2d": function})).error_name == "WrongParameters"

    def test_open_shapes_are_refused(self) -> None:
        values = te.placeholder((tvm.tirx.Var("n", "int64"), 1, 28, 28), "float32", name="data")
        function = te.create_prim_func([values, topi.add(values, values)])
        assert refusal(tvm.IRModule({"conv2d": function})).error_name == "WrongParameters"


class TestKernel:
    def test_the_last_call_leaves_the_output_of_its_own_input(self, plain: Timed) -> None:
        outputs = []
        for first in range(RING):
            plain.arena.restore()
            plain.submission(first, 1)
            outputs.append(plain.arena.output())
        plain.arena.restore()
        plain.submission(2, 5)
        assert np.array_equal(plain.arena.output(), outputs[(2 + 5 - 1) % RING])
        assert not np.array_equal(outputs[0], outputs[1])

    def test_all_three_compute_the_same(self, plain: Timed) -> None:
        outputs = []
        for kernel in (plain.baseline, plain.submission, plain.reference):
            plain.arena.restore()
            kernel(1, 1)
            outputs.append(plain.arena.output())
        np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(outputs[0], outputs[2], rtol=1e-5, atol=1e-5)


class FakeClock:
    """A clock that goes on only when a kernel made of it runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[tuple[str, int]] = []

    def blocks(self) -> list[tuple[str, int]]:
        """What ran, without the single calls that come before each block."""
        return self.ran[1::2]

    def kernel(self, name: str, each: float) -> Callable[[int, int], None]:
        def run(_first: int, calls: int) -> None:
            self.now += each * calls
            self.ran.append((name, calls))

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    fake = FakeClock()
    with monkeypatch.context() as patch:
        patch.setattr(timing.time, "perf_counter", lambda: fake.now)
        patch.setattr(timing, "_involuntary_switches", lambda: 0)
        yield fake


def timed(clock: FakeClock, arena: Arena, submission: float) -> Timed:
    return Timed(
        arena,
        clock.kernel("baseline", 20e-6),  # type: ignore[arg-type]
        clock.kernel("submission", submission),  # type: ignore[arg-type]
        clock.kernel("reference", 5e-6),  # type: ignore[arg-type]
        "conv2d",
    )


class TestCalls:
    """How many calls make a block, on a clock that is not disturbed."""

    @pytest.fixture
    def arena(self) -> Arena:
        return Arena(Arrays(draw(RING, 4), draw(2), draw(2)), RING, (), (3,))

    def test_a_block_of_the_baseline_lasts_as_long_as_asked(
        self, clock: FakeClock, arena: Arena
    ) -> None:
        calls = choose_calls(timed(clock, arena, 20e-6), 0.005)
        assert 0.005 <= calls.course * 20e-6 <= 0.006
        assert calls.submission == calls.course

    def test_a_fast_submission_does_not_change_it(self, clock: FakeClock, arena: Arena) -> None:
        fast, slow = (choose_calls(timed(clock, arena, each), 0.005) for each in (1e-6, 1e-4))
        assert fast == slow

    def test_a_very_slow_submission_gets_fewer_calls(self, clock: FakeClock, arena: Arena) -> None:
        calls = choose_calls(timed(clock, arena, 0.009), 0.005)
        assert calls.submission == 5
        assert choose_calls(timed(clock, arena, 7.0), 0.005).submission == 1

    @pytest.mark.parametrize("mean", [1, 2, 5, 6, 7])
    def test_the_last_call_is_never_on_the_input_of_the_first(
        self, clock: FakeClock, arena: Arena, mean: int
    ) -> None:
        task = timing_task(modules.timed_convolution(), maximum_rounds=40, minimum_rounds=40)
        measure(timed(clock, arena, 1e-5), Calls(mean, mean), task)
        counts = clock.blocks()
        assert 120 == len(counts)
        assert all(count >= 1 for _, count in counts)
        assert all(count == 1 or (count - 1) % RING != 0 for _, count in counts)

    def test_a_block_has_at_least_one_call(self) -> None:
        assert 1 == timing._Length(1, timing.FACTORS[0]).calls(RING)

    def test_the_number_of_calls_is_drawn_for_each_round_and_the_same_for_all_three(
        self, clock: FakeClock, arena: Arena
    ) -> None:
        def counts(seed: int) -> list[int]:
            clock.ran.clear()
            task = timing_task(modules.timed_convolution(), seed=seed, minimum_rounds=20)
            task = msgspec.structs.replace(task, maximum_rounds=20)
            measure(timed(clock, arena, 1e-5), Calls(1000, 1000), task)
            each = [count for _, count in clock.blocks()]
            assert 60 == len(each)
            assert each == [count for count in each[::3] for _ in range(3)]
            return each[::3]

        one, least, most = counts(1), *(1000 * factor for factor in timing.FACTORS)
        assert one == counts(1) != counts(2)
        assert least <= min(one) < max(one) <= most + 1
        assert max(one) - min(one) > (most - least) / 2
        assert len(set(one)) > 15

    def test_a_slow_submission_has_its_own_number_that_is_drawn_too(
        self, clock: FakeClock, arena: Arena
    ) -> None:
        task = timing_task(modules.timed_convolution(), minimum_rounds=20, maximum_rounds=20)
        measure(timed(clock, arena, 1e-5), Calls(1000, 100), task)
        counts = [count for name, count in clock.blocks() if name == "submission"]
        assert max(counts) <= 100 * timing.FACTORS[1] + 1
        assert len(set(counts)) > 10

    def test_times_are_seconds_per_call(self, clock: FakeClock, arena: Arena) -> None:
        task = timing_task(modules.timed_convolution())
        rounds, _ = measure(timed(clock, arena, 1e-5), Calls(100, 50), task)
        found = np.array([[each.baseline, each.submission, each.reference] for each in rounds])
        np.testing.assert_allclose(found, [[20e-6, 1e-5, 5e-6]] * len(rounds))

    def test_the_order_differs_from_round_to_round_and_depends_on_the_seed(
        self, clock: FakeClock, arena: Arena
    ) -> None:
        def order(seed: int) -> list[str]:
            clock.ran.clear()
            task = timing_task(modules.timed_convolution(), seed=seed, minimum_rounds=5)
            measure(timed(clock, arena, 1e-5), Calls(100, 100), task)
            return [name for name, _ in clock.blocks()]

        assert order(1) == order(1) != order(2)
        one = order(1)
        assert len({tuple(one[index : index + 3]) for index in range(0, 15, 3)}) > 1

    def test_a_disturbed_block_is_measured_again_but_not_for_ever(
        self, clock: FakeClock, arena: Arena, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counter = iter(range(10**6))
        monkeypatch.setattr(timing, "_involuntary_switches", lambda: next(counter))
        task = timing_task(
            modules.timed_convolution(), minimum_rounds=1, maximum_rounds=1, budget_seconds=1.0
        )
        (only,), _ = measure(timed(clock, arena, 1e-5), Calls(100, 100), task)
        assert only.switches == 3
        counts = [count for _, count in clock.blocks()]
        assert 3 * timing.ATTEMPTS == len(counts)
        assert len(set(counts)) > timing.ATTEMPTS, "a repeated block has another number of calls"


class TestRounds:
    def test_the_budget_ends_the_rounds_but_not_before_the_minimum(self, plain: Timed) -> None:
        task = timing_task(modules.timed_convolution(), budget_seconds=0.0)
        rounds, outputs = measure(plain, Calls(2, 2), task)
        assert len(rounds) == len(outputs) == 3

    def test_the_maximum_ends_the_rounds(self, plain: Timed) -> None:
        task = timing_task(modules.timed_convolution(), budget_seconds=60.0)
        assert len(measure(plain, Calls(2, 2), task)[0]) == 5

    def test_outputs_that_are_kept_have_a_limit(
        self, plain: Timed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(timing, "MOST_OUTPUT_BYTES", 2 * 4 * 4 * 32 * 26 * 26)
        task = timing_task(modules.timed_convolution())
        assert len(measure(plain, Calls(2, 2), task)[0]) == 2

    def test_each_output_belongs_to_the_input_that_is_named(self, plain: Timed) -> None:
        task = timing_task(modules.timed_convolution(), budget_seconds=60.0)
        rounds, outputs = measure(plain, Calls(7, 7), task)
        for each, output in zip(rounds, outputs, strict=True):
            plain.arena.take_turn(each.ring // RING)
            plain.arena.restore()
            plain.baseline(each.ring % RING, 1)
            np.testing.assert_allclose(output, plain.arena.output(), rtol=1e-5, atol=1e-5)

    def test_each_round_has_inputs_of_its_own(self) -> None:
        data = pack_array(draw(RING * 6, 4, 1, 28, 28))
        task = timing_task(modules.timed_convolution(), budget_seconds=60.0, data=data)
        rounds, outputs = measure(compiled(task), Calls(2, 2), task)
        assert [1, 2, 3, 4, 5] == [each.ring // RING for each in rounds]
        assert not any(np.array_equal(outputs[0], output) for output in outputs[1:])

    @pytest.mark.parametrize("place", ["data", "weight"])
    def test_writing_into_an_input_is_a_failure(self, place: str) -> None:
        task = timing_task(modules.MarkingConvolution, function=f"marks_{place}")
        marking = compiled(task)
        with pytest.raises(TaskError) as caught:
            measure(marking, Calls(2, 2), task)
        assert ("run", "InputChanged") == (caught.value.stage, caught.value.error_name)

    def test_skipping_work_that_was_done_shows_in_the_outputs(self) -> None:
        """A function that computes only into poisoned memory gives the answer to an old input."""
        lazy = compiled(timing_task(modules.LazyConvolution))
        rounds, outputs = measure(lazy, Calls(8, 8), timing_task(modules.LazyConvolution))
        lazy.arena.restore()
        lazy.baseline(rounds[0].ring, 1)
        expected = lazy.arena.output()
        assert lazy.variant == "conv2d"
        assert not np.allclose(outputs[0], expected, rtol=1e-3, atol=1e-3)


class TestInputs:
    @pytest.mark.parametrize(
        "changes",
        [
            {"data": pack_array(np.zeros((2, 3), "float64"))},
            {"data": pack_array(np.zeros((0, 3), "float32"))},
            {"data": pack_array(np.zeros(3, "float32"))},
            {"bias": pack_array(np.zeros((1, 32), "float32"))},
            {"data": pack_array(np.zeros((1, 4, 1, 28, 28), "float32"))},
            {"ring": 1},
            {"ring": RING + 1},
        ],
    )
    def test_arrays_of_another_form_are_refused(self, changes: dict[str, Any]) -> None:
        with pytest.raises(TaskError) as caught:
            timing.time_schedule(timing_task(modules.timed_convolution(), **changes))
        assert caught.value.stage == "decode"

    def test_a_workload_that_fails_is_a_failure_of_timing(self) -> None:
        with pytest.raises(TaskError) as caught, timing.stage("time"):
            load_workload("import nothing_of_that_name")
        assert caught.value.stage == "time"
