"""The holder: a box's first process, the thread that starts it, and its system call filter.

The program that steps in may be hostile and of the same user. So the holder has nothing to offer:
the filter, limits that leave it nothing to do, no capability, and, where root grades, another user
id than the program's. Its executable is a copy that nobody may read: for that reason the kernel
keeps everybody out of its memory and its descriptors (`fs.suid_dumpable` must not be 1, and the
trial of a sandbox looks).

The filters are made by `tools/make_seccomp_filters.py`, which says what they deny and why.
"""

import contextlib
import functools
import os
import platform
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from grader.errors import SandboxError
from grader.inside.launcher import linux
from grader.inside.launcher.protocol import Confinement
from grader.language import say
from grader.sandbox.interface import ResourceLimits
from grader.sandbox.layout import (
    ENVIRONMENT,
    SCRATCH,
    SHARED_MEMORY_BYTES,
    TEMPORARY_BYTES,
    WRITABLE,
)


def system_call_filter(machine: str | None = None, *, strict: bool = False) -> bytes:
    """Return the BPF program for a machine ("x86_64"), this one by default. Raises SandboxError.

    The strict one denies sockets too, where no namespace keeps them from the network.
    """
    name = machine or platform.machine()
    path = Path(__file__).parent / "filters" / f"{name}{'-strict' if strict else ''}.bpf"
    if not path.exists():
        raise SandboxError(
            say("there-no-system-call-filter-for-machine", name=name),
            say("grade-on-x86-64-or-aarch64"),
        )
    return path.read_bytes()


HOLDER = "/run/cat"
"""Where the copy is. Programs that are many in one go by their name."""

HOLDER_PERMISSIONS = 0o111

_ECHO = b"."
_ENVIRONMENT = {**ENVIRONMENT, "HOME": str(SCRATCH)}

# Of a program that reads from a pipe and writes to another one.
_LIMITS = (
    "--as=67108864",
    "--data=33554432",
    "--nofile=16",
    "--nproc=1",
    "--fsize=0",
    "--core=0",
    "--cpu=60",
)


def find_cat(find: Callable[[str], str | None]) -> bytes:
    """Return the program that is copied. Raises SandboxError."""
    found = find("cat")
    if found is None:
        raise SandboxError(say("program-cat-not-installed"), say("install-coreutils"))
    return Path(found).read_bytes()


def hold(user: int | None = None) -> list[str]:
    """Return the command line of a holder, which takes on a user id if one is given.

    Whoever has lost its parent becomes the holder's child: it buries them all unseen.
    """
    become = [] if user is None else _drop_to(user)
    return [*become, "env", "--ignore-signal=CHLD", "prlimit", *_LIMITS, HOLDER]


def _drop_to(user: int) -> list[str]:
    """Return a prefix that runs a command as this user, without any capability."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
        "--",
    ]


class HeldBox:
    """One box. When pid 1 of its process namespace is gone, so is everything else in it.

    `pidfd` refers to that pid 1, the holder; `popen` is what made the box, which ends with it.
    `user` is the id that programs take on, -1 for none.
    """

    folder = str(SCRATCH)
    watched = WRITABLE
    environment = _ENVIRONMENT

    def __init__(self, popen: subprocess.Popen[bytes], pidfd: int, user: int) -> None:
        self._popen = popen
        self._lock = threading.Lock()
        self.pidfd: int | None = pidfd
        self.confinement = Confinement(namespaces=True, user=user, filter=system_call_filter())

    def capacity(self, limits: ResourceLimits) -> int:
        """Return how many bytes of memory files in it may take."""
        return limits.scratch + TEMPORARY_BYTES + SHARED_MEMORY_BYTES

    def end(self) -> None:
        """End everything inside and wait until it is gone. May be called from several threads."""
        with self._lock:
            pidfd = self.pidfd
            if pidfd is None or self._popen.returncode is not None:
                return
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            _wait(pidfd)
            self._popen.wait()
            for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                assert stream is not None
                stream.close()
            os.close(pidfd)


def await_holder(popen: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait until a holder answers: until then its box is still being mounted.

    `deadline` is one of the monotonic clock. Raises ValueError, BrokenPipeError or TimeoutError.
    """
    assert popen.stdin is not None
    assert popen.stdout is not None
    popen.stdin.write(_ECHO)
    if read_some(popen.stdout, deadline) != _ECHO:
        raise ValueError("no echo")


def read_some(stream: IO[bytes], deadline: float) -> bytes:
    """Return what there is to read, waiting up to the deadline for it. Raises TimeoutError."""
    poller = select.poll()
    poller.register(stream, select.POLLIN)
    if not poller.poll(max(deadline - time.monotonic(), 0) * 1000):
        raise TimeoutError
    return os.read(stream.fileno(), 4096)


def _wait(pidfd: int) -> None:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    poller.poll()


@functools.cache
def _spawner() -> ThreadPoolExecutor:
    """Return the one thread that starts sandboxes.

    `--die-with-parent` means the thread that started bubblewrap: it has to live on.
    """
    os.register_at_fork(after_in_child=_spawner.cache_clear)
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-spawner")


def spawn(arguments: list[str], passed: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a program with pipes, an empty environment and no key. Raises SandboxError."""

    def start() -> subprocess.Popen[bytes]:
        linux.begin_session_keyring()
        return subprocess.Popen(  # noqa: S603
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=passed,
            env={},
            cwd="/",
            start_new_session=True,
        )

    try:
        return _spawner().submit(start).result()
    except OSError as error:
        raise SandboxError(
            say("cannot-started", program=arguments[0], reason=str(error.strerror)),
            say("run-grader-doctor"),
        ) from None
