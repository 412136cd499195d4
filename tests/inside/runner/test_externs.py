"""External functions: loaded where they may be, counted, and never fatal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import cloudpickle
import numpy as np
import pytest
import torch
import tvm
from tvm import relax

from grader.inside.common.failure import TaskError
from grader.inside.runner.evaluation import Evaluator, extern_names
from grader.inside.runner.model import run_module
from grader.messages.frames import unpack_array
from grader.messages.runner import EXTERN_DIED, RunResult
from tests.inside.runner import modules
from tests.inside.runner.evaluators import Nursery

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ONES = np.ones((2, 4))

Run = Callable[..., RunResult]


@pytest.fixture
def run(nursery: Nursery) -> Run:
    """Runs a module that calls externs of the given names; pickles go to a new evaluator."""

    def run(names: str, inputs: np.ndarray = ONES, **options: object) -> RunResult:
        task = modules.task(modules.calls_extern(*names.split()), inputs, **options)
        if not task.externs:
            return run_module(task)
        with nursery.evaluator() as evaluator:
            return run_module(task, evaluator)

    return run


@pytest.fixture
def run_with(run: Run) -> Callable[[object], RunResult]:
    return lambda function: run("env.f", externs={"env.f": cloudpickle.dumps(function)})


@pytest.fixture
def failure(run_with: Callable[[object], RunResult]) -> Callable[[object], TaskError]:
    def failure(function: object) -> TaskError:
        with pytest.raises(TaskError) as caught:
            run_with(function)
        return caught.value

    return failure


def copies(x, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(x) * 3)


def adds_out(x, out):
    x, out = torch.from_dlpack(x), torch.from_dlpack(out)
    torch.add(x, x + x, out=out)


def copies_from_numpy(x, out):
    out.copyfrom(x.numpy() * 3)


def assigns_view(x, out):
    np.from_dlpack(out)[:] = np.from_dlpack(x) * 3


def rebinds(x, out):
    out = torch.from_dlpack(x) * 3  # noqa: F841 - the mistake of many


def raises(x, out):
    raise ValueError("no such thing")


def leaves(x, out):
    sys.exit(3)


def draws(x, out):
    out.copyfrom(np.random.default_rng().random(4).astype("float32"))


def rounds(x, out, calls=[]):  # noqa: B006 - a memory on purpose
    """Every second call rounds in another way, as a library may."""
    calls.append(None)
    out.copyfrom(x.numpy() * np.float32(1 + 1.2e-7 * (len(calls) % 2)))


def takes_one(x):
    pass


def interrupts(x, out):
    raise KeyboardInterrupt


def exits(x, out):
    os._exit(0)


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raises_unreadable(x, out):
    raise UnreadableError


def raises_half_a_character(x, out):
    raise ValueError("\udc80")


def fails_to_load():
    sys.exit(5)


class Unloadable:
    def __reduce__(self):
        return fails_to_load, ()


def calls_another(x, out):
    tvm.get_global_func("env.g")(x, out)


def changes_input(x, out):
    copies(x, out)
    torch.from_dlpack(x).zero_()


def scales(x, weight, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(x) * torch.from_dlpack(weight)[:4])


def ruins_weight(x, weight, out):
    copies(x, out)
    torch.from_dlpack(weight).zero_()


def writes_two(x, y, z):
    y.copyfrom(x.numpy() + 2)
    z.copyfrom(x.numpy() + 1)


def writes_one_of_two(x, y, z):
    y.copyfrom(x.numpy() + 2)


def takes_others(x, number, real, text, extents, out):
    assert (number, real, text, tuple(extents)) == (3, 2.5, "hi", (1, 2))
    out.copyfrom(x.numpy())


class TestPickled:
    @pytest.mark.parametrize("function", [copies, adds_out, copies_from_numpy, assigns_view])
    def test_every_way_to_write_the_output_works(self, run_with, function) -> None:
        result = run_with(function)
        assert unpack_array(result.outputs).tolist() == [[6.0] * 4] * 2
        assert result.unwritten == ()

    def test_one_that_rebinds_its_output_is_named(self, run_with) -> None:
        result = run_with(rebinds)
        assert np.isnan(unpack_array(result.outputs)).all()
        assert result.unwritten == ("env.f",)

    def test_one_that_writes_after_one_that_does_not_is_not_named(self, run: Run) -> None:
        externs = {"env.f": cloudpickle.dumps(rebinds), "env.g": cloudpickle.dumps(copies)}
        assert run("env.f env.g", externs=externs).unwritten == ("env.f",)

    @pytest.mark.parametrize(
        ("function", "name", "message"),
        [
            (raises, "ValueError", "env.f raised ValueError: no such thing"),
            (leaves, "SystemExit", "env.f raised SystemExit: 3"),
            (interrupts, "KeyboardInterrupt", "env.f raised KeyboardInterrupt"),
            (takes_one, "TypeError", "takes 1 positional argument but 2 were given"),
            (raises_unreadable, "UnreadableError", "its message cannot be read"),
            (raises_half_a_character, "ValueError", "env.f raised ValueError: ?"),
            (draws, "NotDeterministic", "two different outputs"),
            (exits, EXTERN_DIED, "env.f: the extern's process ended"),
        ],
    )
    def test_an_error_in_it_is_a_failure_of_the_run(self, failure, function, name, message) -> None:
        error = failure(function)
        assert (error.stage, error.error_name) == ("run", name)
        assert message in error.message

    def test_rounding_in_another_way_is_not_a_difference(self, run: Run) -> None:
        result = run("env.f", np.ones((3, 4)), externs={"env.f": cloudpickle.dumps(rounds)})
        outputs = unpack_array(result.outputs)
        assert not np.array_equal(outputs[0], outputs[1])

    def test_what_is_no_function_is_refused(self, failure) -> None:
        error = failure(3)
        assert (error.stage, error.error_name) == ("externs", "NotCallable")
        assert error.message == "env.f is not a function."

    def test_what_is_no_pickle_is_refused(self, run: Run) -> None:
        with pytest.raises(TaskError, match=r"env\.f cannot be used outside of the not") as caught:
            run("env.f", externs={"env.f": b"nothing"})
        assert caught.value.stage == "externs"

    def test_one_that_exits_while_it_is_loaded_is_refused(self, failure) -> None:
        error = failure(Unloadable())
        assert (error.stage, error.error_name) == ("externs", "SystemExit")

    def test_one_that_is_not_there_is_named(self, run: Run) -> None:
        with pytest.raises(TaskError, match=r"env\.g") as caught:
            run("env.f env.g", stubs={"env.f": 1})
        assert (caught.value.stage, caught.value.error_name) == ("externs", "NotRegistered")

    @pytest.mark.parametrize("given", ["externs", "stubs"])
    def test_no_function_of_tvm_is_replaced(self, run: Run, given: str) -> None:
        """The runner itself would call it."""
        name = "vm.builtin.copy"
        values = {"externs": {name: cloudpickle.dumps(copies)}, "stubs": {name: 1}}
        with pytest.raises(TaskError, match="is a function of TVM") as caught:
            run(name, **{given: values[given]})
        assert (caught.value.stage, caught.value.error_name) == ("externs", "NameTaken")

    def test_what_the_module_does_not_call_is_not_registered(self, run: Run) -> None:
        """Its name could be one that TVM calls by itself."""
        pickled = cloudpickle.dumps(copies)
        result = run("env.f", externs={"env.f": pickled, "vm.builtin.alloc_tensor": pickled})
        assert unpack_array(result.outputs).tolist() == [[6.0] * 4] * 2

    def test_one_may_call_another(self, run: Run) -> None:
        externs = {"env.f": cloudpickle.dumps(calls_another), "env.g": cloudpickle.dumps(copies)}
        outputs = unpack_array(run("env.f", externs=externs).outputs)
        assert outputs.tolist() == [[6.0] * 4] * 2

    def test_nothing_stays_registered(self, run_with) -> None:
        run_with(copies)
        assert tvm.get_global_func("env.f", allow_missing=True) is None

    def test_without_an_evaluator_none_is_loaded(self) -> None:
        task = modules.task(modules.calls_extern("env.f"), ONES, externs={"env.f": b""})
        with pytest.raises(TaskError, match="loads no external functions") as caught:
            run_module(task)
        assert (caught.value.stage, caught.value.error_name) == ("externs", "NotHere")


def dps(x, arguments, results):
    return relax.op.call_dps_packed("env.f", (x, *arguments), results)


FOUR = relax.TensorType((4,), "float32")


class TestArguments:
    """What a function is given, and what of it comes back."""

    @pytest.fixture
    def outputs(self, evaluator: Evaluator) -> Callable[..., np.ndarray]:
        """Returns the outputs of a module for inputs of three batches of one, two and three."""

        def outputs(build, function) -> np.ndarray:
            inputs = np.arange(1, 4)[:, None] * np.ones((3, 4))
            externs = {"env.f": cloudpickle.dumps(function)}
            task = modules.task(modules.one_argument(build), inputs, externs=externs)
            return unpack_array(run_module(task, evaluator).outputs)

        return outputs

    def test_what_it_does_to_its_inputs_stays_with_it(self, outputs) -> None:
        def build(builder, x):
            x = builder.emit_te(tvm.topi.add, x, x)
            y = builder.emit(dps(x, (), FOUR))
            return builder.emit_te(tvm.topi.add, x, y)

        assert outputs(build, changes_input)[:, 0].tolist() == [8.0, 16.0, 24.0]

    @pytest.mark.parametrize("size", [4, 2**16])
    def test_weights_come_with_every_call(self, outputs, size: int) -> None:
        """Large ones are sent once."""
        weight = np.full(size, 5, "float32")

        def build(builder, x):
            return builder.emit(dps(x, (relax.const(weight),), FOUR))

        assert outputs(build, scales)[:, 0].tolist() == [5.0, 10.0, 15.0]

    @pytest.mark.parametrize("size", [4, 2**16])
    def test_what_it_does_to_a_weight_stays_with_it(self, outputs, size: int) -> None:
        weight = relax.const(np.full(size, 5, "float32"))

        def build(builder, x):
            y = builder.emit(dps(x, (weight,), FOUR))
            part = builder.emit_te(tvm.topi.strided_slice, weight, [0], [4])
            return builder.emit_te(
                tvm.topi.subtract, part, builder.emit_te(tvm.topi.subtract, y, y)
            )

        assert outputs(build, ruins_weight).tolist() == [[5.0] * 4] * 3

    def test_a_large_input_that_changes_where_it_lies_is_sent_anew(self, evaluator) -> None:
        module = modules.calls_extern("env.f", shape=(2**16,))
        inputs = np.arange(4)[:, None] * np.ones((4, 2**16))
        task = modules.task(module, inputs, externs={"env.f": cloudpickle.dumps(copies)})
        outputs = unpack_array(run_module(task, evaluator).outputs)
        assert np.array_equal(outputs, (inputs + 1) * 3)

    def test_several_outputs_are_written(self, outputs) -> None:
        def build(builder, x):
            pair = builder.emit(dps(x, (), [FOUR, FOUR]))
            parts = (relax.TupleGetItem(pair, index) for index in range(2))
            return builder.emit_te(tvm.topi.subtract, *map(builder.emit, parts))

        assert (outputs(build, writes_two) == 1).all()

    def test_one_of_several_outputs_that_is_not_written_is_noticed(self, evaluator) -> None:
        def build(builder, x):
            pair = builder.emit(dps(x, (), [FOUR, FOUR]))
            return builder.emit(relax.TupleGetItem(pair, 1))

        externs = {"env.f": cloudpickle.dumps(writes_one_of_two)}
        result = run_module(
            modules.task(modules.one_argument(build), ONES, externs=externs), evaluator
        )
        assert result.unwritten == ("env.f",)
        assert np.isnan(unpack_array(result.outputs)).all()

    def test_numbers_texts_and_shapes_are_given_as_such(self, outputs) -> None:
        real = relax.prim_value(tvm.tirx.FloatImm("float64", 2.5))
        others = (relax.prim_value(3), real, tvm.ir.StringImm("hi"), relax.ShapeExpr([1, 2]))

        def build(builder, x):
            return builder.emit(dps(x, others, FOUR))

        assert outputs(build, takes_others)[:, 0].tolist() == [1.0, 2.0, 3.0]

    def test_a_tuple_is_refused(self, outputs) -> None:
        def build(builder, x):
            return builder.emit(dps(x, (relax.Tuple([x, x]),), FOUR))

        with pytest.raises(TaskError, match=r"env\.f is given a Array") as caught:
            outputs(build, copies)
        assert (caught.value.stage, caught.value.error_name) == ("run", "BadArgument")


class TestStubs:
    def test_another_seed_gives_another_output(self, run: Run) -> None:
        first, again, other = (
            unpack_array(run("env.f", stubs={"env.f": seed}).outputs) for seed in (1, 1, 2)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_each_call_gives_other_noise(self, run: Run) -> None:
        outputs = unpack_array(run("env.f", stubs={"env.f": 1}).outputs)
        assert not np.array_equal(outputs[0], outputs[1])
        assert 0 < np.abs(outputs).max() < 1

    def test_noise_begins_anew_where_it_is_to(self, run: Run) -> None:
        inputs = np.ones((3, 4))
        outputs = unpack_array(run("env.f", inputs, stubs={"env.f": 1}, restart=2).outputs)
        assert np.array_equal(outputs[0], outputs[2])
        assert not np.array_equal(outputs[0], outputs[1])

    def test_noise_does_not_depend_on_the_input(self, run: Run) -> None:
        first, other = (
            unpack_array(run("env.f", inputs=inputs, stubs={"env.f": 1}).outputs)
            for inputs in (ONES, 2 * ONES)
        )
        assert np.array_equal(first, other)

    def test_every_output_gets_noise(self) -> None:
        def build(builder, x):
            pair = builder.emit(dps(x, (), [FOUR, FOUR]))
            return builder.emit(relax.TupleGetItem(pair, 0))

        result = run_module(modules.task(modules.one_argument(build), ONES, stubs={"env.f": 1}))
        assert result.unwritten == ()
        assert np.isfinite(unpack_array(result.outputs)).all()

    def test_a_module_that_ignores_the_extern_is_the_same_for_every_seed(self) -> None:
        def build(builder, x):
            builder.emit(relax.op.call_dps_packed("env.f", (x,), relax.TensorType((4,), "float32")))
            return x

        module = modules.one_argument(build)
        outputs = [
            run_module(modules.task(module, ONES, stubs={"env.f": seed})).outputs for seed in (1, 2)
        ]
        assert outputs[0] == outputs[1]


class TestNames:
    def test_all_externs_of_a_module_are_found(self) -> None:
        assert extern_names(modules.calls_extern("env.f", "env.g")) == {"env.f", "env.g"}

    def test_a_pure_module_has_none(self) -> None:
        assert extern_names(modules.TwoOutputs) == set()
