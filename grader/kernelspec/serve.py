"""One kernel for Jupyter, from its connection file to its end, however this process ends."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from grader.assignment import Limits
from grader.course_folder import course_folder
from grader.errors import GraderError, SandboxError
from grader.execute.kernel import KernelOrder, start_kernel
from grader.files import sweep
from grader.inside.launcher import linux
from grader.inside.launcher.protocol import Cause
from grader.kernelspec.relay import Connection, Relay, read_connection
from grader.language import Text, say
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.groups import find_groups
from grader.sandbox.interface import Level, Process, Sandbox
from grader.sandbox.layout import is_for_packages

# A process that clears up after this one should it be killed, when nothing else can.
#
# What is in a sandbox ends with it then, by itself. Folders stay, and control groups: the next
# command would remove them, but nobody who uses Jupyter gives one.


_PAUSES = (0.25, 0.5, 1.0, 2.0)
"""Seconds before each look: what was in the sandbox may write into its folder to its last."""


@contextlib.contextmanager
def cleared_up() -> Iterator[None]:
    """Have another process clear up if this one is killed within the context.

    To be entered while there is one thread. Whoever kills this process kills its group, as Jupyter
    does: so the other one is in none of ours.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        _wait_and_clear(reader)
    os.close(reader)
    try:
        yield
    finally:
        os.write(writer, b".")
        os.close(writer)
        os.waitpid(child, 0)


def _wait_and_clear(reader: int) -> None:
    """Wait for the other process's end, and clear up unless it has done so itself."""
    try:
        os.setsid()
        linux.name_process("grader-janitor")
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        if not os.read(reader, 1):
            for pause in _PAUSES:
                time.sleep(pause)
                sweep()
                find_groups()  # which removes those of graders that are gone
    finally:
        os._exit(0)


LIMITS = Limits(cpu_seconds=30 * 24 * 3600)
"""As in a grading, where an assignment says nothing. Time is for Jupyter to limit: somebody may sit
in front of a notebook for days."""

_TOTAL_BYTES = 2**50
"""All cells together may put out as much as they like: they are run again and again."""

_REASONS: dict[Cause, tuple[Text, Text]] = {
    "memory": (
        say("notebook-used-more-than-mb-memory", limit=LIMITS.memory_mb),
        say("use-smaller-arrays-or-delete-those"),
    ),
    "processes": (
        say("notebook-started-more-than-processes-and-threads", limit=LIMITS.processes),
        say("start-fewer-and-wait-for-their-end"),
    ),
    "files": (
        say("notebook-made-more-than-files-and-kernel", limit=LIMITS.files),
        say("write-fewer-files-or-delete-those"),
    ),
    "disk": (
        say("notebook-wrote-more-than-mb-files", limit=LIMITS.scratch_mb),
        say("write-less-or-delete-what-you"),
    ),
    "descriptors": (
        say("notebook-had-more-than-files-open", limit=LIMITS.resources().descriptors),
        say("close-files-pipes-and-sockets-or-start"),
    ),
}
_OF_THE_MACHINE = (
    say("machine-ran-out-memory-or-processors"),
    say("run-again-when-less-runs"),
)

_LOOK_SECONDS = 0.5
_DEATH_SECONDS = 2.0
"""Time between the end of a kernel's sockets and its own."""


def serve(file: Path, level: Level | None) -> int:
    """Be the kernel of a connection file until somebody ends it. Returns the exit code.

    Raises SandboxError when there is no sandbox of the level, or none at all; UsageError for a file
    that is none.
    """
    signal.signal(signal.SIGINT, _pass_over)
    with ExitStack() as parts:
        parts.enter_context(cleared_up())
        connection = read_connection(file)
        parent = _parent(os.environ)
        relay = Relay(connection)
        parts.callback(relay.close)
        sweep()
        protected = protected_folders(file, os.environ)
        sandbox = parts.enter_context(
            choose_sandbox(level, minimum=level or "basic", protected=protected)
        )
        process = _start(sandbox, connection, relay)
        parts.callback(process.kill)
        return _wait(process, relay, parent)


def protected_folders(file: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return what a notebook may not read should it lie below what every box shows.

    In a grading that is the course, its data and what was handed in. Here it is also what else the
    user has: the home, the folder of the notebook, and that of the connection files.
    """
    root = course_folder(None, (Path.cwd(),))
    course = root / "assignments" if is_for_packages(root) else root
    data = environment.get("GRADER_DATA", "")
    own = (course, Path.cwd(), Path.home(), file.resolve().parent)
    return own if data in ("", "builtin") else (*own, Path(data))


def _pass_over(*_: object) -> None:
    """Do nothing at a Ctrl-C: Jupyter interrupts by a message.

    To ignore the signal would be inherited.
    """


def _parent(environment: Mapping[str, str]) -> int | None:
    """Return the number of the process that is to be outlived by none of its kernels."""
    named = environment.get("JPY_PARENT_PID", "")
    return os.getppid() if named == str(os.getppid()) else None


def _start(sandbox: Sandbox, connection: Connection, relay: Relay) -> Process:
    order = KernelOrder(
        sandbox=sandbox, entries=(), files={}, limits=LIMITS, total_bytes=_TOTAL_BYTES
    )
    kernel = start_kernel(order, connection.key)
    try:
        drain = threading.Thread(target=_drain, args=(kernel.captures,), daemon=True)
        drain.start()
        relay.connect(kernel.place)
    except BaseException:
        kernel.process.kill()
        raise
    finally:
        kernel.folder.remove()
    return kernel.process


def _drain(captures: socket.socket) -> None:
    """Read what nobody wants: the kernel would wait for somebody who does."""
    with captures:
        try:
            while captures.recv(2**20):
                pass
        except ConnectionError:
            return


def _wait(process: Process, relay: Relay, parent: int | None) -> int:
    """Wait for the end, whoever brings it about. Raises GraderError for one with a reason."""
    while process.poll() is None:
        if parent is not None and os.getppid() != parent:
            return 0  # whoever wanted the kernel is gone
        if relay.over.wait(_LOOK_SECONDS):
            return _end(process, relay)
    return _end(process, relay)


def _end(process: Process, relay: Relay) -> int:
    if relay.was_asked:
        return 0
    status = process.wait(_DEATH_SECONDS)
    if status is None:
        raise SandboxError(
            say("notebooks-kernel-sent-message-that-too-long"),
            say("print-less-for-example-only-first-few"),
        )
    if process.cause:
        raise SandboxError(*_REASONS.get(process.cause, _OF_THE_MACHINE))
    lines = process.standard_error.strip().splitlines()
    if status and lines:
        raise GraderError(
            say("notebooks-kernel-ended-with-exit-status", status=status, error=lines[-1])
        )
    return status
