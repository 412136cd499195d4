"""Running commands of the grader, forked off a process which has imported what they need."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from tests.endtoend.warm_launchers import send

ROOT = Path(__file__).resolve().parents[2]


def run_warm(
    words: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `grader WORDS` as `subprocess.run` does, with this process's variables and others.

    Raises TimeoutExpired.
    """
    arguments = [str(word) for word in words]
    command = {
        "words": arguments,
        "folder": str(folder or Path.cwd()),
        "environment": {**os.environ, **(environment or {})},
    }
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                send(_server(), command, (output.fileno(), messages.fileno(), theirs.fileno()))
            code = _wait(ours, arguments, timeout)
        return subprocess.CompletedProcess(arguments, code, _text(output), _text(messages))


@cache
def _server() -> socket.socket:
    """Start the server of commands: it ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-m", "tests.endtoend.warm_server", str(theirs.fileno())]
    with theirs:
        server = subprocess.Popen(words, cwd=ROOT, pass_fds=(theirs.fileno(),))
    atexit.register(_end, ours, server)
    return ours


def _end(connection: socket.socket, server: subprocess.Popen[bytes]) -> None:
    connection.close()
    server.wait()


def _wait(answer: socket.socket, words: Sequence[str], timeout: float) -> int:
    """Return a command's exit code; end it when it takes too long, and raise TimeoutExpired."""
    child = int(answer.recv(32))
    answer.settimeout(timeout)
    try:
        return int(answer.recv(32))
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        raise subprocess.TimeoutExpired(words, timeout) from None


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
