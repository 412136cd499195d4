"""What a cell puts out is cut in the kernel, and a flood is let through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.inside.kernel.habits import FLOOD, Thrift

CELL, ALL = 100_000, 250_000


def pack(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


class Session:
    """Keeps what is sent, and how often something was cut."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.cuts = 0
        self.thrift = Thrift(self._send, pack, CELL, ALL, self._cut)

    def _send(self, stream: Any, message: Any, content: Any = None, **_: Any) -> None:
        self.sent.append(message["content"] if isinstance(message, dict) else content)

    def _cut(self) -> None:
        self.cuts += 1

    def write(self, text: str) -> None:
        content = {"name": "stdout", "text": text}
        self.thrift.send(None, {"msg_type": "stream", "content": content}, ident=b"stream")

    @property
    def size(self) -> int:
        return sum(len(pack(content)) for content in self.sent)


def test_what_is_short_is_sent_as_it_is() -> None:
    session = Session()
    session.write("x" * 50_000)
    assert ([{"name": "stdout", "text": "x" * 50_000}], 0) == (session.sent, session.cuts)


@pytest.mark.parametrize("letter", ["x", "é", "\0", "\n", '"'])
def test_the_beginning_of_what_is_long_is_sent(letter: str) -> None:
    session = Session()
    count = 200_000 // (len(pack(letter)) - 2)
    content = {"name": "stdout", "text": letter * count}
    session.thrift.send(None, "stream", content)
    (sent,) = session.sent
    assert sent["text"].startswith(letter * 5000)
    assert sent["text"].endswith("\n…\n")
    assert CELL / 3 < session.size < CELL
    assert 1 == session.cuts


def test_all_cells_together_are_cut() -> None:
    session = Session()
    for _ in range(9):
        session.thrift.begin_cell()
        session.write("x" * 80_000)
    assert 160_000 < session.size < ALL


def test_a_picture_is_sent_whole_or_not_at_all() -> None:
    session = Session()
    session.thrift.send(None, "display_data", {"data": {"image/png": "x" * 200_000}})
    session.thrift.send(None, "display_data", {"data": {"image/png": "x" * 20_000}})
    assert [20_000] == [len(content["data"]["image/png"]) for content in session.sent]


def test_an_error_is_always_told() -> None:
    session = Session()
    session.write("x" * 200_000)
    error = {
        "ename": "E",
        "evalue": "v" * 50_000,
        "traceback": ["Cell In[1], line 2", "t" * 50_000],
    }
    for kind in ("error", "execute_reply"):
        session.thrift.send(None, kind, content=dict(error))
    for content in session.sent[1:]:
        assert "E" == content["ename"]
        assert content["traceback"][0].startswith("Cell In[1], line 2")
        assert len(pack(content)) < 10_000


def test_what_is_no_output_is_never_cut() -> None:
    session = Session()
    session.write("x" * 1_000_000)
    session.thrift.send(None, "status", {"execution_state": "idle"})
    session.thrift.send(None, "execute_reply", {"status": "ok", "user_expressions": "x" * 200_000})
    assert 3 == len(session.sent)


def test_a_flood_is_let_through() -> None:
    session = Session()
    for _ in range(2 * FLOOD):
        session.write("x" * CELL)
    assert session.size > 3 * CELL
