"""The bubblewrap back end.

A user gets a user namespace. Root must not: bubblewrap started by root keeps all capabilities, user
namespace or not, and files below /proc/sys are the host's. So root's sandboxes have none, and the
command runs under a user id of its own from which `setpriv` has taken everything.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

from grader.errors import SandboxError
from grader.sandbox.filters import system_call_filter
from grader.sandbox.interface import Command, ResourceLimits
from grader.sandbox.layout import SCRATCH, Descriptor, mount_options
from grader.sandbox.process import SandboxedProcess

_START_SECONDS = 30.0
_NAMESPACES = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
_ENVIRONMENT = {
    "HOME": str(SCRATCH),
    "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TVM_BIND_THREADS": "0",  # TVM would pin its threads, and PyTorch's, to the first cores
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_MAPPING_BYTES = 4 * 2**30
"""Address space beyond the memory limit: libraries, stacks, reservations that are never touched."""


class BubblewrapSandbox:
    """Starts commands under bubblewrap, in the way that suits the user that the grader runs as.

    `executable` is the program's path and `version` what it says it is; `options` are the command
    line options that it knows.
    """

    def __init__(
        self, executable: str, version: str, options: frozenset[str], *, as_root: bool
    ) -> None:
        self._executable = executable
        self._version = version
        self._as_root = as_root
        user = [] if as_root else ["--unshare-user"]
        if not as_root and "--disable-userns" in options:
            user.append("--disable-userns")
        self._isolation = (*user, *_NAMESPACES)

    @property
    def level(self) -> str:
        """Always "strong"."""
        return "strong"

    @property
    def detail(self) -> str:
        """One sentence on the mechanism, for the report."""
        owner = "a user id of its own" if self._as_root else "a user namespace of its own"
        return f"{self._version}: no network, a read-only system, {owner}."

    def start(self, command: Command) -> SandboxedProcess:
        """Start a command; may be called from any thread, whose end does not end the sandbox.

        Raises SandboxError when the machine refuses. A program that cannot be run inside is not an
        error here: its process ends at once. A sandbox ends when the grader is killed, except in
        its first milliseconds: a command should wait for a message before it runs anything foreign.
        """
        user = _student_id() if self._as_root else os.getuid()
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb", buffering=0) as info:
            with os.fdopen(writer, "wb"), _MemoryFiles() as memory:
                options = self._options(command, user, writer, memory.add)
                # Through a file: the words of the command line can be read inside, in /proc/1.
                words = memory.add("".join(f"{option}\0" for option in options).encode())
                popen = _popen(
                    [self._executable, "--args", str(words), "--", *self._inner(command, user)],
                    (*command.descriptors, *memory.numbers, writer),
                )
            return _adopt(popen, info)

    def _options(self, command: Command, user: int, info: int, descriptor: Descriptor) -> list[str]:
        environment = {**_ENVIRONMENT, **command.environment}
        return [
            *self._isolation,
            *("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"),
            *mount_options(command.files, command.limits.scratch, user, descriptor),
            *(word for item in environment.items() for word in ("--setenv", *item)),
            *("--seccomp", str(descriptor(system_call_filter()))),
            *("--info-fd", str(info)),
        ]

    def _inner(self, command: Command, user: int) -> list[str]:
        powers = _without_powers(user) if self._as_root else []
        return [*powers, *_limited(command.limits), sys.executable, "-I", *command.arguments]


def _without_powers(user: int) -> list[str]:
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


def _limited(limits: ResourceLimits) -> list[str]:
    """Return a prefix that sets the limits, none of them above what this process may have itself.

    The limit on data is what a student meets, as a MemoryError; the one on address space stops
    shared mappings.
    """
    space = limits.memory + _MAPPING_BYTES
    wanted = {
        "data": (resource.RLIMIT_DATA, limits.memory, limits.memory),
        "as": (resource.RLIMIT_AS, space, space),
        "nproc": (resource.RLIMIT_NPROC, limits.processes, limits.processes),
        "nofile": (resource.RLIMIT_NOFILE, limits.open_files, limits.open_files),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_size, limits.file_size),
        "core": (resource.RLIMIT_CORE, 0, 0),
        # Soft below hard: the signal at the soft limit tells an ended process from a killed one.
        "cpu": (resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 5),
    }
    words = ["prlimit"]
    for name, (kind, soft, hard) in wanted.items():
        _, allowed = resource.getrlimit(kind)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        words.append(f"--{name}={soft}:{hard}")
    return [*words, "--"]


def _student_id() -> int:
    """Draw a user id that nobody has: the limit on processes is counted by user id.

    Within a container only the ids of its own map exist.
    """
    rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    highest = min(max(int(first) + int(count) for first, _, count in rows), 2**31) - 1
    return highest - secrets.randbelow(max(highest // 2, 1))


class _MemoryFiles:
    """Contents that bubblewrap reads through inherited descriptors, closed on leaving `with`."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, content: bytes) -> int:
        """Keep `content` in a file without a name and return its descriptor, set to the start."""
        number = os.memfd_create("grader")
        self.numbers.append(number)
        with os.fdopen(number, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(number, 0, os.SEEK_SET)
        return number

    def __enter__(self) -> _MemoryFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self.numbers:
            os.close(number)


@functools.cache
def _spawner() -> ThreadPoolExecutor:
    """Return the one thread that starts sandboxes.

    `--die-with-parent` means the thread that started bubblewrap: it has to live on.
    """
    os.register_at_fork(after_in_child=_spawner.cache_clear)
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-spawner")


def _popen(arguments: list[str], passed: Sequence[int]) -> subprocess.Popen[bytes]:
    def spawn() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=passed,
            env={},
            cwd="/",
            start_new_session=True,
        )

    try:
        return _spawner().submit(spawn).result()
    except OSError as error:
        raise SandboxError(
            f"{arguments[0]} cannot be started: {error.strerror}.", "Run `grader doctor`."
        ) from None


def _adopt(popen: subprocess.Popen[bytes], info: FileIO) -> SandboxedProcess:
    """Read which process is pid 1 of the new sandbox, and take hold of it.

    The pipe is read to its end: closed earlier, it kills bubblewrap in the middle of a start.
    """
    try:
        document = _read_to_end(info, time.monotonic() + _START_SECONDS)
        return SandboxedProcess(popen, os.pidfd_open(json.loads(document)["child-pid"]))
    except (ValueError, KeyError, TimeoutError, ProcessLookupError):
        popen.kill()
        _, message = popen.communicate()
        text = message.decode(errors="replace").strip()
        raise SandboxError(
            f"bubblewrap cannot make a sandbox: {text or 'it gave no reason'}",
            "Run `grader doctor` to see what is missing.",
        ) from None


def _read_to_end(info: FileIO, deadline: float) -> bytes:
    poller = select.poll()
    poller.register(info, select.POLLIN)
    document = b""
    while True:
        if not poller.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError
        chunk = info.read(4096)
        if not chunk:
            return document
        document += chunk
