"""Commands, forked off a process that has imported what they need.

    python -m tests.endtoend.warm_server NUMBER

A command imports PyTorch, and its launchers TVM: six seconds of a processor for a grading that
takes one. Each command is a process of its own here, too, and so is each of its launchers; what
they run is what the installed command runs. What only a process that starts from nothing can show
(signals while it imports, streams that are closed, its environment's Python) is shown by
tests/cli/test_ending.py and others, which start it as a user does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grader.cli.app import main, spare_slow_imports
from grader.inside.launcher.protocol import PRELOADS, Preload
from grader.sandbox import start
from tests.endtoend.warm_launchers import fork_off, receive, send

ROOT = Path(__file__).resolve().parents[2]

_STARTER = (
    "import sys; sys.path.insert(0, sys.argv[3]); "
    "from tests.endtoend.warm_launchers import fork_launchers; fork_launchers(*sys.argv[1:])"
)


class ForkedLauncher:
    """A launcher that another process has forked off, with what `Launcher` needs of a `Popen`."""

    def __init__(self, connection: socket.socket, requests: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reader, writer = os.pipe()
        send(connection, "begin", (requests, writer, theirs.fileno()))
        theirs.close()
        os.close(writer)
        self._answer = ours
        self.stderr = os.fdopen(reader, "rb", buffering=0)
        self.pid = int(ours.recv(32))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self.returncode is None and select.select([self._answer], [], [], 0)[0]:
            self.returncode = int(self._answer.recv(32) or b"-9")
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises TimeoutExpired."""
        if self.returncode is None and not select.select([self._answer], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("launcher", timeout or 0)
        self.poll()
        assert self.returncode is not None
        return self.returncode

    def terminate(self) -> None:
        """Ask it to end: it has imported all, and heeds that no more."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Commands:
    """The commands' server: it has imported what commands do, and has what forks launchers."""

    def __init__(self) -> None:
        gc.disable()
        spare_slow_imports()
        for package in ("api", "batch", "cli", "evidence", "execute", "grading", "render"):
            import_all(f"grader.{package}")
        self._launchers = {preload: begin_forking(preload) for preload in set(PRELOADS.values())}

    def serve(self, connection: socket.socket) -> None:
        """Fork a process for each command, up to the end of the connection."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        gc.collect()
        gc.freeze()
        gc.enable()
        while True:
            command, descriptors = receive(connection)
            if command is None:
                return
            *streams, answer = descriptors
            fork_off(answer, partial(self._run, connection, command, streams))
            for stream in streams:
                os.close(stream)

    def _run(self, connection: socket.socket, command: Any, streams: Sequence[int]) -> None:
        connection.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(command["folder"])
        os.environ.clear()
        os.environ.update(command["environment"])
        sys.argv = ["grader", *command["words"]]
        start.begin_launcher = self._begin_launcher
        main()

    def _begin_launcher(self, number: int, preload: Preload) -> Any:
        return ForkedLauncher(self._launchers[preload], number)


def import_all(name: str) -> None:
    """Import a module and, of a package, all modules in it."""
    module = importlib.import_module(name)
    for each in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)


def begin_forking(preload: Preload) -> socket.socket:
    """Start a process that forks off launchers, which is asked over the socket that returns."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [sys.executable, "-I", "-c", _STARTER, str(theirs.fileno()), preload, str(ROOT)]
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env=start.LAUNCHER_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    return ours


if __name__ == "__main__":
    Commands().serve(socket.socket(fileno=int(sys.argv[1])))
