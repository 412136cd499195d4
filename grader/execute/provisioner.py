"""The kernel provisioner: starts a student kernel in a sandbox, for jupyter_client.

Five unix sockets are bound in a private folder outside and passed in as descriptors, as is the
configuration. The kernel manager (`grader.execute.manager`) says what to start.
"""

from __future__ import annotations

import math
import secrets
import socket
from typing import Any

import msgspec
from jupyter_client.provisioning import KernelProvisionerBase

from grader.assignment import Limits
from grader.execute.stop import OUTPUT_CELLS
from grader.messages import EntrySpec, KernelConfig, encode_frame
from grader.sandbox.interface import (
    Command,
    Process,
    ResourceLimits,
    Sandbox,
    inside_numbers,
)
from grader.temporary import OwnFolder

_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
_CPU_SHARE = 4.0
"""Processor seconds for each second that a notebook may take, where the assignment says nothing."""

_PATH_LIMIT = 90
"""The longest folder name for sockets: a socket's whole path may have 107 bytes."""

_ENVIRONMENT = {
    "TVM_NUM_THREADS": "2",
    # pip finds at once that there is no network, and asks nobody
    "PIP_NO_INDEX": "1",
    "PIP_RETRIES": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


class KernelOrder(msgspec.Struct, frozen=True):
    """What to start: a kernel in `sandbox` with `files` in its working folder.

    `entries` is what the capture looks for, `limits` what the kernel may use. `compatibility` says
    that the notebook was written for an earlier TVM. `preamble` are the imports that the
    assignment's own notebook begins with; they are run before the first cell if `is_preamble_run`.
    """

    sandbox: Sandbox
    entries: tuple[EntrySpec, ...]
    files: dict[str, bytes]
    limits: Limits
    compatibility: bool = False
    preamble: str = ""
    is_preamble_run: bool = False


class SandboxProvisioner(KernelProvisionerBase):  # type: ignore[misc]
    """Starts, polls and kills one sandboxed kernel.

    Its parent, a SandboxKernelManager, has the `order` and gets the socket that captures arrive on.
    """

    process: Process | None = None
    _folder: OwnFolder | None = None

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
        self._folder = _private_folder()
        key = secrets.token_hex(32)
        paths = [f"{self._folder.path}/kernel-{number}" for number, _ in enumerate(_CHANNELS, 1)]
        listeners = [_listener(path) for path in paths]
        self.parent.captures, capture_writer = socket.socketpair()
        config_writer, config_reader = socket.socketpair()
        inner = (*listeners, capture_writer, config_reader)
        *sockets, capture_number, config_number = inside_numbers(len(inner))
        order: KernelOrder = self.parent.order
        config = KernelConfig(
            sockets=tuple(sockets),  # type: ignore[arg-type]
            key=key,
            capture_descriptor=capture_number,
            entries=order.entries,
            compatibility=order.compatibility,
            cell_bytes=int(order.limits.output_mb * 2**20),
            total_bytes=int(OUTPUT_CELLS * order.limits.output_mb * 2**20),
            preamble=order.preamble if order.is_preamble_run else "",
        )
        try:
            self.process = self._start(config_number, tuple(end.fileno() for end in inner))
            config_writer.sendall(encode_frame(config))
        finally:
            for end in (*inner, config_writer):
                end.close()
        ports = {f"{name}_port": number for number, name in enumerate(_CHANNELS, start=1)}
        self.connection_info = {
            **ports,
            "transport": "ipc",
            "ip": str(self._folder.path / "kernel"),
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
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def _start(self, config_number: int, descriptors: tuple[int, ...]) -> Process:
        order: KernelOrder = self.parent.order
        command = Command(
            program="kernel",
            arguments=(str(config_number),),
            files=order.files,
            descriptors=descriptors,
            environment=_ENVIRONMENT,
            limits=_resources(order.limits),
        )
        return order.sandbox.start(command)


def _resources(limits: Limits) -> ResourceLimits:
    """Return what holds inside; wall time is the referee's matter."""
    seconds = limits.cpu_seconds or _CPU_SHARE * limits.notebook_seconds
    return msgspec.structs.replace(
        limits.resources(),
        open_files=limits.open_files,
        files=limits.files,
        cpu_seconds=math.ceil(seconds),
    )


def _private_folder() -> OwnFolder:
    folder = OwnFolder()
    if len(str(folder.path)) > _PATH_LIMIT:
        folder.remove()
        folder = OwnFolder(place="/tmp")  # noqa: S108
    return folder


def _listener(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    return listener
