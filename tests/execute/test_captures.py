"""Receiving captures from a process that may write anything."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.execute.captures import CaptureReader
from grader.messages.frames import KERNEL_FRAME_LIMIT, encode_frame
from grader.messages.kernel import PYTHON_FUNCTION, SOURCE_LIMIT, Capture, CaptureFailure

CAPTURE = Capture(part="model", name="create_model", cell=2, by_name=True, module=b"{}")
FAILURE = CaptureFailure(part="model", name="create_model", cell=3, reason="raised")


def read(written: bytes, **limits: Any) -> CaptureReader:
    """Write bytes to one end of a pair and close it; return the finished reader of the other."""
    inner, outer = socket.socketpair()
    reader = CaptureReader(outer, **limits)
    with inner:
        inner.sendall(written)
    reader.close()
    return reader


def test_captures_are_in_order_of_arrival() -> None:
    reader = read(encode_frame(CAPTURE) + encode_frame(FAILURE) + encode_frame(CAPTURE))
    assert reader.received == (CAPTURE, FAILURE, CAPTURE)
    assert reader.damage == ""


def test_each_is_told_as_it_arrives() -> None:
    told: list[Capture | CaptureFailure] = []
    reader = read(encode_frame(CAPTURE) + encode_frame(FAILURE), taken=told.append)
    assert reader.received == (CAPTURE, FAILURE) == tuple(told)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff" * 100,
        (KERNEL_FRAME_LIMIT + 1).to_bytes(8, "little"),
        (4).to_bytes(8, "little") + b"\xc1\xc1\xc1\xc1",
        (3).to_bytes(8, "little") + b"\x91\x91\x91",
    ],
)
def test_garbage_ends_the_captures_and_is_drained(garbage: bytes) -> None:
    written = encode_frame(CAPTURE) + garbage + bytes(3_000_000) + encode_frame(CAPTURE)
    reader = read(written)
    assert reader.received == (CAPTURE,)
    assert reader.damage != ""


def test_a_frame_cut_off_by_the_kernel_s_end_is_no_damage() -> None:
    reader = read(encode_frame(CAPTURE) + encode_frame(FAILURE)[:-3])
    assert reader.received == (CAPTURE,)
    assert reader.damage == ""


def test_more_captures_than_allowed_are_thrown_away() -> None:
    reader = read(encode_frame(CAPTURE) * 5, count_limit=3)
    assert reader.received == (CAPTURE,) * 3
    assert reader.damage == "more than 3 captures"


def test_more_bytes_than_allowed_are_thrown_away() -> None:
    reader = read(encode_frame(CAPTURE) * 5, total_limit=2 * len(encode_frame(CAPTURE)))
    assert reader.received == (CAPTURE,) * 2
    assert reader.damage != ""


@pytest.mark.parametrize(("length", "count"), [(SOURCE_LIMIT, 1), (SOURCE_LIMIT + 1, 0)])
def test_a_python_function_has_no_module_and_a_text_of_bounded_length(
    length: int, count: int
) -> None:
    capture = Capture("p", "f", 1, True, b"", externs={PYTHON_FUNCTION: b"p"}, source="가" * length)
    reader = read(encode_frame(capture) + encode_frame(FAILURE))
    assert (capture, FAILURE)[: 2 * count] == reader.received
    assert (count == 0) == (reader.damage != "")


@pytest.mark.parametrize("source", [b"\xc4\xff\xff\xff", b"\xa1\xff", b"\xd9\x02\xed\xa0", b"\x01"])
def test_a_text_that_is_none_is_damage(source: bytes) -> None:
    frame = encode_frame(Capture("p", "f", 1, True, b"", source="x"))[8:]
    broken = frame.replace(b"\xa6source\xa1x", b"\xa6source" + source)
    assert broken != frame
    reader = read(len(broken).to_bytes(8, "little") + broken)
    assert () == reader.received
    assert reader.damage != ""


@given(st.binary(max_size=64))
def test_any_bytes_are_read_to_their_end(written: bytes) -> None:
    assert all(isinstance(item, Capture | CaptureFailure) for item in read(written).received)
