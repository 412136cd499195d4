"""Starting a program in a sandbox: a box, and a launcher's child that steps into it."""

from __future__ import annotations

import errno
import os
import resource
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import TypeVar

import msgspec

import grader
from grader.errors import SandboxError
from grader.inside.launcher import enter
from grader.inside.launcher.protocol import (
    IMPORTED,
    MESSAGE_LIMIT,
    PRELOADS,
    Bounds,
    Imports,
    Preload,
    Program,
    Request,
)
from grader.language import Text, say
from grader.machine.limits import bound_stack
from grader.sandbox.groups import BoxGroup, Groups, Quota, bounding_folders
from grader.sandbox.hints import words_of
from grader.sandbox.interface import Command, Level, ResourceLimits
from grader.sandbox.process import Box, Boxes, SandboxedProcess, Tail, tasks_of

_Made = TypeVar("_Made")

_END_SECONDS = 10.0
_START = (
    "import sys; sys.path.insert(0, sys.argv[3]); "
    "from grader.inside.launcher.server import main; main(sys.argv[1:])"
)
LAUNCHER_ENVIRONMENT = {
    "HOME": "/nonexistent",  # libraries look for one, and need none
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TVM_BIND_THREADS": "0",  # TVM would pin its threads, and PyTorch's, to the first cores
    "TVM_NUM_THREADS": "1",
    # with more, these libraries start threads while they are imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def begin_launcher(number: int, preload: Preload) -> subprocess.Popen[bytes]:
    """Start a launcher's process, which is asked over the socket with this number."""
    source = str(Path(grader.__file__).resolve().parents[1])
    bound_stack()
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-c", _START, str(number), preload, source],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(number,),
        env=LAUNCHER_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )


class Launcher:
    """A launcher with one set of imports, which takes seconds. They begin when this is made.

    It ends with `close`, as a context, and when this process ends.
    """

    def __init__(self, preload: Preload) -> None:
        self.preload = preload
        # Messages of this kind of socket arrive whole, so no reader ever has to join them.
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MESSAGE_LIMIT)
        self._lock = Lock()
        self._imports = 1
        self._has_children = Event()
        with theirs:
            begin = partial(begin_launcher, theirs.fileno(), preload)
            try:  # who was interrupted in it left a launcher to its imports
                self._popen = _made_whole(begin, _kill)
            except BaseException:
                self._requests.close()
                raise
        assert self._popen.stderr is not None
        self._tail = Tail(self._popen.stderr)
        self._finalizer = weakref.finalize(
            self, _end, self._requests, self._popen, self._tail, self._has_children
        )

    @property
    def pid(self) -> int:
        """Process id of the launcher."""
        return self._popen.pid

    def send(self, request: Request | Imports, descriptors: Sequence[int] = ()) -> None:
        """Have a child started, or modules imported. Raises SandboxError when it is gone."""
        if isinstance(request, Request):
            self._has_children.set()
        payload = msgspec.msgpack.encode(request)
        if len(payload) > MESSAGE_LIMIT:
            raise SandboxError(say("command-start-in-sandbox-too-long"))
        try:
            with self._lock:
                self._imports += isinstance(request, Imports)
                _send(self._requests, payload, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            lines = self.last_words().strip().splitlines() or [""]
            raise SandboxError(
                say("sandboxed-program-cannot-started", error=words_of(lines[-1])),
                say("run-grader-doctor-packages-may-not-fit"),
            ) from None

    def is_importing(self) -> bool:
        """Say whether it imports at this moment: nothing that it was asked for has begun."""
        with self._lock:
            try:
                while self._imports and self._requests.recv(len(IMPORTED), socket.MSG_DONTWAIT):
                    self._imports -= 1
            except BlockingIOError:
                return True
            except OSError:  # it has ended, or was closed
                return False
        return False

    def last_words(self) -> str:
        """Return what the launcher has said, if it has ended by itself."""
        return "" if self._popen.poll() is None else self._tail.text()

    def close(self) -> None:
        """End the launcher. Its children go on."""
        self._finalizer()

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def begin_kernels() -> AbstractContextManager[Launcher | None]:
    """Begin to import what kernels need, before there is a sandbox for them.

    None where it cannot be begun, as on a system that is no Linux: `choose_sandbox` says why.
    """
    try:
        return Launcher("student")
    except OSError:
        return nullcontext()


def _send(requests: socket.socket, payload: bytes, descriptors: Sequence[int]) -> None:
    """Send a message with descriptors. Raises SandboxError when its user has too many under way."""
    try:
        enter.send_descriptors(requests, payload, descriptors)
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        raise SandboxError(
            say("no-sandbox-can-started-programs-this-user"),
            say("allow-grader-more-them-ulimit-n-65536"),
        ) from None


def _kill(popen: subprocess.Popen[bytes]) -> None:
    with popen:
        popen.kill()


def _end(
    requests: socket.socket, popen: subprocess.Popen[bytes], tail: Tail, has_children: Event
) -> None:
    """End a launcher's process; at once where nothing was started, as by a path with a typo.

    It heeds no SIGTERM once it has imported all: who is interrupted does not wait for imports.
    """
    requests.close()
    if has_children.is_set():
        popen.terminate()
    else:
        popen.kill()
    try:
        popen.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:  # in the middle of a long import
        popen.kill()
        popen.wait()
    tail.finish()


_NET = 16
"""How often a program's processes may be there where the operating system counts others' too."""

_SIGNALS = 1024
"""Signals that may wait for a program, and timers of POSIX, each of which reserves one."""

_LOCKED_BYTES = 8 * 2**20
"""Memory that a process may lock: what Linux allows a user by default."""

_CPU_GRACE = 5
"""Seconds from the soft limit on CPU time to the hard one. The signal at the soft limit tells a
process that was ended for this reason from one that was killed."""


class SteppingSandbox:
    """Starts commands in boxes of one kind; implements `Sandbox`.

    Its launchers are started when they are first needed. To be closed, or used as a context.
    Without `groups`, what a sandbox uses is looked at from outside only. `imports` are modules that
    kernels import beside what all of them do.
    """

    def __init__(
        self, boxes: Boxes, groups: Groups | None = None, imports: Sequence[str] = ()
    ) -> None:
        self._boxes = boxes
        self._imports = tuple(imports)
        self._above = tuple(map(str, bounding_folders()))
        self.groups = groups
        self._launchers: dict[Preload, Launcher] = {}
        self._lock = Lock()

    @property
    def level(self) -> Level:
        """How strong it is."""
        return self._boxes.level

    @property
    def detail(self) -> Text:
        """One sentence on the mechanism, for the report."""
        return self._boxes.detail

    def expect(self, *programs: Program) -> None:
        """Begin to start the launchers of these programs, and return at once."""
        for program in programs:
            self._launcher(program)

    def adopt(self, launcher: Launcher) -> None:
        """Use a launcher that was begun before there was a sandbox; it is closed with this one."""
        with self._lock:
            self._take(launcher)

    def start(self, command: Command) -> SandboxedProcess:
        """Start a command; may be called from any thread. Raises SandboxError."""
        launcher = self._launcher(command.program)
        box = _made_whole(partial(self._boxes.make, command), lambda made: made.end())
        group: BoxGroup | None = None
        try:
            group = self._group(command.limits, box)
            return _launch(launcher, command, box, group, self._above)
        except BaseException:
            box.end()
            if group is not None:
                group.remove()
            raise

    def start_beside(self, other: SandboxedProcess, command: Command) -> SandboxedProcess:
        """Start a command in the box of another program, which ends with it.

        The box has got no files of the command's, and the limits on folders are the other's. Raises
        SandboxError.
        """
        return _launch(self._launcher(command.program), command, other.box, None, self._above)

    def close(self) -> None:
        """End the launchers. Programs that still run go on to their end."""
        with self._lock:
            for launcher in self._launchers.values():
                launcher.close()
            self._launchers.clear()

    def __enter__(self) -> SteppingSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _group(self, limits: ResourceLimits, box: Box) -> BoxGroup | None:
        """Make a group for what a command may hold in memory, and in files that are memory."""
        if self.groups is None:
            return None
        return self.groups.make(Quota(limits.memory + box.capacity(limits), limits.processes))

    def _launcher(self, program: Program) -> Launcher:
        preload = PRELOADS[program]
        with self._lock:
            if preload not in self._launchers:
                self._take(Launcher(preload))
            return self._launchers[preload]

    def _take(self, launcher: Launcher) -> None:
        self._launchers[launcher.preload] = launcher
        if launcher.preload == "student" and self._imports:
            launcher.send(Imports(self._imports))


def _made_whole(make: Callable[[], _Made], end: Callable[[_Made], object]) -> _Made:
    """Make a process, or a box, where no signal interrupts it: who is interrupted ends it first.

    The process that bubblewrap puts into a box waits for bubblewrap before it asks to end with it.
    When a grader had ended between the two, it stayed for ever; and a launcher that nobody knew of
    yet went on importing after its grader was gone.
    """
    made: list[_Made] = []
    try:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="maker") as executor:
            executor.submit(lambda: made.append(make())).result()
        return made[0]
    except BaseException:
        for each in made:
            end(each)
        raise


def _launch(
    launcher: Launcher, command: Command, box: Box, group: BoxGroup | None, above: tuple[str, ...]
) -> SandboxedProcess:
    request = Request(
        program=command.program,
        arguments=command.arguments,
        environment={**box.environment, **command.environment},
        folder=box.folder,
        confinement=box.confinement,
        bounds=_bounds(command.limits, box),
        groups=() if group is None else tuple(map(str, group.folders)),
        above=above,
    )
    ours, wardens = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader, writer = os.pipe()
    tail = Tail(os.fdopen(reader, "rb", buffering=0))
    entrance = () if box.pidfd is None else (box.pidfd,)
    try:
        launcher.send(request, (wardens.fileno(), writer, *entrance, *command.descriptors))
    except BaseException:
        ours.close()
        raise
    finally:
        wardens.close()
        os.close(writer)
    return SandboxedProcess(box, ours, tail, launcher, group)


def _bounds(limits: ResourceLimits, box: Box) -> Bounds:
    """Return the limits as the operating system has them.

    The limit on data is what a student meets, as a MemoryError; the one on address space stops
    shared mappings.
    """
    confinement = box.confinement
    # The kernel counts by user id, and within a user namespace. Without either, others count too:
    # there the limit is only a net below the warden, so that one program cannot starve another.
    shares = not confinement.namespaces and confinement.user < 0
    processes = limits.processes * _NET + tasks_of(os.getuid()) if shares else limits.processes
    return Bounds(
        limits={
            resource.RLIMIT_DATA: (limits.memory, limits.memory),
            resource.RLIMIT_AS: (limits.space, limits.space),
            resource.RLIMIT_NPROC: (processes, processes),
            resource.RLIMIT_NOFILE: (limits.open_files, limits.open_files),
            resource.RLIMIT_FSIZE: (limits.file_size, limits.file_size),
            resource.RLIMIT_CORE: (0, 0),
            # An audio workstation lets its users take a processor from everybody else.
            resource.RLIMIT_RTPRIO: (0, 0),
            resource.RLIMIT_NICE: (0, 0),
            # Timers of POSIX and locked memory: a user, or the machine, has so much of each.
            resource.RLIMIT_SIGPENDING: (_SIGNALS, _SIGNALS),
            resource.RLIMIT_MSGQUEUE: (0, 0),
            resource.RLIMIT_MEMLOCK: (_LOCKED_BYTES, _LOCKED_BYTES),
            resource.RLIMIT_CPU: (limits.cpu_seconds, limits.cpu_seconds + _CPU_GRACE),
        },
        memory=limits.memory,
        processes=limits.processes,
        files=limits.files,
        disk=limits.scratch,
        watched=box.watched,
        interval=limits.watch,
        descriptors=limits.descriptors,
    )
