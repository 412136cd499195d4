"""What the reading process may answer: nothing that the grader would have to suffer for."""

from __future__ import annotations

import msgspec
import pytest

from grader.dialects.respelling import Respelling
from grader.messages.frames import FrameError, decode_payload
from grader.reading.messages import (
    CELL_LIMIT,
    NAME_LENGTH,
    CellText,
    Content,
    Cost,
    FromReader,
    Read,
    SentText,
    Unreadable,
)

CELL = CellText("code", "x = 1", 1)
COST = Cost(0.0, 0)


def decode(answer: Read | Unreadable) -> object:
    return decode_payload(msgspec.msgpack.encode(answer), FromReader)  # type: ignore[arg-type]


def read(content: Content) -> Read:
    return Read("", content, Respelling(), COST)


def test_an_answer_comes_back_as_it_was() -> None:
    problem = Unreadable("", SentText("{limit} MB", {"limit": 3}), SentText(""), COST)
    assert problem == decode(problem)
    assert read(Content((CELL,))) == decode(read(Content((CELL,))))


@pytest.mark.parametrize(
    "text", ["{limit:>999999999}", "{limit!r}", "{limit.real}", "{0}{", "}", "x" * 501]
)
def test_a_sentence_has_names_of_values_and_nothing_else(text: str) -> None:
    with pytest.raises(FrameError):
        decode(Unreadable("", SentText(text, {"limit": 3}), SentText(""), COST))


@pytest.mark.parametrize(
    "content",
    [
        Content((CELL,) * (CELL_LIMIT + 1)),
        Content((CELL,), assignment="a" * (NAME_LENGTH + 1)),
        Content((CELL,), language="a" * (NAME_LENGTH + 1)),
        Content((CellText("code", "", 0),)),
        Content((CellText("raw", ""),)),  # type: ignore[arg-type]
    ],
)
def test_what_no_reader_answers_is_refused(content: Content) -> None:
    with pytest.raises(FrameError):
        decode(read(content))
