"""The kernel manager and the client of one sandboxed kernel.

Both come from jupyter_client; what is added bounds what a hostile kernel can make them do.
"""

import logging
import socket
import sys
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from zmq.asyncio import Context
from zmq.constants import SocketOption

from grader.execute.kernel import KernelOrder

LOG = logging.getLogger("grader.execute")
LOG.addHandler(logging.NullHandler())

_QUEUED_MESSAGES = 20
"""Messages that wait on our side; the others wait in the kernel's memory."""

_SPECIFICATION = {
    "argv": [],
    "display_name": "sandboxed Python",
    "language": "python",
    "interrupt_mode": "message",
    "metadata": {"kernel_provisioner": {"provisioner_name": "grader-sandbox"}},
}


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
    """A client with metered channels that accepts no message longer than its manager says."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.shell_channel_class = MeteredChannel
        self.iopub_channel_class = MeteredChannel

    def _context_default(self) -> Any:
        self._created_context = True
        context = Context()
        context.setsockopt(SocketOption.MAXMSGSIZE, self.parent.message_limit)
        context.setsockopt(SocketOption.RCVHWM, _QUEUED_MESSAGES)
        return context


class SandboxKernelManager(AsyncKernelManager):  # type: ignore[misc]
    """Manages one kernel. `captures` is the socket that its captures arrive on, once it is started.

    `message_limit` is the size in bytes of the largest part of a message that is received.
    """

    captures: socket.socket | None = None

    def __init__(self, order: KernelOrder, message_limit: int) -> None:
        super().__init__(log=LOG)
        self.order = order
        self.message_limit = message_limit
        self.client_factory = SandboxKernelClient
        self._specification = KernelSpec(**_SPECIFICATION)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The one specification there is: what the notebook asks for plays no part."""
        return self._specification

    def write_connection_file(self, **_: Any) -> None:
        """Write none: the key stays in memory."""
