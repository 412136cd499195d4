"""Servers that answer, but never to the end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import grader.lms.sync.session as requesting
from grader.errors import LmsError
from grader.lms.sync.session import LmsSession, UnsureError
from grader.lms.sync.tokens import Token

HEADS = {
    "head": b"HTTP/1.1 200 OK\r\nX-Slow: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
    "body without a length": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
}


@contextmanager
def trickling(head: bytes) -> Iterator[str]:
    """Serve a head, and then a byte twenty times a second."""
    ended = threading.Event()

    def answer(channel: socket.socket) -> None:
        with channel, suppress(OSError):
            channel.recv(2**16)
            channel.sendall(head)
            while not ended.wait(0.05):
                channel.sendall(b"1")

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def session(site: str) -> Iterator[LmsSession]:
    opened = LmsSession(site, Token("secret-token"), bearer=True, sleep=lambda _: None)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "ANSWER_SECONDS", 0.3)


@pytest.mark.parametrize("part", HEADS)
def test_an_answer_that_trickles_is_no_answer(part: str) -> None:
    """Each byte began the minute anew: a command waited for days."""
    begin = time.monotonic()
    with (
        trickling(HEADS[part]) as site,
        session(site) as asking,
        pytest.raises(LmsError, match="cannot be reached"),
    ):
        asking.get(f"{site}/x")
    assert 20 > time.monotonic() - begin


def test_a_file_that_trickles_is_not_taken_for_whole(tmp_path: Path) -> None:
    head = HEADS["body without a length"]
    with (
        trickling(head) as site,
        session(site) as asking,
        pytest.raises(LmsError, match="cannot be reached"),
    ):
        asking.download(f"{site}/x", tmp_path / "x", 10**6)


def test_a_change_that_is_answered_too_slowly_may_have_been_done() -> None:
    with trickling(HEADS["head"]) as site, session(site) as asking, pytest.raises(UnsureError):
        asking.put(f"{site}/x", data={})


def test_an_answer_of_which_enough_comes_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("grader.lms.sync.session.ANSWER_BYTES", 0)
    monkeypatch.setattr("grader.lms.sync.session._PIECE", 1)
    head = HEADS["body"].replace(b"1000", b"20")
    with trickling(head) as site, session(site) as asking:
        assert b"1" * 20 == asking.get(f"{site}/x").content
