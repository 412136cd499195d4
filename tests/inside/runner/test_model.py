"""RunModule: what comes out is what the module computes, or says why nothing does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import tvm
from tvm import relax, topi

from grader.inside.common.arguments import unpack_arguments
from grader.inside.common.failure import TaskError
from grader.inside.runner import model
from grader.inside.runner.entry import perform
from grader.inside.runner.model import build_ahead, repeats, run_module
from grader.messages.frames import Array, FrameError, unpack_array
from grader.messages.runner import OUT_OF_BOUNDS, RunArgument, RunModule, RunResult, TaskFailure
from tests.inside.runner import modules


def run(module: object, inputs: object, **options: object) -> RunResult:
    return run_module(modules.task(module, inputs, **options))


def failure(module: object, inputs: object = ((0.0,) * 4,), **options: object) -> TaskError:
    with pytest.raises(TaskError) as caught:
        run(module, inputs, **options)
    return caught.value


def images(batches: int, batch: int) -> np.ndarray:
    shape = (batches, batch, *modules.SHAPE[1:])
    return np.random.default_rng(5).standard_normal(shape).astype("float32")


def expected(inputs: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """What PyTorch makes of one batch."""
    x = torch.conv2d(torch.from_numpy(inputs), torch.from_numpy(modules.WEIGHT))
    x = torch.nn.functional.max_pool2d(torch.relu(x), 2).flatten(1)
    return torch.softmax(x @ torch.from_numpy(dense).T, dim=1).numpy()


@tvm.instrument.pass_instrument
class Passes:
    """Counts the passes of TVM that are run."""

    def __init__(self) -> None:
        self.count = 0

    def run_before_pass(self, _module: object, _info: object) -> None:
        self.count += 1


class TestBuiltAhead:
    """What is built before it is asked for is the same, and is not built again."""

    @staticmethod
    def passes(task: RunModule) -> tuple[RunResult, int]:
        passes = Passes()
        with tvm.transform.PassContext(instruments=[passes]):
            return run_module(task), passes.count

    def test_a_task_finds_it_once(self) -> None:
        module, _ = modules.classifier()
        task = modules.task(module, images(2, 4))
        anew, _ = self.passes(task)
        build_ahead(modules.task(module, np.zeros((1, *modules.SHAPE))))
        (ahead, none), (again, some) = self.passes(task), self.passes(task)
        assert anew == ahead == again
        assert 0 == none < some

    def test_arguments_of_another_form_find_none(self) -> None:
        """`main` of a symbolic batch, or one that is put around a function, is another one."""
        size = tvm.tirx.Var("n", "int64")
        module = modules.one_argument(lambda b, x: b.emit_te(topi.add, x, x), (size, 2))
        build_ahead(modules.task(module, np.zeros((1, 7, 2))))
        _, passes = self.passes(modules.task(module, np.zeros((1, 3, 2))))
        assert passes > 0
        _, passes = self.passes(modules.task(module, np.ones((2, 7, 2))))
        assert 0 == passes

    def test_its_guards_are_those_of_the_calls(self) -> None:
        """Its code writes to them where it was told that they lie: another task's see nothing."""
        task = modules.task(modules.FarStore, np.ones((2, 4)))
        build_ahead(task)
        answer = perform(task)
        assert isinstance(answer, TaskFailure)
        assert OUT_OF_BOUNDS == answer.code

    @pytest.mark.parametrize("module", [modules.MaximumWithoutInit, modules.OwnMaximumWithoutInit])
    def test_its_poison_is_that_of_the_calls(self, module: tvm.IRModule) -> None:
        task = modules.task(module, np.ones((2, 4, 8)))
        anew = perform(task)
        build_ahead(task)
        assert anew == perform(task)


class TestOutputs:
    @pytest.mark.parametrize("batch", [1, 4])
    @pytest.mark.parametrize("target", ["llvm", "host"])
    def test_every_batch_equals_pytorch(self, batch: int, target: str) -> None:
        """Poison gets into no result: buffers are reused, and flatten shares memory."""
        module, dense = modules.classifier(batch)
        inputs = images(3, batch)
        result = run(module, inputs, target=target)
        actual = unpack_array(result.outputs)
        assert actual.shape == (3, batch, 10)
        for index, one in enumerate(inputs):
            np.testing.assert_allclose(actual[index], expected(one, dense), rtol=1e-4, atol=1e-6)
        assert result.unwritten == ()

    def test_a_symbolic_batch_takes_the_size_of_the_inputs(self) -> None:
        size = tvm.tirx.Var("n", "int64")
        module = modules.one_argument(lambda b, x: b.emit_te(topi.add, x, x), (size, 2))
        assert unpack_array(run(module, np.ones((2, 7, 2))).outputs).shape == (2, 7, 2)

    def test_a_tuple_of_one_tensor_counts_as_the_tensor(self) -> None:
        module = modules.one_argument(lambda b, x: relax.Tuple([b.emit_te(topi.add, x, x)]))
        assert unpack_array(run(module, np.ones((1, 4))).outputs).tolist() == [[2.0] * 4]

    def test_a_module_that_changes_its_input_sees_a_fresh_one_each_time(self) -> None:
        result = run(modules.ChangesInput, np.ones((3, 4)))
        assert (unpack_array(result.outputs) == 2).all()

    def test_a_call_in_place_keeps_its_input(self) -> None:
        result = run(modules.InPlace, np.ones((2, 4)))
        assert (unpack_array(result.outputs) == 4).all()
        assert result.unwritten == ()


class TestMistakes:
    def test_a_reduction_without_init_adds_to_poison(self) -> None:
        result = run(modules.SumWithoutInit, np.ones((2, 4, 8)))
        assert np.isnan(unpack_array(result.outputs)).all()
        assert result.unwritten == ()

    @pytest.mark.parametrize(
        "module", [modules.MaximumWithoutInit, modules.OwnMaximumWithoutInit], ids=["output", "own"]
    )
    def test_a_maximum_without_init_is_seen_though_nan_are_dropped(self, module: object) -> None:
        """LLVM's maximum of NaN and a number is the number: the outputs were right."""
        assert run(module, np.random.default_rng(0).random((3, 4, 8))).stale

    def test_what_is_initialised_is_not_stale(self) -> None:
        assert not run(modules.TwoOutputs, np.random.default_rng(0).random((3, 4))).stale

    def test_an_intermediate_buffer_that_is_read_before_it_is_written_holds_poison(self) -> None:
        result = run(modules.StaleBuffer, np.random.default_rng(0).random((3, 4)))
        assert np.isnan(unpack_array(result.outputs)).all()
        assert result.unwritten == ()


class TestSignature:
    @pytest.mark.parametrize(
        ("build", "shape", "name"),
        [
            (lambda b, x: relax.Tuple([x, x]), (4,), "WrongResult"),
            (lambda b, x: relax.op.shape_of(x), (4,), "WrongResult"),
            (lambda b, x: b.emit_te(topi.add, x, x), (5,), "WrongInput"),
            (lambda b, x: b.emit_te(topi.add, x, x), (4, 1), "WrongInput"),
        ],
    )
    def test_it_is_refused(
        self, build: Callable[..., object], shape: tuple[int, ...], name: str
    ) -> None:
        error = failure(modules.one_argument(build, shape))
        assert (error.stage, error.error_name) == ("signature", name)

    def test_inputs_of_another_dtype_are_refused(self) -> None:
        module = modules.one_argument(lambda b, x: b.emit_te(topi.add, x, x), dtype="int32")
        assert failure(module).error_name == "WrongInput"

    def test_a_module_without_main_is_refused(self) -> None:
        assert failure(tvm.IRModule({})).error_name == "NoMain"

    def test_main_may_not_be_a_tir_function(self) -> None:
        module = tvm.IRModule({"main": modules.TwoOutputs["both"]})
        assert failure(module).error_name == "NoMain"

    def test_two_arguments_are_refused(self) -> None:
        builder = relax.BlockBuilder()
        arguments = [relax.Var(name, relax.TensorType((4,), "float32")) for name in "xy"]
        with builder.function("main", arguments):
            builder.emit_func_output(builder.emit_te(topi.add, *arguments))
        assert failure(builder.get()).error_name == "WrongArguments"

    def test_outputs_that_fit_no_frame_are_refused_after_the_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model, "OUTPUT_LIMIT", 31)
        module = modules.one_argument(lambda b, x: b.emit_te(topi.add, x, x))
        assert failure(module, np.ones((2, 4))).error_name == "TooLarge"


class TestDamage:
    @pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff", b"{}"])
    def test_what_is_no_module_fails_to_load(self, data: bytes) -> None:
        assert failure(data).stage == "load"

    def test_json_of_something_else_fails_to_load(self) -> None:
        error = failure(modules.document(relax.const(1.0)))
        assert (error.stage, error.error_name) == ("load", "TypeError")

    def test_an_unknown_target_fails_to_build(self) -> None:
        assert failure(modules.ChangesInput, target="nonsense").stage == "build"

    def test_no_inputs_are_refused(self) -> None:
        none = RunModule(b"", (RunArgument(Array("float32", (0, 4), b"")),), "llvm", 1)
        with pytest.raises(FrameError, match="no calls"):
            unpack_arguments(none)


class TestRepeats:
    """Comparing two runs on the same input."""

    def test_without_externs_every_bit_counts(self) -> None:
        value = np.ones(3, np.float32)
        assert repeats(value.copy(), value, exact=True)
        assert not repeats(np.nextafter(value, np.float32(2)), value, exact=True)

    def test_with_externs_rounding_does_not_count(self) -> None:
        value = np.array([1.0, 1e-9, np.nan], np.float32)
        assert repeats(value * np.float32(1 + 1e-6), value, exact=False)
        assert not repeats(value * np.float32(1.01), value, exact=False)

    def test_another_shape_is_another_output(self) -> None:
        assert not repeats(np.ones(2), np.ones(3), exact=False)

    def test_whole_numbers_must_be_equal(self) -> None:
        assert not repeats(np.array([1]), np.array([2]), exact=False)
