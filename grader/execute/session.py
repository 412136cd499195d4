"""One kernel from its start to its end, with everything that hangs on it.

The client comes from jupyter_client; what is added bounds what a hostile kernel can make it do.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Generic, TypeVar

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from zmq.asyncio import Context
from zmq.constants import Event, SocketOption

from grader.errors import SandboxError
from grader.execute.captures import CaptureReader, Taken
from grader.execute.kernel import CHANNELS, KernelOrder, StartedKernel, start_kernel
from grader.language import say
from grader.sandbox.interface import Process
from grader.sandbox.room import refuse_displaced

# An event loop in its own thread, whatever loop the caller's thread runs: asyncio refuses a second
# loop in a thread that runs one, and callers do run one: every Jupyter cell, every asynchronous
# handler of a web framework, every test of pytest-asyncio.


_Result = TypeVar("_Result")

Call = Callable[[], None]
HandOver = Callable[[Call], None]
"""Has a call made in the caller's thread, and does not wait for it."""

Work = Callable[[HandOver], Coroutine[Any, Any, _Result]]


def run_in_loop_thread(work: Work[_Result]) -> _Result:
    """Run a coroutine in a new event loop, in a new thread; return what it returns.

    `work` receives a function that hands calls over to the caller's thread, where they are made in
    order before this returns: a progress bar in a notebook is drawn by the cell's thread alone.

    Whatever interrupts the caller's thread, such as Ctrl-C or a call that fails, cancels the
    coroutine and is raised when the coroutine has ended.
    """
    return _LoopThread(work).run()


class _LoopThread(Generic[_Result]):
    def __init__(self, work: Work[_Result]) -> None:
        self._work = work
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._lock = Lock()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[_Result]] | None = None
        self._is_cancelled = False

    def run(self) -> _Result:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="notebook") as executor:
            try:
                result = executor.submit(self._run_loop)
                result.add_done_callback(self._end_calls)
                while (call := self._calls.get()) is not None:
                    call()
                return result.result()
            except BaseException:
                self._cancel()
                raise

    def _end_calls(self, _: Future[_Result]) -> None:
        self._calls.put(None)

    def _cancel(self) -> None:
        """Cancel the coroutine, also one that has not begun yet; harmless after its end."""
        with self._lock:
            self._is_cancelled = True
            if self._running is not None:
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)

    def _run_loop(self) -> _Result:
        # Not `asyncio.run`: nest_asyncio, which many notebooks use, replaces it by a function that
        # fails in other threads. Its handler of SIGINT also costs 0.15 s: it has the result of a
        # task made a string.
        loop = asyncio.new_event_loop()
        try:
            task = loop.create_task(self._work(self._calls.put))
            with self._lock:
                self._running = loop, task
                if self._is_cancelled:
                    task.cancel()
            return loop.run_until_complete(task)
        finally:
            with self._lock:
                self._running = None
            _end(loop)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what the coroutine has left behind, and close the loop."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


LOG = logging.getLogger("grader.execute")
LOG.addHandler(logging.NullHandler())

_QUEUED_MESSAGES = 20
"""Messages that wait on our side; the others wait in the kernel's memory."""


class ChannelLimitError(Exception):
    """Raised when a kernel has sent more over a channel than it may."""


class MeteredChannel(AsyncZMQSocketChannel):  # type: ignore[misc]
    """A channel that receives at most `limit` bytes in all. `received` counts them."""

    received = 0
    limit = sys.maxsize

    async def _recv(self, **options: Any) -> dict[str, Any]:
        message = await self.socket.recv_multipart(**options)
        self.received += sum(len(part) for part in message)
        if self.received > self.limit:
            raise ChannelLimitError(f"more than {self.limit} bytes")
        _, parts = self.session.feed_identities(message)
        return self.session.deserialize(parts)  # type: ignore[no-any-return]


class SandboxKernelClient(AsyncKernelClient):  # type: ignore[misc]
    """A client with metered channels, for a kernel that was started with a key.

    `message_limit` is the size in bytes of the largest part of a message that is received.
    """

    def __init__(self, kernel: StartedKernel, key: str, message_limit: int) -> None:
        super().__init__(log=LOG)
        self._process = kernel.process
        self._message_limit = message_limit
        self.shell_channel_class = MeteredChannel
        self.iopub_channel_class = MeteredChannel
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        self.load_connection_info(
            {
                **ports,
                "transport": "ipc",
                "ip": kernel.place,
                "key": key,
                "signature_scheme": "hmac-sha256",
            }
        )

    async def is_alive(self) -> bool:
        """Say whether the sandbox still runs: the kernel itself is not asked."""
        return self._process.poll() is None

    def _context_default(self) -> Any:
        self._created_context = True
        context = Context()
        context.setsockopt(SocketOption.MAXMSGSIZE, self._message_limit)
        context.setsockopt(SocketOption.RCVHWM, _QUEUED_MESSAGES)
        return context


_START_SECONDS = 120.0
_POLL_SECONDS = 0.05
_CONTROL_BYTES = 2**16
_MESSAGE_EXCESS = 2**20
"""Bytes that a message may have beyond the output limit: mostly that limit is what ends a flood."""


def _start_failure(process: Process) -> SandboxError:
    lines = process.standard_error.strip().splitlines() or [f"exit status {process.poll()}"]
    return SandboxError(
        say("notebooks-kernel-ended-before-ready", lines=str(lines[-1])),
        say("run-grader-doctor-packages-may-not-fit"),
    )


class KernelSession:
    """A running kernel: an async context manager, at whose end everything of it is gone.

    Inside, `client` is connected, `captures` receives, and `process` is the sandboxed process.
    `taken` is called with what is captured as it arrives.
    """

    def __init__(self, order: KernelOrder, taken: Taken | None = None) -> None:
        self._order = order
        self._taken = taken
        self._kernel: StartedKernel | None = None
        self._breaks: list[asyncio.Future[Any]] = []
        self._control: Any = None
        self.client: Any = None
        self.captures: CaptureReader

    @property
    def process(self) -> Process:
        """The sandbox that the kernel runs in."""
        assert self._kernel is not None, "a session that was not entered has no process"
        return self._kernel.process

    @property
    def channels(self) -> tuple[MeteredChannel, MeteredChannel]:
        """The channels of replies and of outputs."""
        return self.client.shell_channel, self.client.iopub_channel

    @property
    def breaks(self) -> frozenset[asyncio.Future[Any]]:
        """Futures that end when a channel was cut: by the kernel's end or an over-long message."""
        return frozenset(self._breaks)

    def interrupt(self) -> None:
        """Ask the kernel to interrupt its cell. What it answers is not read."""
        if self._control is None:
            # Sockets that are made from here on: what the kernel sends here is nobody's memory.
            self.client.context.setsockopt(SocketOption.MAXMSGSIZE, _CONTROL_BYTES)
            self.client.context.setsockopt(SocketOption.RCVHWM, 1)
            self._control = self.client.connect_control()
        self.client.session.send(self._control, "interrupt_request", {})

    async def __aenter__(self) -> KernelSession:
        """Start the kernel and wait until it answers. Raises SandboxError."""
        try:
            key = secrets.token_hex(32)
            self._kernel = start_kernel(self._order, key)
            self.captures = CaptureReader(self._kernel.captures, taken=self._taken)
            limit = int(self._order.limits.output_mb * 2**20) + _MESSAGE_EXCESS
            self.client = SandboxKernelClient(self._kernel, key, limit)
            self.client.start_channels(stdin=False, hb=False, control=False)
            self.client.allow_stdin = False
            await asyncio.wait_for(self._answer(), _START_SECONDS)
        except asyncio.TimeoutError:
            await self._close()
            raise SandboxError(
                say("notebooks-kernel-did-not-start-within-seconds", start_seconds=_START_SECONDS),
                say("try-again-when-machine-less-busy"),
            ) from None
        except BaseException:
            await self._close()
            raise
        self._breaks = [self._watch(channel) for channel in self.channels]
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the kernel, whatever it is doing."""
        await self._close()

    def _watch(self, channel: Any) -> asyncio.Future[Any]:
        monitor = channel.socket.get_monitor_socket(Event.DISCONNECTED)
        event: asyncio.Future[Any] = asyncio.ensure_future(monitor.recv_multipart())
        return event

    async def _answer(self) -> None:
        """Wait for a reply, and until the channel of outputs is there: none may be missed."""
        while True:
            self.client.kernel_info()
            while not await self._arrived(self.client.shell_channel):
                if self.process.poll() is not None:
                    refuse_displaced(self.process)
                    raise _start_failure(self.process)
            if await self._arrived(self.client.iopub_channel):
                return

    async def _arrived(self, channel: Any) -> bool:
        try:
            await channel.get_msg(timeout=_POLL_SECONDS)
        except Empty:
            return False
        return True

    async def _close(self) -> None:
        if self._kernel is not None:
            self._kernel.process.kill()
        for future in self._breaks:
            future.cancel()
        if self.client is not None:
            for channel in self.channels:
                channel.socket.disable_monitor()
            if self._control is not None:
                self._control.close(linger=0)
            self.client.stop_channels()
        if self._kernel is not None:
            self._kernel.folder.remove()
            self.captures.close()
