"""The warden: the launcher's child that makes the sandboxed process, watches it and tells.

It stands in the sandbox's mounts but outside of its process namespace: nothing inside can see it or
send it a signal. It never runs anything of a submission.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import msgspec

from grader.inside.launcher import enter, linux, memory, usage
from grader.inside.launcher.enter import ControlGroups
from grader.inside.launcher.memory import MachineMemory
from grader.inside.launcher.protocol import Bounds, Cause, Ending, Request

RESTED_AT_MOST = 1.0
"""Seconds after which a sandbox is looked at again in which nobody seems to run."""


class Stillness:
    """Knows what each thread of a sandbox had run when it was looked at.

    `processes` lists those that there are. `newest` changes when any is made; without it that need
    not be asked, as none can be made so that `processes` misses it.
    """

    def __init__(
        self, processes: Callable[[], Sequence[int]], newest: Callable[[], bytes] | None
    ) -> None:
        self._processes = processes
        self._newest = newest or bytes
        self._known: Mapping[str, bytes] = {}
        self._since = 0.0
        self._whole: bytes | None = None

    def begin(self, since: float, known: Mapping[str, bytes] | None) -> None:
        """Note what `usage.rest` told, in a look that began then."""
        self._since, self._known, self._whole = since, known or {}, None

    def lasts(self) -> bool:
        """Say whether nobody has run since the last look: then all hold what they held.

        Most sandboxes wait most of the time, and to look at them took an eighth of the processors.
        """
        rested = time.monotonic() - self._since
        if rested > RESTED_AT_MOST or not self._known or usage.have_run(self._known):
            return False
        return self._is_whole()

    def _is_whole(self) -> bool:
        """Say whether what was noted is of all threads that there are.

        One that was made between a look's lists and what was noted of those in them is in neither;
        inotify(7) tells a program when it is looked at, and so when to make one. So all are listed
        once more. Without namespaces that list can be evaded, too: a process that is gone when it
        is asked for its parent has left another. There it holds until any process is made.
        """
        newest = self._newest()
        if self._whole != newest:
            is_all = usage.are_all(self._known, self._processes())
            self._whole = newest if is_all else None
        return self._whole == newest


_NAMESPACES = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
)
_TERMINALS, _MOST_TERMINALS = "/dev/pts", 64
_START_FAILED = 125
_COSTS_AT_MOST = 0.1
"""Share of a processor that looking at a sandbox may take: a look that takes long is followed by a
longer pause. A processor's time counts: a program that keeps all processors busy makes every look
last long, and had itself looked at every few seconds only."""

_BLIND_AT_MOST = 0.5
"""Seconds that nobody looks, whatever a look costs: much can be taken in more."""

_HURRY = 4
"""So many times more often than usual a sandbox is looked at that has half of what it may have, or
while the machine has little left. What its looks cost is nothing to what may be lost."""

_STARVED_SHARE = 2
"""A sandbox that wanted a processor had one for less than this share of the time when it starved.
One that has many processes compete for it among themselves has no less than others."""

_KILL_PAUSE = 0.001
_KILLED = 128 + signal.SIGKILL

_LEAST_BADNESS = 500
_MOST_BADNESS = 1000
"""How soon the kernel ends a sandbox's processes when the machine has no memory, where they hold
nothing and where they hold all of it. The grader's own are at 0."""


def guard(request: Request, descriptors: Sequence[int], run: Callable[[Request], None]) -> NoReturn:
    """Be the warden of one sandbox, from its start to its end, and end this process.

    `descriptors` are those that came with the request; `run` runs the program in the child.
    """
    linux.name_process("grader-warden")
    for each in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    enter.close_all_but(descriptors)
    enter.raise_open_files()
    channel, standard_error, *others = descriptors
    report = socket.socket(fileno=channel)
    used = [channel]
    entrance = None
    try:
        group, machine = ControlGroups(request.groups), MachineMemory(request.above)
        statistics = os.open("/proc/net/sockstat", os.O_RDONLY)
        used += [*group.descriptors, *machine.descriptors, statistics]
        if request.confinement.namespaces:
            entrance = others.pop(0)
            used.append(entrance)
            _enter(entrance, own_user=request.confinement.user < 0)
        else:
            linux.adopt_orphans()
        child = os.fork()
    except OSError as error:
        _tell(report, Ending(_START_FAILED, "start", str(error)))
        os._exit(1)
    if child == 0:
        _be_the_child(request, standard_error, others, used, group, run)
    os.dup2(standard_error, sys.stderr.fileno())  # the launcher's own is not for wardens to hold
    for number in (standard_error, *others):
        os.close(number)
    watch = _Watch(child, request, report, entrance, group, machine, statistics)
    _tell(report, watch.until_the_end())
    os._exit(0)


def _enter(pidfd: int, own_user: bool) -> None:
    """Join the namespaces of a sandbox; that of control groups may be the host's.

    Who joins a namespace of mounts gets its first mount as root. Where the grader itself was
    started by `chroot`, that is not the box's root, but what lies below the grader's own.
    """
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    try:
        number = linux.process_of(pidfd)
        if own_user:
            _enter_owner(f"{number}/ns/mnt", processes)
        try:
            linux.enter_namespaces(pidfd, _NAMESPACES | linux.CLONE_NEWCGROUP)
        except PermissionError:
            linux.enter_namespaces(pidfd, _NAMESPACES)
        _make_root(f"{number}/root", processes)
        # A user's bubblewrap that is setuid makes mounts that no user may change.
        with contextlib.suppress(PermissionError):
            linux.limit_terminals(_TERMINALS, _MOST_TERMINALS)
        if own_user and not _is_same(f"{number}/ns/user", "self/ns/user", processes):
            linux.enter_namespaces(pidfd, linux.CLONE_NEWUSER)
    finally:
        os.close(processes)


def _enter_owner(path: str, folder: int) -> None:
    """Join the user namespace in which a box was mounted, which may change how it is.

    bubblewrap makes another one within it for what runs in the box, so that this may not.
    """
    owner = linux.owner_of_namespace(path, folder)
    if owner is not None:
        linux.enter_namespaces(owner, linux.CLONE_NEWUSER)
        os.close(owner)


def _is_same(path: str, other: str, folder: int) -> bool:
    return os.path.samestat(*(os.stat(each, dir_fd=folder) for each in (path, other)))


def _make_root(path: str, folder: int) -> None:
    """Make a folder this process's root, if it is another; `path` is seen from `folder`."""
    if os.path.samestat(os.stat(path, dir_fd=folder), os.stat("/")):  # noqa: PTH116
        return
    root = os.open(path, os.O_PATH | os.O_DIRECTORY, dir_fd=folder)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def _be_the_child(
    request: Request,
    standard_error: int,
    inherited: Sequence[int],
    others: Sequence[int],
    group: ControlGroups,
    run: Callable[[Request], None],
) -> NoReturn:
    status = 1
    try:
        linux.name_process(f"grader-{request.program}")
        group.enter()
        enter.become(request, standard_error, inherited, others)
        run(request)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - nobody is above this to catch it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status & 0xFF)


def _tell(report: socket.socket, ending: Ending) -> None:
    try:
        report.send(msgspec.msgpack.encode(ending))
    except (BrokenPipeError, ConnectionResetError):
        return  # the grader is gone, and nobody wants to know


def usual_pause(interval: float, cost: float) -> float:
    """Return seconds until the next look, after one that took `cost` seconds of a processor."""
    return max(interval, cost, min(cost / _COSTS_AT_MOST, _BLIND_AT_MOST))


class _Watch:
    """Waits for a child's end, and brings it about when a bound is passed or the grader is gone.

    `entrance` is a pidfd of the first process of the sandbox's process namespace, if it has one;
    `statistics` a descriptor of /proc/net/sockstat.
    """

    def __init__(
        self,
        child: int,
        request: Request,
        report: socket.socket,
        entrance: int | None,
        group: ControlGroups,
        machine: MachineMemory,
        statistics: int,
    ) -> None:
        self._child = child
        self._bounds: Bounds = request.bounds
        self._user = request.confinement.user
        self._report = report
        self._entrance = entrance
        self._group = group
        self._machine = machine
        self._statistics = statistics
        self._cause: Cause = ""
        self._used = 0
        self._peak = 0
        self._begin = time.monotonic()
        self._looks = 0
        self._wanted = 0
        self._fetched = 0
        self._stillness = Stillness(self._processes, usage.newest if entrance is None else None)

    def until_the_end(self) -> Ending:
        poller = select.poll()
        poller.register(os.pidfd_open(self._child), select.POLLIN)
        poller.register(self._report, select.POLLIN)
        pause = self._bounds.interval
        try:
            while not (events := poller.poll(pause * 1000 if pause else None)):
                begin = time.process_time()
                self._cause = self._excess()
                if self._cause:
                    break
                pause = self._pause(time.process_time() - begin)
            if not self._cause:
                self._cause = self._cause_of(events)
        finally:  # nothing goes on that nobody watches
            self._end_all()
            status = self._bury()
        code = os.waitstatus_to_exitcode(status)
        code = code if code >= 0 else 128 - code
        # With another status it has come to its end by itself, whatever else there was.
        return Ending(code, self._cause if code == _KILLED else "", peak=self._peak)

    def _pause(self, cost: float) -> float:
        """Return how long not to look, after a look that took `cost` seconds."""
        if self._used > self._bounds.memory // 2 or self._machine.is_getting_short():
            return max(self._bounds.interval / _HURRY, cost)
        return usual_pause(self._bounds.interval, cost)

    def _cause_of(self, events: Sequence[tuple[int, int]]) -> Cause:
        """Return why a child has ended, or had to be ended by the grader."""
        if any(number == self._report.fileno() for number, _ in events):
            return "starved" if self._is_starved() else ""
        if self._group.has_overflowed():
            return "memory"
        if not self._machine.has_killed():
            return ""
        living = self._processes()  # what is left of it still holds what it held
        in_kernel = self._memory_in_kernel(living, usage.descriptors_of(living))
        held = max(self._peak, usage.resident_memory_of(living) + in_kernel)
        own = held > min(self._bounds.memory, self._machine.total) // 2
        return "machine" if own else "outside"

    def _is_starved(self) -> bool:
        """Say whether others had the machine: it wanted to run most of its time, and hardly did."""
        lasted = time.monotonic() - self._begin
        used = usage.processor_time_of(self._processes())
        return 2 * self._wanted > self._looks and used < lasted / _STARVED_SHARE

    def _excess(self) -> Cause:
        self._looks += 1
        if self._stillness.lasts():
            return "machine" if self._machine.is_short_for(self._used) else ""
        return self._look()

    def _look(self) -> Cause:
        bounds = self._bounds
        begin = time.monotonic()
        living = self._processes()
        fetched, self._fetched = self._fetched, usage.fetches_of(living)
        rest = usage.rest(living, fetches=self._fetched > fetched)
        self._wanted += rest is None
        self._stillness.begin(begin, rest)
        descriptors = usage.descriptors_of(living)
        if max(sum(descriptors), self._sockets_beside(living)) > bounds.descriptors:
            return "descriptors"
        in_kernel = self._memory_in_kernel(living, descriptors)
        self._used = usage.resident_memory_of(living) + in_kernel
        if self._machine.is_short_for(self._used):  # there is no time to look closer
            return "machine"
        memory = self._used
        if memory > bounds.memory:
            memory = usage.memory_of(living, bounds.memory - in_kernel) + in_kernel
        self._peak = max(self._peak, memory)
        if memory > bounds.memory or self._group.has_overflowed():
            return "memory"
        self._rate(living, memory)
        return self._excess_of_files(living)

    def _excess_of_files(self, living: Sequence[int]) -> Cause:
        bounds = self._bounds
        if self._entrance is not None:  # its folders have bounded sizes, and any number of files
            counts = (usage.files_on(folder) for folder in bounds.watched)
            return "files" if any(count > bounds.files for count in counts) else ""
        if usage.tasks_of(living) > bounds.processes:
            return "processes"
        files, disk = usage.contents_of(bounds.watched, bounds.files, bounds.disk)
        return "files" if files > bounds.files else "disk" if disk > bounds.disk else ""

    def _sockets_beside(self, living: Sequence[int]) -> int:
        """Return how many sockets there are, where it has its own network namespace."""
        if self._entrance is None:
            return 0
        return max(map(usage.sockets_beside, living[:1]), default=0)

    def _memory_in_kernel(self, living: Sequence[int], descriptors: Sequence[int]) -> int:
        """Return bytes that the kernel holds for processes: in sockets and in pipes."""
        return self._sockets(living, descriptors) + usage.held_by_pipes(descriptors)

    def _sockets(self, living: Sequence[int], descriptors: Sequence[int]) -> int:
        if self._entrance is not None:  # all that there are in its own network namespace
            return memory.held_by_sockets(None, None, self._statistics)
        if self._user >= 0:
            return memory.held_by_sockets(self._user, None)
        # A child that has not yet given up its powers is closed; so is what makes itself so.
        counted = zip(living, descriptors, strict=True)
        closed = sum(count for number, count in counted if usage.is_closed(number))
        held = memory.held_by_sockets(None, memory.inodes_of(living))
        return held + memory.held_unseen(closed)

    def _rate(self, living: Sequence[int], memory: int) -> None:
        """Have the kernel choose the greedier sandbox, should it have to choose."""
        share = min(memory / self._machine.total, 1)
        usage.rate(living, int(_LEAST_BADNESS + share * (_MOST_BADNESS - _LEAST_BADNESS)))

    def _processes(self) -> list[int]:
        if self._entrance is not None:
            return usage.all_processes()
        return usage.descendants(os.getpid())

    def _end_all(self) -> None:
        """End all that runs; everything in a process namespace ends with its first process."""
        if self._entrance is not None:
            self._kill(self._child)
            with contextlib.suppress(ProcessLookupError):  # the grader was quicker
                signal.pidfd_send_signal(self._entrance, signal.SIGKILL)
            return
        while living := usage.descendants(os.getpid()):
            for number in living:
                self._kill(number)
            time.sleep(_KILL_PAUSE)

    def _bury(self) -> int:
        """Return the child's status, once nothing is left of any child.

        By CLONE_PARENT the child makes children of this process. One that nobody buries keeps a
        process namespace from ending, and with it the box: the grader waited for ever where an
        orphan's new parent does not bury it, as in a container whose first process is a shell.
        """
        status = 0
        with contextlib.suppress(ChildProcessError):
            while True:
                number, ended = os.waitpid(-1, linux.ALL_CHILDREN)
                if number == self._child:
                    status = ended
        return status

    def _kill(self, number: int) -> None:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has just ended by itself
