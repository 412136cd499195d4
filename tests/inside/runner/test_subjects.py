"""What is timed: functions told apart, compiled, and given fresh arrays for each slice."""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, topi

from grader.inside.common.failure import TaskError
from grader.inside.common.machine import find_target
from grader.inside.common.modules import load_workload
from grader.inside.common.timed import as_timed
from grader.inside.runner import arena as arenas
from grader.inside.runner import subjects
from grader.inside.runner.arena import ArenaSlots
from grader.inside.runner.subjects import Subjects, TimedOutputs
from grader.messages.frames import pack_array, unpack_array
from grader.messages.runner import Violation
from grader.messages.timing import TimedFunction
from grader.timing.slices import BASELINE, CONTROL, FUNCTIONS, REFERENCE, SUBMISSION, Plan
from tests.inside.runner import modules
from tests.inside.runner.timed import (
    OUTPUT,
    RING,
    convolved,
    draw,
    function,
    fused,
    prepared,
    timing_task,
)


def prepare(module: object, **changes: Any) -> Subjects:
    return prepared(timing_task(function(module, **changes)))


def refusal(module: object, **changes: Any) -> TaskError:
    with pytest.raises(TaskError) as caught:
        prepare(module, **changes)
    return caught.value


@pytest.fixture(scope="module")
def plain() -> Subjects:
    """The unscheduled convolution, for tests that keep none of its outputs."""
    return prepare(modules.timed_convolution())


@pytest.fixture(scope="module")
def kept() -> Subjects:
    """The unscheduled convolution, for tests that keep what it leaves."""
    return prepare(modules.timed_convolution())


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
        assert variant == prepare(fused(*names)).variant

    @pytest.mark.parametrize("shape", [(32,), (32, 1, 1), (1, 32, 1, 1)])
    def test_the_bias_may_have_any_shape(self, shape: tuple[int, ...]) -> None:
        assert "conv2d_bias" == prepare(fused("bias", bias_shape=shape)).variant

    @pytest.mark.parametrize("batch", [1, 7])
    def test_any_batch_is_a_shape_of_its_own(self, batch: int) -> None:
        shape = prepare(fused(batch=batch), batch=batch)
        assert ("conv2d", (batch, 32, 26, 26)) == (shape.variant, shape.arena.shapes["output"])

    def test_something_else_is_refused(self) -> None:
        error = refusal(fused("tanh"))
        assert ("signature", "UnknownWorkload") == (error.stage, error.error_name)


class TestSignature:
    def test_a_function_that_is_not_there_is_refused(self) -> None:
        assert "NoFunction" == refusal(modules.timed_convolution(), name="conv").error_name

    def test_other_shapes_are_refused(self) -> None:
        error = refusal(fused(batch=2))
        assert ("signature", "WrongParameters") == (error.stage, error.error_name)

    def test_other_dtypes_are_refused(self) -> None:
        values = te.placeholder((4, 1, 28, 28), "float64", name="data")
        changed = te.create_prim_func([values, topi.add(values, values)])
        assert "WrongParameters" == refusal(tvm.IRModule({"conv2d": changed})).error_name

    def test_open_shapes_are_refused(self) -> None:
        values = te.placeholder((tvm.tirx.Var("n", "int64"), 1, 28, 28), "float32", name="data")
        changed = te.create_prim_func([values, topi.add(values, values)])
        assert "WrongParameters" == refusal(tvm.IRModule({"conv2d": changed})).error_name

    def test_a_module_that_cannot_be_loaded_is_refused(self) -> None:
        shape = TimedFunction(b"{}", "conv2d", pack_array(draw(RING, 4, 1, 28, 28)))
        with pytest.raises(TaskError) as caught:
            prepared(timing_task(shape))
        assert "load" == caught.value.stage

    @pytest.mark.parametrize(
        "changes",
        [
            {"data": np.zeros((2, 3), "float64")},
            {"data": np.zeros((0, 3), "float32")},
            {"data": np.zeros(3, "float32")},
            {"data": np.zeros((1, 4, 1, 28, 28), "float32")},
            {"fixed": (np.zeros((0, 3), "float32"),) * 2},
            {"fixed": ()},
            {"names": ("data", "weight")},
            {"names": ("data", "weight", "data")},
            {"names": ("data", "weight", "output")},
            {"ring": 1},
            {"ring": RING + 1},
        ],
    )
    def test_arrays_of_another_form_are_refused(self, changes: dict[str, Any]) -> None:
        data = changes.get("data", draw(RING, 4, 1, 28, 28))
        document = modules.document(modules.timed_convolution())
        shape = TimedFunction(document, "conv2d", pack_array(data))
        others = {name: value for name, value in changes.items() if name != "data"}
        if "fixed" in others:
            others["fixed"] = tuple(map(pack_array, others["fixed"]))
        with pytest.raises(TaskError) as caught:
            prepared(timing_task(shape, **others))
        assert "decode" == caught.value.stage

    def test_arrays_that_the_workload_does_not_take_are_refused(self) -> None:
        document = modules.document(modules.timed_convolution())
        shape = TimedFunction(document, "conv2d", pack_array(draw(RING, 4, 1, 28, 28)))
        integers = pack_array(np.zeros((2, 3), "int32"))
        with pytest.raises(TaskError) as caught:
            prepared(timing_task(shape, fixed=(integers, integers)))
        assert "time" == caught.value.stage


def outputs_of(shape: Subjects, which: int, calls: int) -> np.ndarray:
    """Begin a slice with so many calls of a function; return the output of the last."""
    shape.begin(0, 0)
    shape.run(which, 0, Plan(0, calls))
    return shape.arena.output()


class TestSubjects:
    @pytest.mark.parametrize("which", range(FUNCTIONS))
    def test_all_four_compute_the_same(self, plain: Subjects, which: int) -> None:
        expected = convolved(draw(RING, 4, 1, 28, 28))
        np.testing.assert_allclose(expected[1], outputs_of(plain, which, 2), rtol=1e-4, atol=1e-4)

    def test_the_control_is_a_function_of_its_own(self, plain: Subjects) -> None:
        assert plain._kernels[CONTROL] is not plain._kernels[BASELINE]

    def test_each_call_takes_the_input_after_that_of_the_call_before(self, plain: Subjects) -> None:
        """Whichever function that was of: nobody finds the answer in the output."""
        expected = convolved(draw(RING, 4, 1, 28, 28))
        plain.begin(0, 0)
        for number, which in enumerate((BASELINE, REFERENCE, SUBMISSION, SUBMISSION, CONTROL)):
            plain.run(which, 0, Plan(1, 1))
            last = (2 * number + 1) % RING
            np.testing.assert_allclose(expected[last], plain.arena.output(), rtol=1e-4, atol=1e-4)

    def test_before_a_slice_inputs_are_fresh_and_the_output_is_poisoned(
        self, plain: Subjects
    ) -> None:
        for array in plain.arena.arrays.values():
            array[...] = 7
        plain.begin(1, 0)
        assert plain.arena.is_untouched()
        assert np.isnan(plain.arena.output()).all()

    def test_calls_before_the_clock_is_read_are_calls_as_well(self, plain: Subjects) -> None:
        plain.begin(0, 0)
        plain.run(SUBMISSION, 0, Plan(2, 5))
        assert 7 == plain.arena.ledger.calls

    def test_the_clock_says_how_long_each_block_took(self, plain: Subjects) -> None:
        plain.begin(0, 0)
        plain.run(BASELINE, 0, Plan(1, 50))
        plain.run(BASELINE, 1, Plan(1, 1))
        many, one = plain.seconds(2)
        assert 1e-7 < one < many < 10

    def test_all_work_where_the_arrays_lie_now(self) -> None:
        shape = prepare(modules.timed_convolution(), rings=2)
        expected = convolved(draw(2 * RING, 4, 1, 28, 28))[RING]
        for which in range(FUNCTIONS):
            shape.begin(1, which)
            shape.run(which, 0, Plan(0, 1))
            np.testing.assert_allclose(expected, shape.arena.output(), rtol=1e-4, atol=1e-4)

    def test_an_output_is_kept_with_the_number_of_its_input(self) -> None:
        plain = prepare(modules.timed_convolution())
        output = outputs_of(plain, SUBMISSION, 2)
        plain.keep()
        result = plain.outputs.result()
        assert ((1,), (1, *OUTPUT)) == (result.inputs, result.outputs.shape)
        np.testing.assert_array_equal(output, unpack_array(result.outputs)[0])

    def test_in_a_later_turn_it_is_the_number_among_all_inputs(self) -> None:
        shape = prepare(modules.timed_convolution(), rings=3)
        shape.begin(2, 0)
        shape.run(SUBMISSION, 0, Plan(1, 1))
        shape.keep()
        assert (2 * RING + 1,) == shape.outputs.result().inputs

    @pytest.mark.parametrize("place", ["data", "weight"])
    def test_writing_into_an_input_is_a_failure(self, place: str) -> None:
        marking = prepare(modules.MarkingConvolution, name=f"marks_{place}")
        outputs_of(marking, SUBMISSION, 2)
        with pytest.raises(TaskError) as caught:
            marking.finish()
        assert ("run", "InputChanged") == (caught.value.stage, caught.value.error_name)

    def test_skipping_work_that_was_done_shows_in_the_output(self) -> None:
        """A function that computes only into poisoned memory gives the answer to an old input."""
        lazy = prepare(modules.LazyConvolution)
        output = outputs_of(lazy, SUBMISSION, 8)
        expected = convolved(draw(RING, 4, 1, 28, 28))
        assert "conv2d" == lazy.variant
        stale = np.isclose(expected[0], output, rtol=1e-4, atol=1e-4)
        assert stale.size - stale.sum() <= 8  # each call finds one number that is not its own
        assert not np.allclose(expected[(8 - 1) % RING], output, rtol=1e-3, atol=1e-3)

    def test_skipping_what_the_baseline_has_done_shows_in_its_calls(self) -> None:
        """The output is right before the function is called, but for another input."""
        lazy = prepare(modules.LazyConvolution)
        lazy.begin(0, 0)
        for block in range(10):
            lazy.run(BASELINE, block, Plan(1, 3))
            lazy.run(SUBMISSION, block, Plan(1, 3))
        lazy.finish()
        slots = lazy.outputs.result().slots
        inputs, places, values = map(unpack_array, (slots.inputs, slots.places, slots.values))
        expected = convolved(draw(RING, 4, 1, 28, 28)).reshape(RING, -1)
        right = np.isclose(expected[inputs, places], values, rtol=1e-3, atol=1e-4)
        assert right.sum() < 4


class TestLayers:
    """What holds a wild function, each by itself: what the referee proves of it is no part here."""

    def test_one_guarded_call_comes_before_anything_is_measured(self) -> None:
        with pytest.raises(TaskError) as caught:
            prepare(modules.StrayConvolution)
        assert Violation("index", "main", "local", 8, 8) == caught.value.violation

    def test_every_call_leaves_the_value_of_its_own_input(self, kept: Subjects) -> None:
        inputs, places, values = slots_of(kept, calls=8)
        expected = convolved(draw(RING, 4, 1, 28, 28)).reshape(RING, -1)
        assert [each % RING for each in range(8)] == inputs.tolist()
        np.testing.assert_allclose(expected[inputs, places], values, rtol=1e-4, atol=1e-4)

    def test_a_call_that_was_skipped_leaves_another_value(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Should a guard ever miss that it counts its calls."""
        monkeypatch.setattr(subjects, "call_guarded", lambda *_: None)
        skipping = prepared(timing_task(function(modules.SkippingConvolution)))
        inputs, places, values = slots_of(skipping, calls=8)
        expected = convolved(draw(RING, 4, 1, 28, 28)).reshape(RING, -1)
        right = np.isclose(expected[inputs, places], values, rtol=1e-3, atol=1e-4)
        assert [True, True, False, True, True, True, True, True] == right.tolist()
        np.testing.assert_allclose(
            expected[7 % RING], skipping.arena.output().reshape(-1), rtol=1e-4, atol=1e-4
        )

    @pytest.mark.parametrize("count", [7, 9, -1])
    def test_calls_that_were_not_counted_are_missed(self, plain: Subjects, count: int) -> None:
        outputs_of(plain, SUBMISSION, 8)
        plain.arena.ledger.arrays[0][0] = count
        with pytest.raises(TaskError) as caught:
            plain.finish()
        assert ("run", "Disturbed") == (caught.value.stage, caught.value.error_name)

    def test_what_was_written_beside_an_array_is_noticed(self, plain: Subjects) -> None:
        outputs_of(plain, SUBMISSION, 8)
        output = plain.arena.arrays[arenas.OUTPUT]
        before = ctypes.c_char.from_address(output.ctypes.data - 1)
        (kept, before.value) = (before.value, b"!")
        try:
            with pytest.raises(TaskError) as caught:
                plain.finish()
        finally:
            before.value = kept
        assert "Disturbed" == caught.value.error_name

    def test_slices_of_many_calls_are_looked_at_in_part(
        self, kept: Subjects, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(subjects, "SLOTS_OF_A_SLICE", 5)
        assert 5 == len(slots_of(kept, calls=20)[0])


def slots_of(shape: Subjects, calls: int) -> list[np.ndarray]:
    """Take one block of the submission; return the slots that it adds to the result."""
    before = len(unpack_array(shape.outputs.result().slots.inputs))
    outputs_of(shape, SUBMISSION, calls)
    shape.finish()
    slots = shape.outputs.result().slots
    return [unpack_array(each)[before:] for each in (slots.inputs, slots.places, slots.values)]


class Reader:
    """An output that counts how often it is read; it holds the number of its input."""

    def __init__(self) -> None:
        self.read = 0

    def offer(self, outputs: TimedOutputs, which: int) -> None:
        def read() -> np.ndarray:
            self.read += 1
            return np.full((2, 3), which, np.float32)

        def slots(calls: np.ndarray) -> ArenaSlots:
            return ArenaSlots(calls, np.zeros_like(calls), np.full(len(calls), which, np.float32))

        ledger = SimpleNamespace(read=slots)
        arena: Any = SimpleNamespace(start=which, ring=1, output=read, ledger=ledger)
        outputs.offer_whole(arena, 0)
        outputs.offer_calls(arena, np.zeros(1, np.int32))


def offered(count: int, seed: int = 0) -> tuple[TimedOutputs, Reader]:
    outputs, reader = TimedOutputs((2, 3), np.random.default_rng(seed)), Reader()
    for which in range(count):
        reader.offer(outputs, which)
    return outputs, reader


class TestOutputs:
    @pytest.fixture
    def room_for_four(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subjects, "MOST_OUTPUT_BYTES", 4 * 2 * 3 * 4 + 23)

    def test_all_are_kept_while_there_is_room(self) -> None:
        result = offered(50)[0].result()
        assert tuple(range(50)) == result.inputs
        assert list(range(50)) == unpack_array(result.outputs)[:, 0, 0].tolist()

    def test_none_is_an_array_of_none(self) -> None:
        result = offered(0)[0].result()
        assert ((), (0, 2, 3)) == (result.inputs, result.outputs.shape)

    @pytest.mark.usefixtures("room_for_four")
    def test_no_more_are_kept_than_there_is_room_for_and_each_with_its_input(self) -> None:
        result = offered(100)[0].result()
        assert 4 == len(set(result.inputs))
        assert list(result.inputs) == unpack_array(result.outputs)[:, 0, 0].tolist()

    @pytest.mark.usefixtures("room_for_four")
    def test_each_has_the_same_chance(self) -> None:
        counts = Counter(
            which for seed in range(1500) for which in offered(12, seed)[0].result().inputs
        )
        assert 12 == len(counts)
        assert all(430 < count < 570 for count in counts.values())  # 500 each, to 4 deviations

    def test_no_more_slots_are_kept_than_there_is_room_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(subjects, "MOST_SLOTS", 3 * subjects.SLOTS_OF_A_SLICE)
        slots = offered(50)[0].result().slots
        inputs, places, values = (
            unpack_array(each) for each in (slots.inputs, slots.places, slots.values)
        )
        assert 3 == len(set(inputs.tolist()))
        assert inputs.tolist() == values.tolist()
        assert [0, 0, 0] == places.tolist()

    @pytest.mark.usefixtures("room_for_four")
    def test_an_output_that_is_not_kept_is_not_copied(self) -> None:
        assert offered(400)[1].read < 60

    def test_there_is_room_for_one_however_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subjects, "MOST_OUTPUT_BYTES", 1)
        assert 1 == len(offered(9)[0].result().inputs)


class TestNamedArrays:
    """Any function of arrays is timed likewise: here a product of matrices of one shape."""

    WORKLOAD = """
import tvm
from tvm import te

VARIANTS = {"product": ("A", "B"), "scaled": ("A", "B", "scale")}

def baseline(variant, shapes):
    arguments = [te.placeholder(shapes[name], "float32", name=name) for name in VARIANTS[variant]]
    a, b, *scale = arguments
    k = te.reduce_axis((0, 4), name="k")
    result = te.compute((4, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    if scale:
        place = [0] * len(scale[0].shape)
        result = te.compute((4, 4), lambda i, j: result[i, j] * scale[0](*place), name="D")
    return tvm.IRModule({"main": te.create_prim_func([*arguments, result])})

def reference(variant, shapes, threads):
    return baseline(variant, shapes)
"""
    A, B = draw(RING, 4, 4), draw(1, 4, 4)[0]

    def prepare(self, variant: str = "product", order: str = "AB", **shapes: Any) -> Subjects:
        workload = load_workload(self.WORKLOAD)
        known = {"A": (4, 4), "B": (4, 4), "scale": (1,), **shapes}
        function = workload.baseline(variant, known)["main"]
        if order == "BA":
            a, b, *rest = function.params
            function = tvm.tirx.PrimFunc([b, a, *rest], function.body)
        module = tvm.IRModule({"mine": function.with_attr("global_symbol", "mine")})
        shape = TimedFunction(modules.document(module), "mine", pack_array(self.A))
        fixed = (pack_array(self.B), pack_array(np.full(1, 3, np.float32)))
        task = timing_task(shape, names=("A", "B", "scale"), fixed=fixed, workload=self.WORKLOAD)
        return prepared(task, self.WORKLOAD)

    def test_a_workload_that_makes_no_module_is_named(self) -> None:
        """TVM says of a PrimFunc's item: Cannot automatically inference the type."""
        alone = self.WORKLOAD.replace('tvm.IRModule({"main": ', "(").replace(
            "result])})", "result]))"
        )
        assert alone != self.WORKLOAD
        module = load_workload(self.WORKLOAD).baseline("product", {"A": (4, 4), "B": (4, 4)})
        shape = TimedFunction(modules.document(module), "main", pack_array(self.A))
        task = timing_task(shape, names=("A", "B"), fixed=(pack_array(self.B),))
        with pytest.raises(
            (TypeError, TaskError), match="return an IRModule with a function `main`"
        ):
            prepared(task, alone)

    def test_arrays_of_one_shape_are_told_apart_by_their_order(self) -> None:
        shape = self.prepare()
        for which in range(FUNCTIONS):
            output = outputs_of(shape, which, 3)
            np.testing.assert_allclose(self.A[2] @ self.B, output, rtol=1e-4)

    def test_a_function_that_takes_them_the_other_way_round_is_another_one(self) -> None:
        with pytest.raises(TaskError) as caught:
            self.prepare(order="BA")
        assert "UnknownWorkload" == caught.value.error_name

    @pytest.mark.parametrize("scale", [(1,), (1, 1, 1)])
    def test_the_arrays_that_it_takes_decide_which_variants_it_may_be(
        self, scale: tuple[int, ...]
    ) -> None:
        shape = self.prepare("scaled", scale=scale)
        assert ("scaled", scale) == (shape.variant, shape.arena.shapes["scale"])

    def test_a_change_of_a_fixed_array_is_noticed(self) -> None:
        shape = self.prepare()
        shape.arena.arrays["B"][0, 0] = 7
        with pytest.raises(TaskError) as caught:
            shape.finish()
        assert "InputChanged" == caught.value.error_name

    def test_a_function_of_arrays_that_no_variant_takes_is_refused(self) -> None:
        only = self.WORKLOAD.replace('"product": ("A", "B"), ', "")
        module = load_workload(self.WORKLOAD).baseline("product", {"A": (4, 4), "B": (4, 4)})
        shape = TimedFunction(modules.document(module), "main", pack_array(self.A))
        fixed = (pack_array(self.B), pack_array(np.ones(1, np.float32)))
        task = timing_task(shape, names=("A", "B", "scale"), fixed=fixed)
        with pytest.raises(TaskError) as caught:
            prepared(task, only)
        assert "it should take A, B, scale, output" in caught.value.message


class TestOneThread:
    """A loop that is marked parallel means no other work than a plain one, and costs no more."""

    def marked(self) -> tvm.tirx.PrimFunc:
        schedule = tvm.s_tir.Schedule(modules.timed_convolution())
        block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
        schedule.parallel(schedule.get_loops(block)[0])
        return schedule.mod["conv2d"]

    def test_parallel_loops_are_timed_as_plain_ones(self) -> None:
        assert "T.parallel" in str(self.marked())
        assert "T.parallel" not in str(as_timed(self.marked(), threads=1))

    def test_with_several_threads_they_stay(self) -> None:
        assert "T.parallel" in str(as_timed(self.marked(), threads=2))


class TestArraysApart:
    """The promise that arrays do not overlap decides about machine code: all are timed with it."""

    def with_it(self) -> tvm.tirx.PrimFunc:
        return modules.timed_convolution()["conv2d"].with_attr("tirx.noalias", True)

    def without_it(self) -> tvm.tirx.PrimFunc:
        return modules.timed_convolution()["conv2d"].without_attr("tirx.noalias")

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_function_without_the_promise_is_timed_as_one_with_it(self, threads: int) -> None:
        one, other = (as_timed(each, threads) for each in (self.with_it(), self.without_it()))
        tvm.ir.assert_structural_equal(one, other)
        assert one.attrs["tirx.noalias"]

    def test_submission_baseline_and_reference_have_it_alike(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compiled: list[Any] = []
        monkeypatch.setattr(subjects, "compile_ahead", lambda _, each, *__: compiled.append(each))
        task = timing_task(function(tvm.IRModule({"conv2d": self.without_it()})))
        target, _ = find_target(task.target)
        workload = load_workload(task.workload)
        subjects.compile_shape_ahead(0, task.shapes[0], task, workload, target)
        assert [True] * FUNCTIONS == [bool(each.attrs.get("tirx.noalias")) for each in compiled]
