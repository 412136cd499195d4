"""The grader's end of a launcher: starts one, and sends it requests."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec

import grader
from grader.errors import SandboxError
from grader.inside.launcher import enter
from grader.inside.launcher.protocol import MESSAGE_LIMIT, Preload, Request
from grader.sandbox.tail import Tail

_END_SECONDS = 10.0
_START = (
    "import sys; sys.path.insert(0, sys.argv[3]); "
    "from grader.inside.launcher.server import main; main(sys.argv[1:])"
)
_ENVIRONMENT = {
    "HOME": "/nonexistent",  # libraries look for one, and need none
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TVM_BIND_THREADS": "0",  # TVM would pin its threads, and PyTorch's, to the first cores
    "TVM_NUM_THREADS": "1",
    # with more, these libraries start threads while they are imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Launcher:
    """A launcher with one set of imports, and further modules, as far as they are there.

    It ends with `close`, and when this process ends.
    """

    def __init__(self, preload: Preload, modules: Sequence[str] = ()) -> None:
        # Messages of this kind of socket arrive whole, so no reader ever has to join them.
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MESSAGE_LIMIT)
        source = str(Path(grader.__file__).resolve().parents[1])
        with theirs:
            self._popen = subprocess.Popen(  # noqa: S603
                [
                    sys.executable,
                    "-I",
                    "-c",
                    _START,
                    str(theirs.fileno()),
                    preload,
                    source,
                    *modules,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        assert self._popen.stderr is not None
        self._tail = Tail(self._popen.stderr)
        self._lock = Lock()
        self._finalizer = weakref.finalize(self, _end, self._requests, self._popen, self._tail)

    @property
    def pid(self) -> int:
        """Process id of the launcher."""
        return self._popen.pid

    def send(self, request: Request, descriptors: Sequence[int]) -> None:
        """Have a child started. Raises SandboxError when the launcher is gone."""
        payload = msgspec.msgpack.encode(request)
        if len(payload) > MESSAGE_LIMIT:
            raise SandboxError("The command to start in a sandbox is too long.")
        try:
            with self._lock:
                _send(self._requests, payload, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            lines = self.last_words().strip().splitlines() or ["it gave no reason"]
            raise SandboxError(
                f"A sandboxed program cannot be started: {lines[-1]}",
                "Run `grader doctor`: the packages may not fit together.",
            ) from None

    def last_words(self) -> str:
        """Return what the launcher has said, if it has ended by itself."""
        return "" if self._popen.poll() is None else self._tail.text()

    def close(self) -> None:
        """End the launcher. Its children go on."""
        self._finalizer()


def _send(requests: socket.socket, payload: bytes, descriptors: Sequence[int]) -> None:
    """Send a message with descriptors. Raises SandboxError when its user has too many under way.

    The kernel counts those of a user together, and a program in a sandbox may be the same user: one
    kept a thousand in a socket's queue, and nobody beside it could be started. It is bounded by its
    own limit on open files, and this process by one that it may raise.
    """
    try:
        socket.send_fds(requests, [payload], list(descriptors))
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        enter.raise_open_files()
        _send_at_last(requests, payload, descriptors)


def _send_at_last(requests: socket.socket, payload: bytes, descriptors: Sequence[int]) -> None:
    try:
        socket.send_fds(requests, [payload], list(descriptors))
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        raise SandboxError(
            "No sandbox can be started: programs of this user have sent too many open files.",
            "Allow the grader more of them: ulimit -n 65536",
        ) from None


def _end(requests: socket.socket, popen: subprocess.Popen[bytes], tail: Tail) -> None:
    requests.close()
    try:
        popen.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:  # in the middle of a long import
        popen.kill()
        popen.wait()
    tail.finish()
