"""Starting a program in a sandbox: a box, and a launcher's child that steps into it."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Sequence
from threading import Lock

from grader.inside.launcher.protocol import PRELOADS, Bounds, Preload, Program, Request
from grader.language import Text
from grader.sandbox.box import Box, Boxes
from grader.sandbox.groups import BoxGroup, Groups, Quota, bounding_folders
from grader.sandbox.interface import Command, Level, ResourceLimits
from grader.sandbox.launcher import Launcher
from grader.sandbox.process import SandboxedProcess
from grader.sandbox.tail import Tail
from grader.sandbox.users import tasks_of

_MAPPING_BYTES = 4 * 2**30
"""Address space beyond the memory limit: libraries, stacks, reservations that are never touched."""

_NET = 16
"""How often a program's processes may be there where the operating system counts others' too."""

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

    def start(self, command: Command) -> SandboxedProcess:
        """Start a command; may be called from any thread. Raises SandboxError."""
        launcher = self._launcher(command.program)
        box = self._boxes.make(command)
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
                modules = self._imports if preload == "student" else ()
                self._launchers[preload] = Launcher(preload, modules)
            return self._launchers[preload]


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
    return SandboxedProcess(box, ours, tail, launcher.last_words, group)


def _bounds(limits: ResourceLimits, box: Box) -> Bounds:
    """Return the limits as the operating system has them.

    The limit on data is what a student meets, as a MemoryError; the one on address space stops
    shared mappings.
    """
    space = limits.memory + _MAPPING_BYTES
    confinement = box.confinement
    # The kernel counts by user id, and within a user namespace. Without either, others count too:
    # there the limit is only a net below the warden, so that one program cannot starve another.
    shares = not confinement.namespaces and confinement.user < 0
    processes = limits.processes * _NET + tasks_of(os.getuid()) if shares else limits.processes
    return Bounds(
        limits={
            resource.RLIMIT_DATA: (limits.memory, limits.memory),
            resource.RLIMIT_AS: (space, space),
            resource.RLIMIT_NPROC: (processes, processes),
            resource.RLIMIT_NOFILE: (limits.open_files, limits.open_files),
            resource.RLIMIT_FSIZE: (limits.file_size, limits.file_size),
            resource.RLIMIT_CORE: (0, 0),
            # An audio workstation lets its users take a processor from everybody else.
            resource.RLIMIT_RTPRIO: (0, 0),
            resource.RLIMIT_NICE: (0, 0),
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
