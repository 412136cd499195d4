"""Starting a kernel in a sandbox: five sockets, and the descriptors that it inherits.

Five unix sockets are bound in a private folder outside and passed in as descriptors, as is the
configuration. Whoever has connected to them can remove the folder.
"""

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import msgspec

from grader.assignment import Limits
from grader.execute.stop import OUTPUT_CELLS
from grader.files import OwnFolder
from grader.messages.frames import encode_frame
from grader.messages.kernel import EntrySpec, KernelConfig
from grader.sandbox.interface import (
    Command,
    Process,
    Sandbox,
    inside_numbers,
)

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
"""Jupyter's channels, in the order of a KernelConfig's sockets."""

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
    All cells together may put out `total_bytes`, a notebook's share of the limit if not given.
    `is_script` says that the submission was no notebook.
    """

    sandbox: Sandbox
    entries: tuple[EntrySpec, ...]
    files: dict[str, bytes]
    limits: Limits
    compatibility: bool = False
    preamble: str = ""
    is_preamble_run: bool = False
    total_bytes: int | None = None
    is_script: bool = False


class StartedKernel(NamedTuple):
    """A kernel that is starting. Its sockets accept connections already; `folder` has them, and is
    the caller's to remove. Captures arrive on `captures`.
    """

    process: Process
    captures: socket.socket
    folder: OwnFolder

    @property
    def place(self) -> str:
        """The beginning of the sockets' paths: "-1" to "-5" follow, in the order of CHANNELS."""
        return _place(self.folder)


def start_kernel(order: KernelOrder, key: str) -> StartedKernel:
    """Start a kernel whose messages are signed with a key. Raises SandboxError."""
    folder = _private_folder()
    with ExitStack() as undone, ExitStack() as passed_on:
        undone.callback(folder.remove)
        numbers = range(1, len(CHANNELS) + 1)
        paths = [f"{_place(folder)}-{number}" for number in numbers]
        listeners = [passed_on.enter_context(_listener(path)) for path in paths]
        captures, capture_writer = socket.socketpair()
        undone.callback(captures.close)
        config_writer, config_reader = socket.socketpair()
        inner = (*listeners, capture_writer, config_reader)
        for end in (capture_writer, config_reader, config_writer):
            passed_on.enter_context(end)
        *sockets, capture_number, config_number = inside_numbers(len(inner))
        process = _start(order, config_number, [end.fileno() for end in inner])
        undone.callback(process.kill)
        config_writer.sendall(encode_frame(_config(order, key, sockets, capture_number)))
        undone.pop_all()
    return StartedKernel(process, captures, folder)


def _config(order: KernelOrder, key: str, sockets: Sequence[int], captures: int) -> KernelConfig:
    cell_bytes = int(order.limits.output_mb * 2**20)
    total_bytes = int(OUTPUT_CELLS * order.limits.output_mb * 2**20)
    return KernelConfig(
        sockets=tuple(sockets),  # type: ignore[arg-type]
        key=key,
        capture_descriptor=captures,
        entries=order.entries,
        compatibility=order.compatibility,
        cell_bytes=cell_bytes,
        total_bytes=total_bytes if order.total_bytes is None else order.total_bytes,
        preamble=order.preamble if order.is_preamble_run else "",
        is_script=order.is_script,
    )


def _start(order: KernelOrder, config_number: int, descriptors: Sequence[int]) -> Process:
    command = Command(
        program="kernel",
        arguments=(str(config_number),),
        files=order.files,
        descriptors=tuple(descriptors),
        environment=_ENVIRONMENT,
        limits=order.limits.of_kernel(),
    )
    return order.sandbox.start(command)


def _place(folder: OwnFolder) -> str:
    return str(folder.path / "kernel")


def _private_folder() -> OwnFolder:
    folder = OwnFolder()
    if len(str(folder.path)) > _PATH_LIMIT:
        folder.remove()
        folder = OwnFolder(place="/tmp")  # noqa: S108
    return folder


def _listener(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        listener.listen(16)
    except BaseException:
        listener.close()
        raise
    return listener
