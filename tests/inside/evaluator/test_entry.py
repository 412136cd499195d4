"""An evaluator in a process of its own, and functions that try to be more than functions.

Whatever they do, the model's output is made of what each function wrote for its own call, or the
task fails. Every module here calls `env.f` and `env.g`, in this order, on x + 1 for two batches of
ones, and a third time at the end, when the first batch is repeated.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import time

import cloudpickle
import numpy as np
import pytest
import torch
import tvm

from grader.inside.common.failure import TaskError
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.model import run_module
from grader.messages.evaluator import Evaluated, Tensor
from grader.messages.frames import encode_frame, pack_array, unpack_array
from grader.messages.runner import EXTERN_DIED, RunResult
from tests.inside.runner import modules

cloudpickle.register_pickle_by_value(sys.modules[__name__])

FORGED = 99.0


def triples(x, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(x) * 3)


def run(evaluator: Evaluator, first: object = triples, second: object = triples) -> RunResult:
    externs = {"env.f": cloudpickle.dumps(first), "env.g": cloudpickle.dumps(second)}
    module = modules.calls_extern("env.f", "env.g")
    return run_module(modules.task(module, np.ones((2, 4)), externs=externs), evaluator)


def failure(evaluator: Evaluator, function: object) -> TaskError:
    with pytest.raises(TaskError) as caught:
        run(evaluator, function)
    return caught.value


def connections():
    """Find the evaluator's socket: it is an object like any other of the process."""
    return [each for each in gc.get_objects() if type(each) is socket.socket and each.fileno() >= 0]


def forge(*answers):
    """Write answers as the evaluator would."""
    for connection in connections():
        for answer in answers:
            whole = answer if isinstance(answer, bytes | bytearray) else encode_frame(answer)
            connection.sendall(whole)


def answer(call, shape=(4,), dtype="float32"):
    return Evaluated(call, (Tensor(dtype, shape),))


VALUES = np.full(4, FORGED, "float32").tobytes()


def writes_to_every_descriptor(x, out):
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(number, b"\3" + bytes(7) + b"bad")
    triples(x, out)


def forges_a_result_of_the_runner(x, out):
    outputs = pack_array(np.full((2, 4), FORGED, "float32"))
    forge(RunResult(outputs))
    triples(x, out)


def forges_another_shape(x, out):
    forge(answer(1, (2**20,)), VALUES)
    triples(x, out)


def forges_another_dtype(x, out):
    forge(answer(1, (4,), "int32"), VALUES)
    triples(x, out)


def forges_a_later_call(x, out):
    forge(answer(2), VALUES)
    triples(x, out)


def forges_a_huge_frame(x, out):
    forge(b"\xff" * 8)
    triples(x, out)


def answers_twice(x, out):
    forge(answer(1), VALUES)
    triples(x, out)


def exits(x, out):
    os._exit(0)


def is_killed(x, out):
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(x, out):
    import ctypes

    ctypes.string_at(0)


def closes_its_descriptors(x, out):
    os.closerange(3, 256)


class TestForgery:
    """The first call of `env.f` tries to speak for somebody else."""

    def test_without_any_the_output_is_that_of_both_functions(self, evaluator) -> None:
        assert [[18.0] * 4] * 2 == unpack_array(run(evaluator).outputs).tolist()

    @pytest.mark.parametrize(
        "function",
        [
            writes_to_every_descriptor,
            forges_a_result_of_the_runner,
            forges_another_shape,
            forges_another_dtype,
            forges_a_later_call,
            forges_a_huge_frame,
        ],
    )
    def test_what_is_no_answer_to_the_call_ends_the_task(self, evaluator, function) -> None:
        error = failure(evaluator, function)
        assert ("run", "BadAnswer") == (error.stage, error.error_name)
        assert error.message.startswith("env.f: ")

    def test_a_second_answer_is_not_that_of_the_next_call(self, evaluator) -> None:
        error = failure(evaluator, answers_twice)
        assert ("run", "BadAnswer") == (error.stage, error.error_name)
        assert error.message.startswith("env.g: ")

    @pytest.mark.parametrize("function", [exits, is_killed, crashes, closes_its_descriptors])
    def test_the_end_of_the_process_is_told_at_once(self, evaluator, function) -> None:
        before = time.monotonic()
        error = failure(evaluator, function)
        assert ("run", EXTERN_DIED) == (error.stage, error.error_name)
        assert "env.f: the extern's process ended." == error.message
        assert time.monotonic() - before < 20


def keeps_what_it_was_given(x, out):
    triples(x, out)
    if not hasattr(sys, "earlier"):
        sys.earlier = (x, out)


def writes_to_what_was_kept(x, out):
    """Is called when the outputs of the first call of the other have been answered."""
    for each in sys.earlier:
        torch.from_dlpack(each).fill_(FORGED)
    triples(x, out)


def replaces_the_view(x, out):
    """Reaches for the evaluator's own record of the call."""
    for each in gc.get_objects():
        if type(each).__name__ == "ExternCall":
            each.outputs = [np.full((2, 2), FORGED, "float32")]
    triples(x, out)


def never_writes(x, out):
    out = torch.from_dlpack(x) * 3  # noqa: F841


def registers_builtins(x, out):
    """Replaces functions that a virtual machine calls, in this process."""
    tvm.register_global_func("vm.builtin.copy", lambda *_: None, override=True)
    triples(x, out)


class TestMemory:
    """What functions hold on to is theirs alone."""

    def test_what_is_written_after_the_answer_is_lost(self, evaluator) -> None:
        result = run(evaluator, keeps_what_it_was_given, writes_to_what_was_kept)
        assert [[18.0] * 4] * 2 == unpack_array(result.outputs).tolist()

    def test_what_it_puts_in_the_place_of_its_output_is_its_output(self, evaluator) -> None:
        result = run(evaluator, replaces_the_view)
        assert [[3 * FORGED] * 4] * 2 == unpack_array(result.outputs).tolist()

    def test_an_output_that_is_never_written_is_seen(self, evaluator) -> None:
        result = run(evaluator, never_writes)
        assert ("env.f",) == result.unwritten

    def test_functions_of_tvm_are_replaced_in_their_process_only(self, evaluator) -> None:
        result = run(evaluator, registers_builtins)
        assert [[18.0] * 4] * 2 == unpack_array(result.outputs).tolist()
