"""The runner's end of an evaluator: what is sent, and what is accepted as an answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from grader.inside.common.failure import TaskError
from grader.inside.runner.evaluation import KEPT_AT_LEAST, KEPT_AT_MOST, Evaluator, ToWrite
from grader.messages.evaluator import (
    Evaluate,
    Evaluated,
    EvaluationFailed,
    ExternLoaded,
    Kept,
    LoadExtern,
    Output,
    Tensor,
    ToEvaluator,
    receive_arrays,
)
from grader.messages.frames import READY, Message, decode_payload, encode_frame, read_frame
from grader.messages.runner import EXTERN_DIED, TaskFailure

Pair = tuple[socket.socket, socket.socket]

FOUR = Tensor("float32", (4,))
BYTES = np.arange(4, dtype="float32").tobytes()


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def answered(pair: Pair) -> Callable[..., Evaluator]:
    """Makes evaluators that have answered already, and then ended."""

    def answered(*answers: Message | bytes) -> Evaluator:
        ours, theirs = pair
        for answer in answers:
            theirs.sendall(
                answer if isinstance(answer, bytes | bytearray) else encode_frame(answer)
            )
        theirs.shutdown(socket.SHUT_WR)
        return Evaluator(ours)

    return answered


def evaluate(evaluator: Evaluator) -> np.ndarray:
    output = np.full(4, np.nan, "float32")
    evaluator.evaluate("env.f", [np.ones(4, "float32"), ToWrite(output)])
    return output


class TestStart:
    def test_one_that_is_ready_can_be_asked(self, answered) -> None:
        assert answered(READY).await_start()

    @pytest.mark.parametrize("written", [b"", bytes(3), b"\1" + bytes(7) + b"x"])
    def test_one_that_ended_or_wrote_something_else_cannot(self, answered, written) -> None:
        assert not answered(written).await_start()


class TestLoad:
    def test_every_function_is_sent_under_its_name(self, answered, pair: Pair) -> None:
        answered(ExternLoaded(), ExternLoaded()).load({"env.f": b"1", "env.g": b"2"})
        assert [LoadExtern("env.f", b"1"), LoadExtern("env.g", b"2")] == requests(pair[1], 2)

    def test_a_failure_names_the_function_that_failed(self, answered) -> None:
        evaluator = answered(ExternLoaded(), EvaluationFailed(0, "ImportError", "no turtle"))
        with pytest.raises(TaskError, match=r"env\.g cannot be used .*: no turtle") as caught:
            evaluator.load({"env.f": b"1", "env.g": b"2"})
        assert ("externs", "ImportError") == (caught.value.stage, caught.value.error_name)

    @pytest.mark.parametrize(
        ("answer", "name"),
        [
            (b"", EXTERN_DIED),
            (Evaluated(0, ()), "BadAnswer"),
            (EvaluationFailed(1, "Error", ""), "BadAnswer"),
            (b"\1" + bytes(7) + b"\xc1", "BadAnswer"),
        ],
    )
    def test_another_answer_is_a_failure_that_names_the_function(
        self, answered, answer, name
    ) -> None:
        with pytest.raises(TaskError, match=r"env\.f") as caught:
            answered(answer).load({"env.f": b""})
        assert ("externs", name) == (caught.value.stage, caught.value.error_name)

    def test_one_evaluator_serves_one_task(self, answered) -> None:
        evaluator = answered(ExternLoaded())
        evaluator.load({"env.f": b""})
        with pytest.raises(TaskError, match="one task only"):
            evaluator.load({"env.f": b""})


class TestAnswers:
    def test_the_bytes_of_the_output_are_written(self, answered) -> None:
        assert [0, 1, 2, 3] == evaluate(answered(Evaluated(1, (FOUR,)), BYTES)).tolist()

    @pytest.mark.parametrize(
        "answer",
        [
            Evaluated(1, ()),
            Evaluated(1, (FOUR, FOUR)),
            Evaluated(1, (Tensor("float32", (2, 2)),)),
            Evaluated(1, (Tensor("int32", (4,)),)),
            Evaluated(1, (Tensor("float32", (2**40,)),)),
            Evaluated(1, (Tensor("float32", (4,), 1),)),
            Evaluated(2, (FOUR,)),
            Evaluated(0, (FOUR,)),
            EvaluationFailed(2, "ValueError", ""),
            ExternLoaded(),
            TaskFailure("run", "Raised", "", error="ValueError"),
            b"\1" + bytes(7) + b"\xc1",
            b"\xff" * 8,
        ],
        ids=repr,
    )
    def test_any_other_answer_is_refused_before_anything_is_written(self, answered, answer) -> None:
        output = np.full(4, np.nan, "float32")
        with pytest.raises(TaskError, match=r"env\.f: its process answered something el") as caught:
            answered(answer, BYTES).evaluate("env.f", [ToWrite(output)])
        assert ("run", "BadAnswer") == (caught.value.stage, caught.value.error_name)
        assert np.isnan(output).all()

    def test_a_second_answer_is_not_taken_for_that_of_the_next_call(self, answered) -> None:
        answer = encode_frame(Evaluated(1, (FOUR,))) + BYTES
        evaluator = answered(answer, answer)
        evaluate(evaluator)
        with pytest.raises(TaskError) as caught:
            evaluate(evaluator)
        assert "BadAnswer" == caught.value.error_name

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            encode_frame(Evaluated(1, (FOUR,))),
            encode_frame(Evaluated(1, (FOUR,))) + BYTES[:-1],
        ],
    )
    def test_an_end_before_the_whole_answer_is_the_end_of_the_process(
        self, answered, answer
    ) -> None:
        with pytest.raises(TaskError, match=r"env\.f: the extern's process ended") as caught:
            evaluate(answered(answer))
        assert ("run", EXTERN_DIED) == (caught.value.stage, caught.value.error_name)

    def test_a_closed_connection_is_the_end_of_the_process(self, answered, pair: Pair) -> None:
        evaluator = answered()
        pair[1].close()
        with pytest.raises(TaskError) as caught:
            evaluate(evaluator)
        assert EXTERN_DIED == caught.value.error_name

    def test_an_error_is_told_with_the_name_that_the_runner_knows(self, answered) -> None:
        with pytest.raises(TaskError, match=r"^env\.f raised ValueError: no$") as caught:
            evaluate(answered(EvaluationFailed(1, "ValueError", "no")))
        assert ("run", "ValueError") == (caught.value.stage, caught.value.error_name)
        assert "no" == caught.value.raised == caught.value.as_failure().raised


class TestRequests:
    """What is sent; the answers were there before."""

    @pytest.fixture
    def send(self, pair: Pair) -> Callable[..., Evaluate]:
        evaluator = Evaluator(pair[0])

        def send(*arguments: object) -> Evaluate:
            calls.append(None)
            pair[1].sendall(encode_frame(Evaluated(len(calls), ())))
            evaluator.evaluate("env.f", arguments)
            (request,) = requests(pair[1], 1)
            arrays = [
                np.empty(each.shape, each.dtype)
                for each in request.arguments
                if isinstance(each, Tensor)
            ]
            receive_arrays(pair[1], arrays)
            self.received = arrays
            return request

        calls: list[None] = []
        return send

    def test_arguments_keep_their_order_and_kind(self, send) -> None:
        array = np.zeros((2, 3), "int8")
        request = send(array, 3, 2.5, "text", None, True)
        assert (Tensor("int8", (2, 3)), 3, 2.5, "text", None, True) == request.arguments

    def test_an_output_has_no_bytes(self, pair: Pair) -> None:
        output = np.zeros(4, "float32")
        pair[1].sendall(encode_frame(Evaluated(1, (FOUR,))) + BYTES)
        Evaluator(pair[0]).evaluate("env.f", [ToWrite(output)])
        assert [Evaluate(1, "env.f", (Output("float32", (4,)),))] == requests(pair[1], 1)
        pair[1].setblocking(False)
        with pytest.raises(BlockingIOError):
            pair[1].recv(1)

    def test_a_large_array_is_sent_once_while_it_is_the_same(self, send) -> None:
        array = np.zeros(KEPT_AT_LEAST, "uint8")
        heads = [send(array).arguments[0] for _ in range(3)]
        assert [Tensor("uint8", array.shape, keep=1), Kept(1), Kept(1)] == heads

    def test_one_that_has_changed_is_sent_from_then_on(self, send) -> None:
        array = np.zeros(KEPT_AT_LEAST, "uint8")
        send(array)
        array[-1] = 1
        assert Tensor("uint8", array.shape) == send(array).arguments[0]
        assert 1 == self.received[0][-1]
        assert Tensor("uint8", array.shape) == send(array).arguments[0]

    def test_zeros_of_another_sign_are_a_change(self, send) -> None:
        array = np.zeros(KEPT_AT_LEAST, "float32")
        send(array)
        array[0] = -0.0
        assert Tensor("float32", array.shape) == send(array).arguments[0]

    def test_nan_is_the_same_as_itself(self, send) -> None:
        array = np.full(KEPT_AT_LEAST, np.nan, "float32")
        send(array)
        assert Kept(1) == send(array).arguments[0]

    def test_two_arrays_in_turn_are_both_kept(self, send) -> None:
        one, other = (np.full(KEPT_AT_LEAST, value, "uint8") for value in (1, 2))
        send(one, other)
        assert (Kept(2), Kept(1)) == send(other, one).arguments

    def test_small_arrays_are_always_sent(self, send) -> None:
        array = np.zeros(KEPT_AT_LEAST - 1, "uint8")
        send(array)
        assert Tensor("uint8", array.shape) == send(array).arguments[0]

    def test_what_is_kept_is_bounded(self, monkeypatch, send) -> None:
        assert KEPT_AT_MOST >= 2**24
        monkeypatch.setattr("grader.inside.runner.evaluation.KEPT_AT_MOST", 0)
        array = np.zeros(KEPT_AT_LEAST, "uint8")
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(encode_frame(Evaluated(1, ())))
            Evaluator(ours).evaluate("env.f", [array])
            assert (Tensor("uint8", array.shape),) == requests(theirs, 1)[0].arguments


def requests(connection: socket.socket, count: int) -> list[ToEvaluator]:
    """Read so many frames that have come from the runner."""
    payloads = [read_frame(connection, 2**20) for _ in range(count)]
    return [decode_payload(payload, ToEvaluator) for payload in payloads]
