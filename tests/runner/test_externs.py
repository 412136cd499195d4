"""External functions: loaded where they may be, counted, and never fatal."""

from __future__ import annotations

import sys
from collections.abc import Callable

import cloudpickle
import numpy as np
import pytest
import torch
import tvm
from tvm import relax

from grader.messages import RunResult, unpack_array
from grader.runner.externs import extern_names
from grader.runner.failure import TaskError
from grader.runner.model import run_module
from tests.runner import modules

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ONES = np.ones((2, 4))


def run(names: str, inputs: np.ndarray = ONES, **options: object) -> RunResult:
    return run_module(modules.task(modules.calls_extern(*names.split()), inputs, **options))


def run_with(function: object) -> RunResult:
    return run("env.f", externs={"env.f": cloudpickle.dumps(function)})


def failure(function: object) -> TaskError:
    with pytest.raises(TaskError) as caught:
        run_with(function)
    return caught.value


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


class TestPickled:
    @pytest.mark.parametrize("function", [copies, adds_out, copies_from_numpy, assigns_view])
    def test_every_way_to_write_the_output_works(self, function: Callable[..., None]) -> None:
        result = run_with(function)
        assert unpack_array(result.outputs).tolist() == [[6.0] * 4] * 2
        assert result.unwritten == ()

    def test_calls_are_counted_once_a_batch(self) -> None:
        """The repetition of the first batch at the end does not count."""
        assert run_with(copies).calls == {"env.f": 2}

    def test_one_that_rebinds_its_output_is_named(self) -> None:
        result = run_with(rebinds)
        assert np.isnan(unpack_array(result.outputs)).all()
        assert result.unwritten == ("env.f",)

    def test_one_that_writes_after_one_that_does_not_is_not_named(self) -> None:
        externs = {"env.f": cloudpickle.dumps(rebinds), "env.g": cloudpickle.dumps(copies)}
        assert run("env.f env.g", externs=externs).unwritten == ("env.f",)

    @pytest.mark.parametrize(
        ("function", "name", "message"),
        [
            (raises, "ValueError", "env.f raised ValueError: no such thing"),
            (leaves, "SystemExit", "env.f raised SystemExit: 3"),
            (takes_one, "TypeError", "takes 1 positional argument but 2 were given"),
            (draws, "NotDeterministic", "two different outputs"),
        ],
    )
    def test_an_error_in_it_is_a_failure_of_the_run(
        self, function: Callable[..., None], name: str, message: str
    ) -> None:
        error = failure(function)
        assert (error.stage, error.error_name) == ("run", name)
        assert message in error.message

    def test_rounding_in_another_way_is_not_a_difference(self) -> None:
        result = run("env.f", np.ones((3, 4)), externs={"env.f": cloudpickle.dumps(rounds)})
        outputs = unpack_array(result.outputs)
        assert not np.array_equal(outputs[0], outputs[1])

    def test_what_is_no_function_is_refused(self) -> None:
        assert (failure(3).stage, failure(3).error_name) == ("externs", "NotCallable")

    def test_what_is_no_pickle_is_refused(self) -> None:
        with pytest.raises(TaskError) as caught:
            run("env.f", externs={"env.f": b"nothing"})
        assert caught.value.stage == "externs"

    def test_one_that_is_not_there_is_named(self) -> None:
        with pytest.raises(TaskError, match=r"env\.g") as caught:
            run("env.f env.g", stubs={"env.f": 1})
        assert (caught.value.stage, caught.value.error_name) == ("externs", "NotRegistered")

    def test_nothing_stays_registered(self) -> None:
        run_with(copies)
        assert tvm.get_global_func("env.f", allow_missing=True) is None


class TestStubs:
    def test_another_seed_gives_another_output(self) -> None:
        first, again, other = (
            unpack_array(run("env.f", stubs={"env.f": seed}).outputs) for seed in (1, 1, 2)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_each_call_gives_other_noise(self) -> None:
        outputs = unpack_array(run("env.f", stubs={"env.f": 1}).outputs)
        assert not np.array_equal(outputs[0], outputs[1])
        assert 0 < np.abs(outputs).max() < 1

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
