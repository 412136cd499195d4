"""The client of one sandboxed kernel.

It comes from jupyter_client; what is added bounds what a hostile kernel can make it do.
"""

import logging
import sys
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from zmq.asyncio import Context
from zmq.constants import SocketOption

from grader.execute.kernel import CHANNELS, StartedKernel

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
