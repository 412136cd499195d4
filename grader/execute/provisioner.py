"""The kernel provisioner: starts a student kernel in a sandbox, for jupyter_client.

The kernel manager (`grader.execute.manager`) says what to start.
"""

import secrets
from typing import Any

from jupyter_client.provisioning import KernelProvisionerBase

from grader.execute.kernel import CHANNELS, StartedKernel, start_kernel
from grader.sandbox.interface import Process


class SandboxProvisioner(KernelProvisionerBase):  # type: ignore[misc]
    """Starts, polls and kills one sandboxed kernel.

    Its parent, a SandboxKernelManager, has the `order` and gets the socket that captures arrive on.
    """

    _kernel: StartedKernel | None = None

    @property
    def process(self) -> Process | None:
        """The sandbox that the kernel runs in, once it was started."""
        return None if self._kernel is None else self._kernel.process

    @property
    def has_process(self) -> bool:
        """Whether a kernel was started and not yet waited for."""
        return self.process is not None

    async def pre_launch(self, **_: Any) -> dict[str, Any]:
        """Return no command line: `launch_kernel` makes the command."""
        return {"cmd": [], "env": {}}

    async def launch_kernel(self, cmd: list[str], **_: Any) -> dict[str, Any]:
        """Start the kernel and return how to connect to it. Raises SandboxError."""
        del cmd
        key = secrets.token_hex(32)
        self._kernel = start_kernel(self.parent.order, key)
        self.parent.captures = self._kernel.captures
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        self.connection_info = {
            **ports,
            "transport": "ipc",
            "ip": self._kernel.place,
            "key": key.encode(),
            "signature_scheme": "hmac-sha256",
        }
        return self.connection_info

    async def poll(self) -> int | None:
        """Return None while the kernel runs, else its exit status."""
        return 0 if self.process is None else self.process.poll()

    async def wait(self) -> int | None:
        """Wait until the kernel is gone; called after a kill."""
        return 0 if self.process is None else self.process.wait()

    async def send_signal(self, signum: int) -> None:
        """Do nothing: a signal would reach the sandbox, not the kernel; interrupts are messages."""

    async def kill(self, restart: bool = False) -> None:
        """End everything in the sandbox."""
        del restart
        if self.process is not None:
            self.process.kill()

    async def terminate(self, restart: bool = False) -> None:
        """End everything in the sandbox: there is nothing in it worth a goodbye."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """End the kernel if it still runs, and remove the folder of the sockets."""
        await self.kill(restart)
        if self._kernel is not None:
            self._kernel.folder.remove()
