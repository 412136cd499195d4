"""Numbers of hot loops are decoded strictly."""

from __future__ import annotations

import msgspec
import pytest

from grader.messages.frames import FrameError, decode_payload
from grader.messages.timing import MOST_COUNTED, HotLoop, HotLoops

LOOP = HotLoop(54, 864, 512, loads=27, stores=6, spills=0, reloads=0)
FIELDS = msgspec.structs.asdict(LOOP)


def decoded(**changes: object) -> HotLoop:
    return decode_payload(msgspec.msgpack.encode({**FIELDS, **changes}), HotLoop)


def test_what_is_sent_arrives() -> None:
    loops = HotLoops(submission=LOOP)
    assert LOOP == decoded()
    assert loops == decode_payload(msgspec.msgpack.encode(loops), HotLoops)


@pytest.mark.parametrize(
    "changes",
    [
        {"multiply_adds": 0},
        {"vector_bits": 5000},
        {"more": 1},
        {"loads": "27"},
        *({name: bad} for name in FIELDS for bad in (-1, MOST_COUNTED + 1, 1.5, None)),
    ],
)
def test_what_no_analysis_counts_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(FrameError):
        decoded(**changes)
