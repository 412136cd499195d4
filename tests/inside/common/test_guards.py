"""Guards: a function that would leave its buffers ends before it does, and honest ones are left be.

Functions are given to TVM as they are: what the referee reads off a module is no part of this.
"""
# ruff: noqa: N812 - TVMScript looks like Python and has its own rules

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx, topi
from tvm.script import tirx as T

from grader.inside.common import guards as guards_module
from grader.inside.common.checks import Interval
from grader.inside.common.expressions import Reader
from grader.inside.common.failure import TaskError
from grader.inside.common.guards import Guards
from grader.inside.common.modules import load_workload
from grader.messages.runner import Violation
from tests.inside.runner import modules
from tests.inside.runner.timed import WORKLOAD

SIZE = 64
Buffer = T.Buffer((SIZE,), "float32")


@T.prim_func(s_tir=True)
def behind_the_end(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(1, 70):
        y[i * i // (i + 1)] = x[0]


@T.prim_func(s_tir=True)
def before_the_start(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[i] = x[i // (i + 1) - 1]


@T.prim_func(s_tir=True)
def end_of_a_vector(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(1, 10):
        for lane in T.vectorized(8):
            y[i * i // (i + 1) * 8 + lane - 2] = x[lane]


@T.prim_func(s_tir=True)
def scattered_vector(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for lane in T.vectorized(8):
        y[lane] = x[lane * lane * 2]


@T.prim_func(s_tir=True)
def in_parallel(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in T.parallel(64):
        y[i] = x[(i + 1) * (i + 1) // (i + 2) + 1]


@T.prim_func(s_tir=True)
def above_a_local_buffer(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    local = T.sblock_alloc_buffer((8,), "float32")
    with T.sblock("all"):
        for i in range(8):
            local[i] = x[i]
        for i in range(64):
            y[i] = local[(i + 1) * (i + 1) // (i + 2)]


@T.prim_func(s_tir=True)
def of_three_bytes(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    local = T.sblock_alloc_buffer((4000,), "int24")
    with T.sblock("all"):
        for i in range(4000):
            local[i] = T.Cast("int24", i)
        for i in range(64):
            y[i] = x[i] + T.Cast("float32", local[i])


def by_threes(count: int) -> Any:
    """Return a function that copies by way of so many vectors of three items."""

    @T.prim_func(s_tir=True)
    def function(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        local = T.sblock_alloc_buffer((count, 3), "float32")
        with T.sblock("all"):
            for i in range(count):
                for lane in T.vectorized(3):
                    local[i, lane] = x[lane]
            for i in range(20):
                for lane in T.vectorized(3):
                    y[i * 3 + lane] = local[i, lane]

    return function


@T.prim_func(s_tir=True)
def by_data(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[T.Cast("int32", x[i])] = T.float32(1)


@T.prim_func(s_tir=True)
def decided_by_data(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        if x[i] > T.float32(1000):
            y[(i + 1) * (i + 1) // (i + 2) + 60] = T.float32(1)


@T.prim_func(s_tir=True)
def both_operands(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        if i < 63 and x[i + 1] > T.float32(0):
            y[i] = T.float32(1)


@T.prim_func(s_tir=True)
def overflow(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(46340, 46345):
        y[i * i // (i + 1) % 64] = x[0]


@T.prim_func(s_tir=True)
def sum_without_start(x: T.Buffer((64,), "int64"), y: T.Buffer((1,), "int64")):
    for i in range(64):
        y[0] = y[0] + x[i]


@T.prim_func(s_tir=True)
def sum_that_is_an_index(
    x: T.Buffer((64,), "int64"), y: T.Buffer((1,), "int64"), z: T.Buffer((64,), "int64")
):
    y[0] = x[0] + x[1]
    z[T.max(T.min(y[0], T.int64(63)), T.int64(0))] = T.int64(1)


@T.prim_func(s_tir=True)
def no_integer(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[T.Cast("int32", x[i] * T.float32(1e30)) % 64] = T.float32(1)


@T.prim_func(s_tir=True)
def loaded_by_a_choice(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[i] = T.if_then_else(i * i * i * i * i * i < 8, x[i], T.float32(0))


@T.prim_func(s_tir=True)
def loaded_by_a_name(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        place = T.int32()
        y[i] = T.Let(x[T.min(T.max(place, 0), 63)], where={place: i * 67108864})


@T.prim_func(s_tir=True)
def once_around_the_memory(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    y[T.Ramp(T.int64(0), T.int64(2**60), 17)] = T.Broadcast(x[0], 17)


@T.prim_func(s_tir=True)
def division(x: T.Buffer((64,), "int32"), y: T.Buffer((64,), "int32")):
    for i in range(64):
        y[i] = 7 // x[i]


@T.prim_func(s_tir=True)
def assumption(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        T.evaluate(T.assume(i * i // (i + 1) < 8))
        y[i * i // (i + 1)] = x[0]


@T.prim_func(s_tir=True)
def no_value(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[T.undef()] = x[i]


@T.prim_func(s_tir=True)
def shifted_out(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[T.min(T.max(T.q_multiply_shift(i, 3, 31, 200), 0), 63)] = x[i]


@T.prim_func(s_tir=True)
def decided_by_a_shift(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        if T.q_multiply_shift(i, 3, 31, 200) > 3:
            y[i] = x[i]


@T.prim_func(s_tir=True)
def divided_by_a_shift(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[i] = T.Cast("float32", 7 // T.q_multiply_shift(i, 3, 31, 200))


@T.prim_func(s_tir=True)
def a_shift_under_a_name(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        place: T.let[T.int64] = T.Cast("int64", T.q_multiply_shift(i, 3, 31, 200))
        y[T.min(T.max(place, T.int64(0)), T.int64(63))] = x[i]


@T.prim_func(s_tir=True)
def a_shifted_result(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[i] = x[i] + T.Cast("float32", T.q_multiply_shift(i, 3, 31, 1))


@T.prim_func(s_tir=True)
def zeros_of_none(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[T.min(T.max(T.clz(i * i // (i + 1) - i + 1), 0), 63)] = x[i]


@T.prim_func(s_tir=True)
def by_a_condition(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        y[i] = T.if_then_else(0 < i and i < 63, x[i - 1] + x[i + 1], T.float32(0))


@T.prim_func(s_tir=True)
def looks_an_index_up(
    x: T.Buffer((64,), "float32"), places: T.Buffer((64,), "int32"), y: T.Buffer((64,), "float32")
):
    for i in range(64):
        y[i] = x[places[i]]


@T.prim_func(s_tir=True)
def of_any_length(a: T.handle, b: T.handle):
    n = T.int32()
    x = T.match_buffer(a, (n, 4))
    y = T.match_buffer(b, (n, 4))
    for i in range(n + 1):
        for j in range(4):
            y[i, j] = x[i, j]


def run(function: Any, *arrays: np.ndarray, for_all_inputs: bool = False) -> int:
    """Call a function guarded; return how many checks it has. Raises TaskError."""
    guards = Guards(for_all_inputs=for_all_inputs)
    with guards.building() as pipeline:
        public = function.with_attr("global_symbol", "main")
        compiled = tvm.compile(public, "llvm", tir_pipeline=pipeline)
    tensors = [tvm.runtime.tensor(each) for each in arrays]
    try:
        compiled.mod["main"](*tensors)
    except RuntimeError:
        guards.demand_none()
        raise
    guards.demand_none()
    return guards.checks


def violation(function: Any, *arrays: np.ndarray, **options: bool) -> Violation:
    with pytest.raises(TaskError) as caught:
        run(function, *arrays, **options)
    assert ("run", "OutOfBounds") == (caught.value.stage, caught.value.error_name)
    assert caught.value.violation is not None
    return caught.value.violation


def numbers(value: float = 1.0, dtype: str = "float32") -> np.ndarray:
    return np.full(SIZE, value, dtype)


class TestIndices:
    @pytest.mark.parametrize(
        ("function", "buffer", "value", "size"),
        [
            (behind_the_end, "y", 64, 64),
            (before_the_start, "x", -1, 64),
            (end_of_a_vector, "y", -2, 64),
            (scattered_vector, "x", 72, 64),
            (above_a_local_buffer, "local", 8, 8),
        ],
    )
    def test_the_first_wrong_one_is_told(
        self, function: Any, buffer: str, value: int, size: int
    ) -> None:
        found = violation(function, numbers(), numbers())
        assert Violation("index", "main", buffer, value, size) == found

    def test_a_loop_in_other_threads_is_ended_too(self) -> None:
        found = violation(in_parallel, numbers(), numbers())
        assert ("index", "x", 64) == (found.kind, found.subject, found.size)
        assert found.value >= 64

    def test_one_that_was_computed_from_data_is_told(self) -> None:
        run(by_data, numbers(63.0), numbers())
        assert 64 == violation(by_data, numbers(64.0), numbers()).value

    def test_one_that_was_looked_up_is_told(self) -> None:
        run(looks_an_index_up, numbers(), numbers(63, "int32"), numbers())
        found = violation(looks_an_index_up, numbers(), numbers(64, "int32"), numbers())
        assert ("x", 64) == (found.subject, found.value)

    def test_both_operands_of_and_are_evaluated(self) -> None:
        assert 64 == violation(both_operands, numbers(), numbers()).value

    def test_the_extent_may_be_known_at_run_time_only(self) -> None:
        array = np.ones((5, 4), np.float32)
        assert Violation("index", "main", "x", 20, 0) == violation(of_any_length, array, array)

    def test_nothing_is_written_outside(self) -> None:
        memory = np.zeros(2 * SIZE, np.float32)
        with pytest.raises(TaskError):
            run(behind_the_end, numbers(), memory[:SIZE])
        assert (memory[SIZE:] == 0).all()


class TestArithmetic:
    @pytest.mark.parametrize(
        ("function", "kind"),
        [
            (overflow, "overflow"),
            (once_around_the_memory, "overflow"),
            (no_integer, "conversion"),
            (assumption, "assumption"),
        ],
    )
    def test_what_no_compiler_has_to_expect_is_told(self, function: Any, kind: str) -> None:
        assert kind == violation(function, numbers(), numbers()).kind

    def test_an_integer_that_is_only_stored_may_be_wrong(self) -> None:
        """Its values are what the referee compares, and says the mistake of."""
        run(sum_without_start, numbers(2**62, "int64"), np.full(1, -(2**63), np.int64))

    @pytest.mark.parametrize("function", [loaded_by_a_choice, loaded_by_a_name])
    def test_one_that_chooses_what_is_loaded_may_not(self, function: Any) -> None:
        assert "overflow" == violation(function, numbers(), numbers()).kind

    def test_one_that_becomes_an_index_may_not(self) -> None:
        arrays = (np.zeros(1, np.int64), numbers(0, "int64"))
        assert "overflow" == violation(sum_that_is_an_index, numbers(2**62, "int64"), *arrays).kind

    def test_a_division_by_zero_is_told(self) -> None:
        run(division, numbers(3, "int32"), numbers(0, "int32"))
        found = violation(division, numbers(0, "int32"), numbers(0, "int32"))
        assert "division" == found.kind

    @pytest.mark.parametrize(
        ("function", "kind"),
        [
            (shifted_out, "overflow"),
            (decided_by_a_shift, "overflow"),
            (divided_by_a_shift, "overflow"),
            (a_shift_under_a_name, "overflow"),
            (zeros_of_none, "unguarded"),
        ],
    )
    def test_a_check_is_of_no_poison(self, function: Any, kind: str) -> None:
        """It would be poison itself: it may hold, and the index be elsewhere."""
        assert kind == violation(function, numbers(), numbers()).kind

    def test_what_may_be_anything_may_be_a_result(self) -> None:
        run(a_shifted_result, numbers(), numbers())

    def test_the_same_access_under_another_value_is_checked_anew(self) -> None:
        buffers = [tirx.decl_buffer((SIZE,), "float32", name) for name in "xy"]
        i, place = tirx.Var("i", "int32"), tirx.Var("place", "int32")
        load = buffers[0][place]
        twice = tirx.Let(place, i & 7, load) + tirx.Let(place, i + 60, load)
        reader = Reader(lambda buffer: (buffer.name, SIZE))
        reader.begin()
        reader.bind(i, Interval(0, 6))
        reader.read(twice)
        assert ["index"] == [each.site.kind for each in reader.demands.checks]

    def test_a_value_that_is_not_there_cannot_be_checked(self) -> None:
        assert "unguarded" == violation(no_value, numbers(), numbers()).kind


def copies(count: int, items: int) -> Any:
    """A function that makes so many copies of its input before it adds them up."""
    x = te.placeholder((items,), "float32", name="x")
    stages = [te.compute((items,), lambda i: x[i], name=f"copy_{n}") for n in range(count)]
    total = te.compute((items,), lambda i: sum((each[i] for each in stages), T.float32(0)))
    return te.create_prim_func([x, total])


class TestStack:
    @pytest.fixture(autouse=True)
    def room_for_eight(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guards_module, "STACK_LIMIT", 8000)

    def test_small_buffers_may_not_fill_it_together(self) -> None:
        array = np.ones(250, np.float32)
        run(copies(6, 250), array, array.copy())
        found = violation(copies(12, 250), array, array.copy())
        assert ("unguarded", "9000 bytes of small buffers") == (found.kind, found.subject)

    def test_larger_ones_lie_elsewhere(self) -> None:
        array = np.ones(300, np.float32)
        run(copies(12, 300), array, array.copy())


class TestItems:
    def test_of_an_odd_size_they_cannot_be_checked(self) -> None:
        """LLVM takes four bytes for each, of the three that TVM has allocated."""
        found = violation(of_three_bytes, numbers(), numbers())
        assert "unguarded" == found.kind
        assert "items of 24 bits" in found.subject

    @pytest.mark.parametrize("count", [20, 4000])
    def test_for_vectors_of_three_there_is_room(self, count: int) -> None:
        run(by_threes(count), numbers(), numbers())


class TestForAllInputs:
    """One call must speak for all others on arrays of these shapes."""

    @pytest.mark.parametrize("function", [by_data, decided_by_data])
    def test_a_check_that_depends_on_data_is_refused(self, function: Any) -> None:
        run(function, numbers(), numbers())
        found = violation(function, numbers(), numbers(), for_all_inputs=True)
        assert "unguarded" == found.kind

    def test_a_check_that_does_not_is_made(self) -> None:
        found = violation(behind_the_end, numbers(), numbers(), for_all_inputs=True)
        assert "index" == found.kind
        run(by_a_condition, numbers(), numbers(), for_all_inputs=True)


def computed(result: te.Tensor, *arguments: te.Tensor) -> Any:
    return te.create_prim_func([*arguments, result])


class TestHonestFunctions:
    def test_a_sum_may_have_many_terms(self) -> None:
        x = te.placeholder((600,), "float32", name="x")
        total = te.compute((1,), lambda _: sum((x[k] for k in range(600)), T.float32(0)))
        output = np.zeros(1, np.float32)
        assert 0 == run(te.create_prim_func([x, total]), np.ones(600, np.float32), output)

    def test_a_condition_keeps_an_index_inside(self) -> None:
        assert 2 == run(by_a_condition, numbers(), numbers())

    @pytest.mark.parametrize("variant", load_workload(WORKLOAD).VARIANTS)
    def test_the_reference_needs_no_check_at_run_time(self, variant: str) -> None:
        workload = load_workload(WORKLOAD)
        shapes = {"data": (4, 1, 28, 28), "weight": (32, 1, 3, 3), "bias": (32,)}
        arrays = [np.ones(shapes[each], np.float32) for each in workload.VARIANTS[variant]]
        output = np.zeros((4, 32, 26, 26), np.float32)
        for module in (
            workload.baseline(variant, shapes),
            workload.reference(variant, shapes, 2),
        ):
            assert 0 == run(module["main"], *arrays, output, for_all_inputs=True)

    def test_a_padded_convolution_has_one_check_for_its_border(self) -> None:
        data = te.placeholder((1, 2, 8, 8), "float32", name="data")
        weight = te.placeholder((3, 2, 3, 3), "float32", name="weight")
        function = computed(topi.nn.conv2d(data, weight, 1, 1, 1), data, weight)
        shapes = [(1, 2, 8, 8), (3, 2, 3, 3), (1, 3, 8, 8)]
        assert 1 == run(function, *(np.ones(each, np.float32) for each in shapes))

    @pytest.mark.parametrize(
        "operator",
        [
            lambda x: relax.op.sort(x),
            lambda x: relax.op.cumsum(x, 1),
            lambda x: relax.op.argmax(x, 1),
            lambda x: relax.op.nn.softmax(x),
            lambda x: relax.op.strided_slice(x, [1], [1], [7], [2]),
            lambda x: relax.op.bucketize(x, relax.const(np.arange(9, dtype="float32"))),
            lambda x: relax.op.take(x, relax.const(np.array([3, 0], "int64")), 0),
            lambda x: relax.op.nonzero(x),
            lambda x: relax.op.concat([x, x], 1),
        ],
        ids=lambda each: None,
    )
    def test_operators_give_what_they_give_without_guards(self, operator: Any) -> None:
        module = modules.one_argument(lambda builder, x: builder.emit(operator(x)), shape=(4, 8))
        values = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
        guards = Guards()
        with guards.building() as pipeline:
            guarded = relax.build(module, "llvm", tir_pipeline=pipeline)
        results = [
            relax.VirtualMachine(each, tvm.cpu())["main"](tvm.runtime.tensor(values)).numpy()
            for each in (guarded, relax.build(module, "llvm"))
        ]
        guards.demand_none()
        np.testing.assert_array_equal(*results)


class TestGuards:
    def test_what_was_told_once_is_not_told_again(self) -> None:
        guards = Guards()
        with guards.building() as pipeline:
            public = behind_the_end.with_attr("global_symbol", "main")
            compiled = tvm.compile(public, "llvm", tir_pipeline=pipeline)
        with pytest.raises(RuntimeError):
            compiled.mod["main"](*(tvm.runtime.tensor(numbers()) for _ in range(2)))
        with pytest.raises(TaskError):
            guards.demand_none()
        guards.demand_none()

    def test_other_errors_of_a_build_stay_what_they_are(self) -> None:
        with pytest.raises(ZeroDivisionError), Guards().building():
            raise ZeroDivisionError
