"""The student kernel's way in: an IPython kernel on sockets that the referee has made.

The sockets are already listening when the process starts, so no folder is shared with the outside
and no connection file is written.
"""

import functools
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import IOPubThread
from ipykernel.kernelapp import IPKernelApp
from traitlets.config import Config
from zmq.constants import SocketOption, SocketType
from zmq.sugar.context import Context

from grader.inside.kernel import capture, compatibility, habits, magics, refused, stand_ins
from grader.inside.kernel.compatibility import install_behaviour
from grader.messages.frames import (
    KERNEL_FRAME_LIMIT,
    FrameError,
    Message,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.messages.kernel import KernelConfig

_IOPUB = 2
"""The place of the channel of outputs among a KernelConfig's sockets, from 1."""


def main(arguments: Sequence[str]) -> None:
    """Run a kernel until it is killed; the argument is the descriptor that has its KernelConfig.

    Raises FrameError when what comes from there is no KernelConfig.
    """
    config = _read_config(int(arguments[0]))
    _keep_home_clean()
    app = _KernelApp.instance(config=_settings(), sockets=config.sockets)
    app.session.key = config.key.encode()
    app.initialize([])
    if not _can_make_sockets():
        app.shell.system = app.shell.system_raw  # the usual way needs its own terminal
    if config.compatibility:
        compatibility.install()
        install_behaviour()
    emit = _sender(config.capture_descriptor)
    sys.path.insert(0, "")  # as in Jupyter: a notebook may import a file that it has written
    refused.install()
    notes = habits.Notes(emit)
    accept = functools.partial(notes.tell, "loop_variable") if config.compatibility else None
    compatibility.explain_loop_variables(accept)
    _make_at_home(app, config, notes.tell)
    app.shell.run_cell(config.preamble, store_history=False, silent=True)
    watcher = capture.install(app.shell, config.entries, emit)
    notes.cell = lambda: watcher.cell
    app.shell.events.register("post_run_cell", notes.end_cell)
    app.start()


def _make_at_home(app: Any, config: KernelConfig, tell: habits.Tell) -> None:
    """Let what right notebooks take for granted be there, or do no harm where it is not."""
    habits.find_files_by_other_names()
    stand_ins.install()
    stand_ins.go_on_after_imports(app.shell)
    habits.install(app.kernel, tell)
    magics.install(app.shell, config.is_script)
    cut = habits.cut_outputs(
        app.session, config.cell_bytes, config.total_bytes, lambda: tell("cut")
    )
    app.shell.events.register("pre_run_cell", cut.begin_cell)
    for stream in (sys.stdout, sys.stderr):
        habits.send_in_time(stream)


def _keep_home_clean() -> None:
    """Have libraries put their files elsewhere: the home is the student's working folder."""
    temporary = Path(tempfile.gettempdir())
    os.environ["IPYTHONDIR"] = str(temporary / "ipython")
    os.environ["MPLCONFIGDIR"] = str(temporary / "matplotlib")


def _read_config(descriptor: int) -> KernelConfig:
    with socket.socket(fileno=descriptor) as stream:
        payload = read_frame(stream, KERNEL_FRAME_LIMIT)
    if payload is None:
        raise FrameError("no configuration")
    return decode_payload(payload, KernelConfig)


def _sender(descriptor: int) -> Callable[[Message], None]:
    """Return a function that writes one message as a frame and returns when it is written.

    May be called from any thread; notes come from the one that sends outputs.
    """
    os.set_inheritable(descriptor, False)  # commands that the student starts have no use for it
    stream = socket.socket(fileno=descriptor)
    lock = threading.RLock()

    def emit(message: Message) -> None:
        with lock:
            stream.sendall(encode_frame(message))

    return emit


def _settings() -> Config:
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShellApp.exec_PYTHONSTARTUP = False
    config.Application.log_level = "CRITICAL"
    return config


class _KernelApp(IPKernelApp):  # type: ignore[misc]
    """An IPython kernel whose channels are inherited listening sockets, in KernelConfig's order."""

    def __init__(self, *, sockets: tuple[int, ...], **options: object) -> None:
        super().__init__(transport="ipc", **options)
        self._sockets = sockets
        ports = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
        for number, name in enumerate(ports, start=1):
            setattr(self, name, number)

    def init_connection_file(self) -> None:
        """There is none: the configuration came through a descriptor."""

    def write_connection_file(self, **_: object) -> None:
        """There is none."""

    def cleanup_connection_file(self) -> None:
        """There is none."""

    def log_connection_info(self) -> None:
        """Say nothing on how to connect: the one client is connected."""

    def init_control(self, context: Any) -> None:
        """Make the control channel, without the debugger's connection to a path outside."""
        super().init_control(context)
        self.debug_shell_socket.disconnect(self.shell_socket.getsockopt(SocketOption.LAST_ENDPOINT))

    def init_iopub(self, context: Any) -> None:
        """Make the channel of outputs.

        Forked children of the kernel print through a TCP connection to it; where no socket can be
        made, they do without.
        """
        if _can_make_sockets():
            super().init_iopub(context)
            return
        self.iopub_socket = context.socket(SocketType.XPUB)
        self.iopub_socket.linger = 1000
        self._try_bind_socket(self.iopub_socket, _IOPUB)
        self.iopub_thread = IOPubThread(self.iopub_socket, pipe=False, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        self.heartbeat = _InheritedHeartbeat(
            Context(), (self.transport, self.ip, self.hb_port), self._sockets[-1]
        )
        self.heartbeat.start()

    def _try_bind_socket(self, channel: Any, port: int) -> int:
        channel.sndhwm = 0  # a burst of output waits in the kernel's memory; it is not dropped
        _adopt(channel, self._sockets[port - 1])
        return port


class _InheritedHeartbeat(Heartbeat):  # type: ignore[misc]
    def __init__(
        self,
        context: Any,
        address: tuple[str, str, int],
        descriptor: int,
    ) -> None:
        super().__init__(context, address)
        self._descriptor = descriptor

    def _try_bind_socket(self) -> None:
        _adopt(self.socket, self._descriptor)


def _can_make_sockets() -> bool:
    try:
        socket.socket(socket.AF_INET).close()
    except PermissionError:  # the filter of a sandbox without its own network
        return False
    return True


def _adopt(channel: Any, descriptor: int) -> None:
    """Let a ZeroMQ socket accept connections on a listening socket; the address means nothing."""
    os.set_inheritable(descriptor, False)
    channel.setsockopt(SocketOption.USE_FD, descriptor)
    channel.bind(f"ipc:///inherited-{descriptor}")
