"""TraceModule: every step's value, exactly as the module computes it, whatever comes later."""
# ruff: noqa: N805, N812 - TVMScript looks like Python and has its own rules

from __future__ import annotations

import os
import sys
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from grader.inside.common.failure import TaskError
from grader.inside.runner import trace as traced_module
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.model import run_module
from grader.inside.runner.trace import WATCHER, trace_module
from grader.messages.frames import decode_payload, encode_frame, pack_array, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION
from grader.messages.runner import (
    EXTERN_DIED,
    STEP_LIMIT,
    Correction,
    RunArgument,
    RunModule,
    TensorSpec,
    TracedPass,
    TracedStep,
    TraceModule,
    TraceResult,
)
from tests.inside.runner import modules

# A runner has one thread. A process of tests may have others, of which Python 3.12 warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROW = TensorSpec("float32", (4,))


def traced(task: TraceModule, evaluator: Evaluator | None = None) -> TracedPass:
    """What became of the only pass of a task."""
    (only,) = trace_module(task, evaluator).passes
    return only


def trace(
    module: Any, inputs: Any, evaluator: Evaluator | None = None, **options: Any
) -> TracedPass:
    return traced(TraceModule(modules.task(module, inputs, **options)), evaluator)


def names(result: TracedPass) -> list[str]:
    return [step.variable for step in result.steps]


def takes(result: TracedPass) -> list[tuple[tuple[int, ...], bool]]:
    return [(step.takes, step.takes_input) for step in result.steps]


def bindings(result: TracedPass) -> list[int | None]:
    return [step.binding for step in result.steps]


def value(step: TracedStep) -> np.ndarray:
    assert step.values is not None
    return unpack_array(step.values)


def values(result: TracedPass) -> list[list[float] | None]:
    """What each step gave in the first call."""
    return [
        None if step.values is None else value(step)[0].reshape(-1).tolist()
        for step in result.steps
    ]


class TestModel:
    """A classifier, whose calls TVM would fuse."""

    def test_every_call_is_a_step_under_its_own_name(self) -> None:
        module, _ = modules.classifier()
        result = trace(module, np.ones((1, *modules.SHAPE)))
        assert ["lv", "lv1", "lv2", "lv3", "lv4", "lv5"] == names(result)
        assert [((), True), *(((place,), False) for place in range(5))] == takes(result)
        assert [0, 1, 2, 3, 4, 5] == bindings(result)
        assert result.failure is None

    def test_values_are_those_of_pytorch_in_every_call(self) -> None:
        module, dense = modules.classifier()
        inputs = np.random.default_rng(3).standard_normal((2, *modules.SHAPE)).astype("float32")
        result = trace(module, inputs)
        for call, images in enumerate(torch.from_numpy(inputs)):
            x = torch.conv2d(images, torch.from_numpy(modules.WEIGHT))
            expected = [x, torch.relu(x), torch.max_pool2d(torch.relu(x), 2)]
            expected.append(expected[-1].flatten(1))
            expected.append(expected[-1] @ torch.from_numpy(dense).T)
            expected.append(torch.softmax(expected[-1], 1))
            for wanted, step in zip(expected, result.steps, strict=True):
                np.testing.assert_allclose(value(step)[call], wanted, rtol=1e-4, atol=1e-4)

    def test_the_last_value_is_what_running_the_module_gives(self) -> None:
        module, _ = modules.classifier()
        inputs = np.random.default_rng(4).standard_normal((3, *modules.SHAPE))
        outputs = unpack_array(run_module(modules.task(module, inputs)).outputs)
        np.testing.assert_allclose(
            outputs, value(trace(module, inputs).steps[-1]), rtol=1e-5, atol=1e-7
        )

    def test_the_answer_fits_a_message(self) -> None:
        module, _ = modules.classifier()
        result = trace(module, np.ones((1, *modules.SHAPE)))
        told = TraceResult((result,))
        assert told == decode_payload(encode_frame(told)[8:], TraceResult)


@I.ir_module
class Branches:
    """Aliases, a tuple, and a sum of two steps."""

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor:
        with R.dataflow():
            a = R.add(x, y)
            pair = (a, x)
            b = R.multiply(pair[0], a)
            same = b
            c = R.add(same, pair[1])
            R.output(c)
        return c


class TestSteps:
    def test_other_names_are_no_steps_and_lead_to_what_they_stand_for(self) -> None:
        task = modules.task(Branches, np.full((1, 4), 2.0))
        second = RunArgument(pack_array(np.ones(4, "float32")), varies=False)
        task = RunModule(task.module, (*task.arguments, second), "llvm", 1)
        result = traced(TraceModule(task))
        assert ["a", "b", "c"] == names(result)
        assert [((), True), ((0,), False), ((1,), True)] == takes(result)
        assert [[3.0] * 4, [9.0] * 4, [11.0] * 4] == values(result)

    def test_each_output_of_a_call_is_a_step(self) -> None:
        result = trace(modules.TwoOutputs, np.ones((1, 4)))
        assert [[3.0] * 4, [2.0] * 4, [1.0] * 4] == values(result)
        assert [0, 0, 1] == bindings(result)
        assert (0, 1) == result.steps[2].takes

    def test_a_call_in_place_does_not_take_back_what_was_there(self) -> None:
        result = trace(modules.InPlace, np.ones((1, 4)))
        assert ["y", "z"] == names(result)
        assert [[2.0] * 4, [4.0] * 4] == values(result)

    def test_calls_in_the_branches_of_an_if_are_counted_and_the_if_is_a_step(self) -> None:
        @I.ir_module
        class Choice:
            @R.function
            def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                a = R.add(x, x)
                flag = R.const(True, "bool")
                if flag:
                    b = R.add(a, a)
                    chosen = R.add(b, b)
                else:
                    chosen = R.multiply(x, x)
                end = R.add(chosen, a)
                return end  # noqa: RET504

        result = trace(Choice, np.ones((1, 4)))
        assert ["a", "chosen", "end"] == names(result)
        assert [0, None, 4] == bindings(result)
        assert [((), True), ((0,), True), ((0, 1), False)] == takes(result)
        assert [[2.0] * 4, [8.0] * 4, [10.0] * 4] == values(result)

    def test_half_precision_is_told_and_sent_as_it_is(self) -> None:
        def build(builder: Any, x: Any) -> Any:
            half = builder.emit(relax.op.astype(x, "float16"))
            return builder.emit(relax.op.astype(half, "float32"))

        result = trace(modules.one_argument(build), np.full((1, 4), 0.1))
        assert ["float16", "float32"] == [step.dtype for step in result.steps]
        assert "float16" == value(result.steps[0]).dtype
        assert [float(np.float16(0.1))] * 4 == values(result)[0]

    def test_only_the_first_steps_are_told(self) -> None:
        def build(builder: Any, x: Any) -> Any:
            for _ in range(STEP_LIMIT + 3):
                x = builder.emit(relax.op.add(x, relax.const(np.float32(1))))
            return x

        result = trace(modules.one_argument(build), np.zeros((1, 4)))
        assert STEP_LIMIT == len(result.steps)
        assert [float(STEP_LIMIT)] * 4 == values(result)[-1]
        assert result.failure is None

    def test_values_that_are_too_large_together_end_the_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(traced_module, "OUTPUT_LIMIT", 40)
        result = trace(modules.TwoOutputs, np.ones((1, 4)))
        assert [[3.0] * 4, [2.0] * 4, None] == values(result)
        assert result.failure is not None
        assert "TooLarge" == result.failure.error_name

    def test_a_symbolic_extent_is_that_of_the_argument(self) -> None:
        size = tvm.tirx.Var("n", "int64")
        module = modules.one_argument(lambda b, x: b.emit_te(topi.add, x, x), (size, 2))
        assert (1, 7, 2) == value(trace(module, np.ones((1, 7, 2))).steps[0]).shape


class TestPoison:
    def test_a_sum_without_a_start_is_nan_from_its_step_on(self) -> None:
        def build(builder: Any, x: Any) -> Any:
            summed = builder.add_func(modules.SumWithoutInit["row_sums"], "row_sums")
            start = builder.emit(relax.op.add(x, x))
            row = relax.TensorType((4,), "float32")
            end = builder.emit(relax.op.call_tir(summed, (start,), row))
            return builder.emit(relax.op.add(end, end))

        result = trace(modules.one_argument(build, (4, 8)), np.ones((1, 4, 8)))
        finite = [bool(np.isfinite(value(step)).all()) for step in result.steps]
        assert [True, False, False] == finite
        assert not any(step.is_unwritten for step in result.steps)

    def test_an_extern_that_writes_nothing_is_told_at_its_step_alone(
        self, evaluator: Evaluator
    ) -> None:
        pickles = {"env.f": cloudpickle.dumps(_writes_nothing)}
        pickles["env.g"] = cloudpickle.dumps(_copies)
        module = modules.calls_extern("env.f", "env.g")
        result = trace(module, np.ones((1, 4)), evaluator, externs=pickles)
        assert [False, True, False] == [step.is_unwritten for step in result.steps]
        assert np.isnan(value(result.steps[2])).all()


def _writes_nothing(x, out):
    torch.from_dlpack(x)


def _copies(x, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(x))


def _raises(x, out):
    raise ValueError("not here")


def _exits(x, out):
    os._exit(3)


class TestFailure:
    @pytest.mark.parametrize(("function", "name"), [(_raises, "ValueError"), (_exits, EXTERN_DIED)])
    def test_what_was_seen_before_an_extern_fails_is_kept(
        self, evaluator: Evaluator, function: Any, name: str
    ) -> None:
        pickles = {"env.f": cloudpickle.dumps(_copies), "env.g": cloudpickle.dumps(function)}
        module = modules.calls_extern("env.f", "env.g", "env.f")
        result = trace(module, np.ones((1, 4)), evaluator, externs=pickles)
        assert [[2.0] * 4, [2.0] * 4, None, None] == values(result)
        assert result.failure is not None
        assert name == result.failure.error_name

    @pytest.mark.usefixtures("silent_crashes")
    def test_what_was_seen_before_a_crash_is_kept(self) -> None:
        def build(builder: Any, x: Any) -> Any:
            far = builder.add_func(modules.Aborts["far"], "far")
            start = builder.emit(relax.op.add(x, x))
            row = relax.TensorType((4,), "float32")
            end = builder.emit(relax.op.call_tir(far, (start,), row))
            return builder.emit(relax.op.add(end, end))

        result = trace(modules.one_argument(build), np.ones((1, 4)))
        assert [[2.0] * 4, None, None] == values(result)
        assert result.failure is not None
        assert "Died" == result.failure.error_name

    def test_an_extern_that_is_not_there_leaves_the_names_of_the_steps(self) -> None:
        result = trace(modules.calls_extern("env.nowhere"), np.ones((1, 4)))
        assert ["lv", "lv1"] == names(result)
        assert [None, None] == values(result)
        assert result.failure is not None
        assert "NotRegistered" == result.failure.error_name

    def test_a_function_of_the_watchers_name_is_not_called_in_its_place(self) -> None:
        result = trace(modules.calls_extern(WATCHER), np.ones((1, 4)), stubs={WATCHER: 1})
        assert [[2.0] * 4] == values(result)[:1]
        assert 0.0 < float(np.abs(value(result.steps[1])).max()) < 1.0

    def test_arguments_that_do_not_fit_are_an_error_as_in_a_run(self) -> None:
        with pytest.raises(TaskError) as caught:
            trace(modules.TwoOutputs, np.ones((1, 5)))
        assert "WrongInput" == caught.value.error_name

    def test_noise_in_place_of_externs_is_that_of_a_run(self) -> None:
        module = modules.calls_extern("env.f", "env.f")
        outputs = run_module(modules.task(module, np.ones((1, 4)), stubs={"env.f": 5})).outputs
        result = trace(module, np.ones((1, 4)), stubs={"env.f": 5})
        assert unpack_array(outputs)[0].tolist() == values(result)[-1]


def product_and_relu(order: str) -> bytes:
    """A function of A and B: C is their product, D is ReLU of it; `order` has its outputs."""
    a, b = (te.placeholder((4, 4), "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((4, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((4, 4), lambda i, j: te.max(c[i, j], 0.0), name="D")
    outputs = [{"C": c, "D": d}[name] for name in order]
    return modules.document(tvm.IRModule({"f": te.create_prim_func([a, b, *outputs])}))


class TestFunction:
    """TIR functions, whose buffers are steps."""

    A = np.arange(16, dtype="float32").reshape(1, 4, 4) - 8
    B = np.eye(4, dtype="float32")[None] * 2

    def run(self, order: str) -> TracedPass:
        arguments = tuple(RunArgument(pack_array(each)) for each in (self.A, self.B))
        outputs = (TensorSpec("float32", (4, 4)),) * len(order)
        task = RunModule(product_and_relu(order), arguments, "llvm", 1, {}, {}, "f", outputs)
        return traced(TraceModule(task))

    def test_a_buffer_is_a_step_before_the_output(self) -> None:
        result = self.run("D")
        assert ["C", "D"] == names(result)
        assert [((), True), ((0,), False)] == takes(result)
        product = (2 * self.A).reshape(-1)
        assert [product.tolist(), np.maximum(product, 0).tolist()] == values(result)
        assert [None, None] == bindings(result)

    def test_outputs_keep_the_order_of_the_parameters(self) -> None:
        assert ["C", "D"] == names(self.run("CD"))
        swapped = self.run("DC")
        assert ["D", "C"] == names(swapped)
        assert [((), True), ((), True)] == takes(swapped)  # what D takes comes later

    def test_a_buffer_that_is_never_set_is_poisoned_too(self) -> None:
        result = trace(modules.StaleBuffer, np.ones((1, 4)), function="stale", outputs=(ROW,))
        assert ["between", "y"] == names(result)
        assert np.isnan(value(result.steps[0])).all()

    def test_of_a_scheduled_function_only_the_output_is_told(self) -> None:
        module = tvm.ir.load_json(product_and_relu("D").decode())
        schedule = tvm.s_tir.Schedule(module)
        block = schedule.get_sblock("C", func_name="f")
        schedule.parallel(schedule.get_loops(block)[0])
        arguments = tuple(RunArgument(pack_array(each)) for each in (self.A, self.B))
        outputs = (TensorSpec("float32", (4, 4)),)
        document = modules.document(schedule.mod)
        task = RunModule(document, arguments, "llvm", 1, {}, {}, "f", outputs)
        result = traced(TraceModule(task))
        assert ["D"] == names(result)
        assert [((), True)] == takes(result)
        assert [np.maximum(2 * self.A, 0).reshape(-1).tolist()] == values(result)

    def test_a_function_without_blocks_has_its_output(self) -> None:
        @T.prim_func
        def flat(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                y[i] = x[i] + T.float32(1)

        module = tvm.IRModule({"flat": flat})
        result = trace(module, np.ones((1, 4)), function="flat", outputs=(ROW,))
        assert ["y"] == names(result)
        assert [[2.0] * 4] == values(result)


def _two(x, first, second):
    first[:], second[:] = x + 1, x * 3


def _one(x):
    return x + 1


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_one, [("output", [3.0] * 4)]),
        (_two, [("output 1", [3.0] * 4), ("output 2", [6.0] * 4)]),
    ],
)
def test_a_python_function_has_a_step_for_each_output(
    evaluator: Evaluator, function: Any, expected: list[Any]
) -> None:
    task = RunModule(
        b"",
        (RunArgument(pack_array(np.full((1, 4), 2, "float32"))),),
        "llvm",
        1,
        externs={PYTHON_FUNCTION: cloudpickle.dumps(function)},
        outputs=(ROW,) * len(expected),
    )
    result = traced(TraceModule(task), evaluator)
    assert expected == list(
        zip([step.variable for step in result.steps], values(result), strict=True)
    )


def test_a_parallel_loop_does_not_wait_for_threads_of_the_process_that_built() -> None:
    module = tvm.ir.load_json(product_and_relu("D").decode())
    schedule = tvm.s_tir.Schedule(module)
    schedule.parallel(schedule.get_loops(schedule.get_sblock("C", func_name="f"))[0])
    arguments = tuple(RunArgument(pack_array(each)) for each in (TestFunction.A, TestFunction.B))
    outputs = (TensorSpec("float32", (4, 4)),)
    task = RunModule(modules.document(schedule.mod), arguments, "llvm", 2, {}, {}, "f", outputs)
    passes = trace_module(TraceModule(task, ((), ()))).passes
    assert [None, None] == [each.failure for each in passes]


class TestCorrections:
    """What is written over a step's value is what later steps compute from."""

    def passed(self, *passes: dict[int, Any]) -> tuple[TracedPass, ...]:
        """Call `2 * x + 1` twice, on ones, in each of some passes."""

        def build(builder: Any, x: Any) -> Any:
            twice = builder.emit_te(topi.add, x, x)
            return builder.emit_te(topi.add, twice, relax.const(np.float32(1)))

        run = modules.task(modules.one_argument(build), np.ones((2, 4), np.float32))
        corrections = (
            tuple(Correction(step, pack_array(value)) for step, value in each.items())
            for each in passes
        )
        return trace_module(TraceModule(run, tuple(corrections))).passes

    def test_a_step_is_told_as_it_was_and_the_next_one_computes_from_the_correction(self) -> None:
        (only,) = self.passed({0: np.array([[5] * 4, [7] * 4], np.float32)})
        assert [[2.0] * 4, [2.0] * 4] == value(only.steps[0]).tolist()
        assert [[6.0] * 4, [8.0] * 4] == value(only.steps[1]).tolist()

    def test_passes_know_nothing_of_each_other(self) -> None:
        fives = np.full((2, 4), 5, np.float32)
        found = self.passed({0: fives}, {}, {1: fives}, {0: 2 * fives})
        assert [None] * 4 == [each.failure for each in found]
        assert [6, 3, 3, 11] == [value(each.steps[1])[0, 0] for each in found]

    def test_one_pass_that_ends_early_ends_no_other(self) -> None:
        bad, good = self.passed({0: np.zeros((2, 3), np.float32)}, {})
        assert bad.failure is not None
        assert [None, None] == [bad.steps[1].values, good.failure]
        assert 3 == value(good.steps[1])[0, 0]

    @pytest.mark.parametrize(
        "value",
        [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float64), np.zeros((1, 4), np.float32)],
    )
    def test_one_that_does_not_fit_ends_its_pass(self, value: Any) -> None:
        (result,) = self.passed({0: value})
        assert result.failure is not None
        assert "DoesNotFit" == result.failure.error_name

    def test_externs_remember_and_are_called_in_one_pass_alone(self, evaluator: Evaluator) -> None:
        run = modules.task(modules.calls_extern("env.f"), np.ones((1, 4), np.float32))
        with pytest.raises(TaskError, match="one pass"):
            trace_module(TraceModule(run, ((), ())), evaluator)
