"""A student's NumPy function is called by way of an evaluator, like an extern."""

from __future__ import annotations

import sys
from collections.abc import Callable

import cloudpickle
import numpy as np
import pytest

from grader.inside.common.failure import TaskError
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.model import run_module
from grader.messages.frames import pack_array, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION
from grader.messages.runner import RunArgument, RunModule, TensorSpec

cloudpickle.register_pickle_by_value(sys.modules[__name__])

X = np.arange(6, dtype="float32").reshape(2, 1, 3)
W = np.array([[1, 2, 3], [4, 5, 6]], "float32")


def dense(x, w):
    return x @ w.T


def dense_into(x, w, out):
    for row in range(len(w)):
        out[0, row] = (x[0] * w[row]).sum()


def writes_nothing(x, w, out):
    dense(x, w)


def run(evaluator: Evaluator, function: Callable[..., object]):
    task = RunModule(
        b"",
        (RunArgument(pack_array(X)), RunArgument(pack_array(W), varies=False)),
        "llvm",
        1,
        externs={PYTHON_FUNCTION: cloudpickle.dumps(function)},
        outputs=(TensorSpec("float32", (1, 2)),),
    )
    return run_module(task, evaluator)


@pytest.mark.parametrize("function", [dense, dense_into])
def test_it_may_return_its_result_or_write_it(
    evaluator: Evaluator, function: Callable[..., object]
) -> None:
    outputs = unpack_array(run(evaluator, function).outputs)
    assert (X @ W.T).tolist() == outputs.tolist()


def test_an_output_that_is_not_written_is_named(evaluator: Evaluator) -> None:
    assert (PYTHON_FUNCTION,) == run(evaluator, writes_nothing).unwritten


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x, w: None, "it returned NoneType"),
        (lambda x, w: x, r"it returned \(1, 3\)"),
        (lambda x, w: x.argmax(), "it returned int64"),
        (lambda x: x, "positional argument"),
    ],
)
def test_what_it_returns_must_be_the_output(
    evaluator: Evaluator, function: Callable[..., object], told: str
) -> None:
    with pytest.raises(TaskError, match=told):
        run(evaluator, function)
