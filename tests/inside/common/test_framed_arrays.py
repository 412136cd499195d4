"""Frames with the bytes of arrays after them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from grader.messages.evaluator import ExternLoaded, receive_arrays, send_framed
from grader.messages.frames import DType, FrameError, encode_frame, read_frame

MESSAGE = ExternLoaded()
PAYLOAD = encode_frame(MESSAGE)[8:]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("dtype", DType.__args__)  # type: ignore[attr-defined]
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_arrays_of_every_dtype_arrive(pair, dtype: str, shape: tuple[int, ...]) -> None:
    one, other = pair
    sent = np.ones(shape, dtype)
    send_framed(one, MESSAGE, [sent, sent])
    received = [np.zeros(shape, dtype), np.zeros(shape, dtype)]
    assert PAYLOAD == read_frame(other, 100)
    receive_arrays(other, received)
    assert all(each.tobytes() == sent.tobytes() for each in received)


def test_more_than_a_socket_holds_arrives(pair) -> None:
    one, other = pair
    arrays = [np.arange(size, dtype="uint8") for size in (3, 2**22, *[1] * 100)]
    sender = threading.Thread(target=send_framed, args=(one, MESSAGE, arrays))
    sender.start()
    received = [np.zeros_like(array) for array in arrays]
    read_frame(other, 100)
    receive_arrays(other, received)
    sender.join()
    assert all(np.array_equal(a, b) for a, b in zip(arrays, received, strict=True))


def test_an_end_inside_an_array_is_an_error(pair) -> None:
    one, other = pair
    one.sendall(b"123")
    one.shutdown(socket.SHUT_WR)
    with pytest.raises(FrameError, match="inside an array"):
        receive_arrays(other, [np.zeros(1, "float32")])


def test_an_array_with_gaps_is_refused(pair) -> None:
    with pytest.raises(AssertionError):
        receive_arrays(pair[0], [np.zeros((4, 4))[:, ::2]])
