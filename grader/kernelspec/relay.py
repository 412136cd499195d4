"""Passing messages on between Jupyter, by its connection file, and a kernel in a sandbox.

Messages go through as they are. Only requests on the control channel are looked at: one to shut
down ends the sandbox, whatever the kernel would make of it. Nothing that the kernel sends is
decoded, and what of it waits here has a bound: the rest waits in the kernel's own memory.
"""

import contextlib
import math
import os
import secrets
import select
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from jupyter_client.session import Session
from zmq.constants import Event, PollEvent, SocketOption, SocketType
from zmq.error import Again, ContextTerminated, ZMQError
from zmq.sugar.context import Context
from zmq.sugar.poll import Poller

from grader.decoding import prepared
from grader.errors import SandboxError, UsageError
from grader.execute.kernel import CHANNELS
from grader.language import say


class Connection(msgspec.Struct, frozen=True):
    """What stands in a connection file; with keys of CURVE the channels are encrypted."""

    shell_port: int
    iopub_port: int
    stdin_port: int
    control_port: int
    hb_port: int
    ip: str = "127.0.0.1"
    transport: Literal["tcp", "ipc"] = "tcp"
    key: str = ""
    signature_scheme: str = "hmac-sha256"
    curve_publickey: str | None = None
    curve_secretkey: str | None = None

    def address(self, channel: str) -> str:
        """Return where a channel is to be."""
        mark = "-" if self.transport == "ipc" else ":"
        return f"{self.transport}://{self.ip}{mark}{getattr(self, f'{channel}_port')}"


def read_connection(file: Path) -> Connection:
    """Read a connection file. Raises UsageError."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=prepared(Connection))
    except OSError as error:
        raise UsageError(
            say("cannot-read", path=str(file), reason=str(error.strerror)), _HINT
        ) from None
    except msgspec.DecodeError as error:
        raise UsageError(
            say("not-connection-file", file=str(file), error=str(error)), _HINT
        ) from None


_HINT = say("jupyter-starts-this-command-with-file-own")


MESSAGE_LIMIT = 9 * 2**20
"""The longest part of a message that a kernel may send: more than a cell may put out."""

_QUEUED_MESSAGES = 20
_WAITING_SECONDS = 10.0
"""How long somebody who does not read outputs is waited for, before outputs are lost to them."""

_ANSWER_SECONDS = 1.0
"""How long a kernel has to answer that it will shut down."""

_LAST_MILLISECONDS = 100
"""How long the last messages of a kernel that has ended are waited for."""

_ROOM_MILLISECONDS = 200
_NEVER = 10**9
"""Milliseconds; with -1 the socket would forget at once what it has received and nobody read."""

_LINGER_MILLISECONDS = 1000
_CONNECTED_SECONDS = 20.0
_SUBSCRIBES = b"\x01"


class Relay:
    """Listens where Jupyter will connect, from the beginning on; to be closed.

    Once it was connected to a kernel, `over` says that nothing more is to be passed on: somebody
    has asked to shut down (`was_asked`), or the kernel's end was cut.
    """

    was_asked = False

    def __init__(self, connection: Connection) -> None:
        self.over = threading.Event()
        self.ending, self._end = os.pipe()  # readable when nothing more is to be waited for
        self._context = Context()
        self._idle: list[Any] = []
        self._fronts: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        try:
            for channel in CHANNELS:
                self._fronts[channel] = self._listen(connection, channel)
        except BaseException:
            self.close()
            raise
        self._session = Session(
            key=connection.key.encode(), signature_scheme=connection.signature_scheme
        )

    def connect(self, place: str) -> None:
        """Begin to pass messages on, to a kernel's sockets at a place that is needed no more then.

        Raises SandboxError.
        """
        identity = secrets.token_bytes(8)  # one for all: an answer to stdin comes by shell's
        ends = []
        for number, channel in enumerate(CHANNELS, start=1):
            back = self._back(channel, identity)
            monitor = back.get_monitor_socket(Event.CONNECTED | Event.DISCONNECTED)
            self._idle.append(monitor)
            back.connect(f"ipc://{place}-{number}")  # now that somebody watches
            ends.append((channel, self._fronts[channel], back, monitor))
        for *_, monitor in ends:
            if not monitor.poll(_CONNECTED_SECONDS * 1000):
                raise SandboxError(say("kernels-sockets-cannot-reached"), say("try-again"))
            monitor.recv_multipart()
        with _uninterrupted():  # a socket is closed by the thread that has it
            for channel, *three in ends:
                passing = _KINDS.get(channel, _Passing)(self, three)
                thread = threading.Thread(target=passing.run, name=channel, daemon=True)
                thread.start()
                self._threads.append(thread)
            self._idle.clear()

    def asks_for_shutdown(self, parts: list[bytes]) -> bool:
        """Say whether a message from Jupyter asks to shut down, and is signed."""
        try:
            _, rest = self._session.feed_identities(parts)
            header = self._session.deserialize(rest, content=False)["header"]
            return bool(header["msg_type"] == "shutdown_request")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            return False  # nobody who has the key has written it

    def close(self) -> None:
        """Pass on what is still there, and let go of all channels."""
        os.write(self._end, b".")
        for thread in self._threads:
            thread.join(_LINGER_MILLISECONDS / 1000)
        for each in self._idle:
            each.close(linger=0)
        # A thread that still waits for a reader ends by this. Nobody waits for it any longer.
        last = threading.Thread(target=self._context.term, daemon=True)
        last.start()
        last.join(2 * _LINGER_MILLISECONDS / 1000)

    def _listen(self, connection: Connection, channel: str) -> Any:
        kind = SocketType.XPUB if channel == "iopub" else SocketType.ROUTER
        front = self._context.socket(kind)
        self._idle.append(front)
        front.linger = _LINGER_MILLISECONDS
        if channel == "iopub":
            front.sndhwm = _QUEUED_MESSAGES
            front.setsockopt(SocketOption.XPUB_NODROP, 1)
        else:
            front.router_handover = 1  # a client that comes back, as ipykernel has it
        if connection.curve_secretkey is not None:
            front.curve_secretkey = connection.curve_secretkey.encode()
            front.curve_server = True
        address = connection.address(channel)
        try:
            front.bind(address)
        except ZMQError as error:
            raise UsageError(
                say("kernel-cannot-listen", address=address, error=str(error))
            ) from None
        return front

    def _back(self, channel: str, identity: bytes) -> Any:
        back = self._context.socket(SocketType.XSUB if channel == "iopub" else SocketType.DEALER)
        self._idle.append(back)
        back.linger = 0
        back.rcvhwm = _QUEUED_MESSAGES
        back.setsockopt(SocketOption.MAXMSGSIZE, MESSAGE_LIMIT)
        back.setsockopt(
            SocketOption.HANDSHAKE_IVL, 0
        )  # the kernel answers when it has imported all
        back.setsockopt(SocketOption.RECONNECT_IVL, _NEVER)  # there is no other kernel to come
        if channel != "iopub":
            back.identity = identity
        return back


class _Passing:
    """Passes the messages of one channel on, both ways."""

    def __init__(self, relay: Relay, ends: Iterable[Any]) -> None:
        self.relay = relay
        self.front, self.back, self.monitor = ends

    def run(self) -> None:
        """Pass on until the relay is ending and there is nothing any more."""
        try:
            with contextlib.suppress(ContextTerminated):
                self._pass_on()
        finally:
            self.relay.over.set()
            for end in (self.front, self.back, self.monitor):
                end.close()

    def request(self, parts: list[bytes]) -> None:
        """Take a message to the kernel, once it has room for it: one that has ended never has."""
        while self.back.poll(_ROOM_MILLISECONDS, PollEvent.POLLOUT) == 0:
            if self.monitor.poll(0) or select.select([self.relay.ending], [], [], 0)[0]:
                return
        self.back.send_multipart(parts)

    def answer(self, parts: list[bytes]) -> None:
        self.front.send_multipart(parts)

    def patience(self) -> int | None:
        """Return for how many milliseconds messages are waited for; None: as long as it takes."""
        return None

    def _pass_on(self) -> None:
        poller = Poller()
        for end in (self.front, self.back, self.monitor, self.relay.ending):
            poller.register(end, PollEvent.POLLIN)
        is_ending = False
        while True:
            ready = dict(poller.poll(_LAST_MILLISECONDS if is_ending else self.patience()))
            if self.back in ready:
                self.answer(self.back.recv_multipart())
            elif is_ending:
                return
            if self.front in ready and not is_ending:
                self.request(self.front.recv_multipart())
            for end in (self.monitor, self.relay.ending):
                if end in ready:
                    poller.unregister(end)
                    self.relay.over.set()
                    is_ending |= end == self.relay.ending
            self.look()

    def look(self) -> None:
        """Do what is due at any time."""


class _Outputs(_Passing):
    """The channel of outputs, of which nothing is lost as long as everybody reads them."""

    is_held_up = False

    def request(self, parts: list[bytes]) -> None:
        """Subscribe, and never take it back: whoever comes next would miss the first outputs."""
        if parts[0][:1] == _SUBSCRIBES:
            self.back.send_multipart(parts)

    def answer(self, parts: list[bytes]) -> None:
        """Give all who have subscribed an output; who has stopped reading is waited for once."""
        self.front.sndtimeo = 0 if self.is_held_up else int(_WAITING_SECONDS * 1000)
        try:
            self.front.send_multipart(parts)
            self.is_held_up = False
        except Again:
            self.is_held_up = True
            self.front.setsockopt(SocketOption.XPUB_NODROP, 0)
            self.front.send_multipart(parts)
            self.front.setsockopt(SocketOption.XPUB_NODROP, 1)


class _Control(_Passing):
    """The channel of requests that come before all others."""

    deadline: float | None = None

    def patience(self) -> int | None:
        """Return how long the kernel has to answer, where it has to."""
        if self.deadline is None or self.relay.over.is_set():
            return None
        return max(0, math.ceil((self.deadline - time.monotonic()) * 1000))

    def request(self, parts: list[bytes]) -> None:
        """Take a message to the kernel, and see whether it is the last one."""
        super().request(parts)
        if self.deadline is None and self.relay.asks_for_shutdown(parts):
            self.deadline = time.monotonic() + _ANSWER_SECONDS

    def answer(self, parts: list[bytes]) -> None:
        """Take a message from the kernel: after a request to shut down, that is its answer."""
        super().answer(parts)
        if self.deadline is not None:
            self._end()

    def look(self) -> None:
        """End what does not answer."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self._end()

    def _end(self) -> None:
        self.relay.was_asked = True
        self.relay.over.set()


_KINDS: dict[str, type[_Passing]] = {"iopub": _Outputs, "control": _Control}


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
