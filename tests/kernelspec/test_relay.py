"""Passing messages on, with a kernel of a few lines in the place of a real one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jupyter_client.session import Session
from zmq.constants import SocketType
from zmq.sugar.context import Context

from grader.errors import SandboxError, UsageError
from grader.execute.kernel import CHANNELS
from grader.kernelspec import relay as module
from grader.kernelspec.relay import MESSAGE_LIMIT, Connection, Relay, read_connection

KEY = "a key"
MILLISECONDS = 10_000
SILENCE = 300
LAST = 15


class Ends:
    """A relay between a kernel's sockets and those of a client, by the names of channels."""

    def __init__(self, folder: Path, context: Context[Any]) -> None:
        self.context = context
        self.connection = Connection(
            1, 2, 3, 4, 5, ip=str(folder / "front"), transport="ipc", key=KEY
        )
        self.place = str(folder / "kernel")
        kinds = {"iopub": SocketType.XPUB}
        self.kernel = {name: self._socket(kinds.get(name, SocketType.ROUTER)) for name in CHANNELS}
        for number, name in enumerate(CHANNELS, start=1):
            self.kernel[name].bind(f"ipc://{self.place}-{number}")
        self.relay = Relay(self.connection)
        self.relay.connect(self.place)
        self.client = {name: self._client(name) for name in CHANNELS}
        receive(self.kernel["iopub"])

    def _client(self, name: str) -> Any:
        if name == "iopub":
            return self.new_reader()
        made = self._socket(SocketType.DEALER)
        made.identity = b"client"
        made.connect(self.connection.address(name))
        return made

    def new_reader(self, queued: int = 1000) -> Any:
        """Return a socket that has subscribed to outputs, and has them wait in it."""
        made = self._socket(SocketType.SUB)
        made.rcvhwm = queued
        made.connect(self.connection.address("iopub"))
        made.subscribe(b"")
        return made

    def _socket(self, kind: SocketType) -> Any:
        made = self.context.socket(kind)
        made.linger = 0
        return made


def receive(end: Any, milliseconds: int = MILLISECONDS) -> list[bytes] | None:
    return end.recv_multipart() if end.poll(milliseconds) else None


@pytest.fixture
def ends() -> Iterator[Ends]:
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        context: Context[Any] = Context()
        made = Ends(Path(folder), context)
        yield made
        made.relay.close()
        context.destroy(linger=0)


def request(kind: str, key: str = KEY, **content: object) -> list[bytes]:
    session = Session(key=key.encode())
    return session.serialize(session.msg(kind, content))


@pytest.mark.parametrize("name", ["shell", "control", "stdin", "hb"])
def test_an_answer_finds_the_way_back(ends: Ends, name: str) -> None:
    ends.client[name].send_multipart([b"", b"question"])
    *way, empty, question = receive(ends.kernel[name])
    assert (b"", b"question") == (empty, question)
    ends.kernel[name].send_multipart([*way, b"answer"])
    assert [b"answer"] == receive(ends.client[name])


def test_the_kernel_may_ask_whoever_has_sent_it_a_cell(ends: Ends) -> None:
    """On another channel, by the identity of the request."""
    ends.client["shell"].send(b"cell")
    *way, _ = receive(ends.kernel["shell"])
    ends.client["stdin"].send(b"here")
    assert receive(ends.kernel["stdin"])
    ends.kernel["stdin"].send_multipart([*way, b"question"])
    assert [b"question"] == receive(ends.client["stdin"])


def test_outputs_wait_for_a_client_that_is_slow(ends: Ends) -> None:
    ends.kernel["iopub"].sndhwm = 0
    for number in range(5000):
        ends.kernel["iopub"].send(b"%d" % number * 100)
    time.sleep(1)
    received = [receive(ends.client["iopub"]) for _ in range(5000)]
    assert [[b"%d" % number * 100] for number in range(5000)] == received


def test_a_client_that_has_stopped_reading_does_not_stop_the_others(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAITING_SECONDS", 0.2)
    stopped = ends.new_reader(queued=1)
    time.sleep(0.5)
    for _ in range(60):
        ends.kernel["iopub"].send(bytes(2**20))
        assert receive(ends.client["iopub"])
    assert stopped.poll(0)
    stopped.close()


def test_whoever_subscribes_later_misses_nothing(ends: Ends) -> None:
    """The kernel goes on sending while nobody listens, so that the next one need not wait."""
    ends.client["iopub"].close()
    assert None is receive(ends.kernel["iopub"], SILENCE)


def test_a_request_to_shut_down_is_passed_on_and_ends_it_with_the_answer(ends: Ends) -> None:
    ends.client["control"].send_multipart(request("shutdown_request", restart=True))
    way, client, *_ = receive(ends.kernel["control"])
    assert not ends.relay.over.is_set()
    ends.kernel["control"].send_multipart([way, client, b"answer"])
    assert ends.relay.over.wait(20)
    assert ends.relay.was_asked
    assert [b"answer"] == receive(ends.client["control"])


def test_a_kernel_that_does_not_answer_is_ended_all_the_same(ends: Ends) -> None:
    ends.client["control"].send_multipart(request("shutdown_request", restart=False))
    assert ends.relay.over.wait(20)
    assert ends.relay.was_asked


@pytest.mark.parametrize(
    "parts",
    [
        request("interrupt_request"),
        request("shutdown_request", key="another"),
        [b"shutdown_request"],
        [b"<IDS|MSG>", b"", b"shutdown_request"],
        [b""],
    ],
    ids=["another request", "not signed", "no message", "cut off", "empty"],
)
def test_nothing_else_shuts_down(ends: Ends, parts: list[bytes]) -> None:
    ends.client["control"].send_multipart(parts)
    assert parts == receive(ends.kernel["control"])[-len(parts) :]
    assert not ends.relay.over.wait(1.5)


def test_a_message_longer_than_a_kernel_may_send_ends_it(ends: Ends) -> None:
    ends.kernel["iopub"].send(bytes(MESSAGE_LIMIT + 1))
    assert ends.relay.over.wait(20)
    assert not ends.relay.was_asked


def test_the_longest_message_is_passed_on(ends: Ends) -> None:
    ends.kernel["iopub"].send(bytes(MESSAGE_LIMIT))
    assert [bytes(MESSAGE_LIMIT)] == receive(ends.client["iopub"])


@pytest.mark.parametrize("again", range(5))
def test_what_a_kernel_has_said_last_is_still_passed_on(ends: Ends, again: int) -> None:
    """However soon it ends after that."""
    for number in range(LAST):
        ends.kernel["iopub"].send(b"%d" % number)
    ends.kernel["iopub"].close(linger=1000)
    assert ends.relay.over.wait(20)
    ends.relay.close()
    received = [receive(ends.client["iopub"]) for _ in range(LAST)]
    assert [[b"%d" % number] for number in range(LAST)] == received


def test_a_request_to_a_kernel_that_has_ended_keeps_nobody_waiting(ends: Ends) -> None:
    for name in CHANNELS:
        ends.kernel[name].close(linger=0)
    assert ends.relay.over.wait(20)
    for _ in range(1500):  # more than wait in a socket
        ends.client["hb"].send(b"ping")
    time.sleep(0.3)
    begun = time.monotonic()
    ends.relay.close()
    assert time.monotonic() - begun < 10  # it waited for ever


def test_a_port_that_is_taken_is_told(ends: Ends) -> None:
    with pytest.raises(UsageError, match="cannot listen at ipc://"):
        Relay(replace(ends.connection, ip="/dev/null/front"))


def test_a_kernel_that_is_not_there_is_told(
    ends: Ends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CONNECTED_SECONDS", 0.2)
    relay = Relay(replace(ends.connection, ip=f"{ends.connection.ip}-2"))
    with pytest.raises(SandboxError, match="cannot be reached"):
        relay.connect(str(Path(ends.place).with_name("nobody")))
    relay.close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, r"Cannot read .*: No such file"),
        ("{", "not a connection file"),
        ("{}", "not a connection file"),
    ],
)
def test_what_is_no_connection_file_is_told(tmp_path: Path, content: str | None, told: str) -> None:
    file = tmp_path / "kernel.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=told):
        read_connection(file)


def replace(connection: Connection, **changes: Any) -> Connection:
    return msgspec.structs.replace(connection, **changes)
