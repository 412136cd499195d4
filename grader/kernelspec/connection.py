"""The connection file: where Jupyter wants a kernel to listen, and how its messages are signed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grader.errors import UsageError
from grader.execute.kernel import CHANNELS


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
        port = dict(zip(CHANNELS, self._ports(), strict=True))[channel]
        if self.transport == "ipc":
            return f"ipc://{self.ip}-{port}"
        return f"tcp://{self.ip}:{port}"

    def _ports(self) -> tuple[int, ...]:
        return (
            self.shell_port,
            self.iopub_port,
            self.stdin_port,
            self.control_port,
            self.hb_port,
        )


def read_connection(file: Path) -> Connection:
    """Read a connection file. Raises UsageError."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Connection)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.", _HINT) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{file} is no connection file: {error}", _HINT) from None


_HINT = "Jupyter starts this command, with a file of its own: choose the kernel there."
