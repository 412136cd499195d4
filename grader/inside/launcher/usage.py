"""What a sandbox uses: its processes, their memory, its files."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping

_BLOCK = 512
"""The unit of `st_blocks` in bytes, whatever the file system."""

_TICKS = os.sysconf("SC_CLK_TCK")

_GONE = (FileNotFoundError, ProcessLookupError)
"""How /proc says that a process or thread has ended: the second, where it ends while its folder is
walked through. A warden that knew the first alone was ended by threads that live for a moment."""

_RUNS, _WAITS = b"R", b"D"
_ENDED = (b"Z", b"X")

_NOT_COUNTED = b"0 0 0\n"
"""What the kernel tells of a thread that never ran, and of any where it does not count."""

_SIZES = (b"VmRSS:", b"VmPTE:")

_PIPE = 2 * os.sysconf("SC_PAGE_SIZE")
"""What each pipe may hold once its user has many: before that they may hold 64 MiB together."""

_USUAL_DESCRIPTORS = 64
"""So many open files of a process are not reckoned as pipes: most have fewer, and a child has its
parent's once more."""

_HIDDEN_DESCRIPTORS = 1024
"""What a process that does not let its descriptors be counted is taken to have."""


_TRIES = 1000
"""So often a process is asked anew for what it holds whose threads end when they are asked. With 40
tries one look in ten was in vain on an Intel processor, and what the process held was hidden from
it; with 200 still one in a thousand. What is asked so often in vain takes some milliseconds."""


class StandIn(int):
    """The number of a thread by which a process is told whose first thread has ended."""

    first: int


def all_processes() -> list[int]:
    """Return the processes of the process namespace that /proc shows, zombies among them.

    A process whose first thread has ended is told by the number of another of its threads: by its
    own, /proc shows neither memory nor descriptors, though the others still have all of it.
    """
    return [_told_by(number) for number in _numbers()]


def descendants(root: int) -> list[int]:
    """Return the living processes below `root`, children before grandchildren, without zombies.

    They are told by the numbers that `all_processes` tells them by.
    """
    parents: dict[int, list[int]] = {}
    for number in _numbers():
        parent = _living_parent(number)
        if parent is not None:
            parents.setdefault(parent, []).append(number)
    found = list(parents.get(root, ()))
    for number in found:
        found.extend(parents.get(number, ()))
    return [_told_by(number) for number in found]


def tasks_of(processes: Iterable[int]) -> int:
    """Return how many threads processes have together, at least one each."""
    return sum(_threads(number) for number in processes)


def resident_memory_of(processes: Iterable[int]) -> int:
    """Return bytes of memory in use by each process, with the tables that map it, summed up.

    That is more than they use together: what they share is counted for each of them.
    """
    told = [_told_of(number) for number in processes]
    return sum(each.get(b"VmRSS:", 0) + each.get(b"VmPTE:", 0) for each in told)


def memory_of(processes: Iterable[int], enough: int) -> int:
    """Return bytes of memory in use by processes together, with the tables that map it.

    Each page is divided by the number of its users. That takes milliseconds for a process, so
    nothing is counted any more once the sum is above `enough`.
    """
    used = 0
    for number in processes:
        told = _told_of(number)
        used += told.get(b"VmPTE:", 0) + _proportional(number, told.get(b"VmRSS:", 0))
        if used > enough:
            break
    return used


def descriptors_of(processes: Iterable[int]) -> list[int]:
    """Return how many descriptors each process has."""
    return [_descriptors(number) for number in processes]


def sockets_beside(process: int) -> int:
    """Return how many sockets are in the network namespace of a process, 0 if it has ended.

    Some of them nobody has open: they wait to be accepted. Each is memory, and a thousand listeners
    can have millions of them, which to look at one by one would take minutes.
    """
    fields = _read(f"/proc/{process}/net/sockstat").split(maxsplit=3)
    return int(fields[2]) if fields[:2] == [b"sockets:", b"used"] else 0


def is_closed(process: int) -> bool:
    """Say whether a process is there and keeps its descriptors from being looked at.

    One that is ending is closed as well, once it has given back its memory; it closes what it had.
    A kernel that had just been killed was blamed for the sockets that it might have had.
    """
    folder = f"/proc/{process}/fd"
    can_be_seen = os.access(folder, os.R_OK | os.X_OK)
    return not can_be_seen and os.path.exists(folder) and bool(_sizes(f"/proc/{process}"))  # noqa: PTH110


def held_by_pipes(descriptors: Iterable[int]) -> int:
    """Return bytes that pipes may hold, of processes that have so many descriptors each."""
    return sum(_PIPE * max(count - _USUAL_DESCRIPTORS, 0) for count in descriptors)


def rest(processes: Iterable[int], *, fetches: bool) -> dict[str, bytes] | None:
    """Return how long and how often each thread of processes ran so far, by the file that tells.

    None when one of them runs or could run. `fetches` says that memory was brought back from a disk
    for them: then one may be waiting for that. Waiting alone tells nothing, as a parent waits alike
    for a child of vfork(2) that sleeps. Empty where the kernel does not count.
    """
    wanting = (_RUNS, _WAITS) if fetches else (_RUNS,)
    known: dict[str, bytes] = {}
    for folder in _thread_folders(processes):
        # Counted before its state is looked at: one that runs in between is seen the next time.
        known[_count_of(folder)] = _read(_count_of(folder))
        if _state(f"{folder}/stat") in wanting:
            return None
    return {} if _NOT_COUNTED in known.values() else known


def have_run(known: Mapping[str, bytes]) -> bool:
    """Say whether a thread ran since `rest` returned this, or has ended.

    If none has and these are all, no process or thread was made, and nothing was taken of anything:
    that takes somebody who runs.
    """
    return any(_read(path) != told for path, told in known.items())


def are_all(known: Mapping[str, bytes], processes: Iterable[int]) -> bool:
    """Say whether `rest` has told of each thread that processes have by now, and of no other."""
    return known.keys() == {_count_of(folder) for folder in _thread_folders(processes)}


def newest() -> bytes:
    """Return the number of the process or thread that was made last, by whoever it was."""
    return _read("/proc/loadavg").rpartition(b" ")[2]


def _count_of(folder: str) -> str:
    return f"{folder}/schedstat"


def _thread_folders(processes: Iterable[int]) -> Iterator[str]:
    for number in processes:
        with contextlib.suppress(*_GONE):
            for thread in os.listdir(f"/proc/{number}/task"):  # noqa: PTH208
                yield f"/proc/{number}/task/{thread}"


def fetches_of(processes: Iterable[int]) -> int:
    """Return how many pages were brought from a disk for living processes: major faults."""
    fields = map(_fields, processes)
    return sum(int(each[9]) for each in fields if len(each) > 9)


def processor_time_of(processes: Iterable[int]) -> float:
    """Return how many seconds of processor time living processes have used, and ended children."""
    ticks = 0
    for number in processes:
        ticks += sum(map(int, _fields(number)[11:15]))
    return ticks / _TICKS


def rate(processes: Iterable[int], badness: int) -> None:
    """Tell the kernel how soon to choose processes when the machine has no memory: 0 to 1000."""
    for number in processes:
        # gone, or in a /proc that cannot be written to: then all are rated alike
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{number}/oom_score_adj", "wb") as file,  # noqa: PTH123
        ):
            file.write(b"%d" % badness)


def files_on(folder: str) -> int:
    """Return how many files the file system of a folder holds."""
    state = os.statvfs(folder)
    return state.f_files - state.f_ffree


def contents_of(folders: Iterable[str], most_files: int, most_bytes: int) -> tuple[int, int]:
    """Count files and bytes below folders, giving up once a count is passed.

    What cannot be counted, because it lies deeper than descriptors reach or is closed again as soon
    as it was opened up, counts as too many files.
    """
    files = size = 0
    try:
        for entry in _below(folders):
            files += 1
            size += entry.st_blocks * _BLOCK
            if files > most_files or size > most_bytes:
                break
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM):
            raise
        files = most_files + 1
    return files, size


def _below(folders: Iterable[str]) -> Iterator[os.stat_result]:
    """Yield what is known of each file below folders, going down by descriptors.

    A path could be too long to be used, and another folder by the time it is.
    """
    with contextlib.ExitStack() as everything:
        pending: list[tuple[int, Iterator[str]]] = []
        everything.callback(_close_all, pending)
        for folder in folders:
            pending.append(_enter(folder, None))
            while pending:
                number, names = pending[-1]
                name = next(names, None)
                if name is None:
                    os.close(pending.pop()[0])
                    continue
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # gone meanwhile
                    state = _state_of(name, number)
                    yield state
                    if stat.S_ISDIR(state.st_mode):
                        pending.append(_enter(name, number))


def _state_of(name: str, folder: int) -> os.stat_result:
    """Return what is known of a file in a folder, which may let its names be read and no more."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except PermissionError:
        os.chmod(folder, 0o700)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _enter(name: str, parent: int | None) -> tuple[int, Iterator[str]]:
    """Open a folder that is no link, and open it up for its owner, this process, if need be."""
    flags = os.O_NOFOLLOW | os.O_DIRECTORY
    try:
        number = os.open(name, os.O_RDONLY | flags, dir_fd=parent)
    except PermissionError:
        closed = os.open(name, os.O_PATH | flags, dir_fd=parent)
        os.chmod(f"/proc/self/fd/{closed}", 0o700)  # noqa: PTH101 - there is no path to it
        os.close(closed)
        number = os.open(name, os.O_RDONLY | flags, dir_fd=parent)
    with os.scandir(number) as entries:
        return number, iter([entry.name for entry in entries])


def _close_all(pending: list[tuple[int, Iterator[str]]]) -> None:
    for number, _ in pending:
        os.close(number)


def _numbers() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _fields(number: int) -> list[bytes]:
    """Return what `stat` says of a process behind its name, which may have blanks in it."""
    return _read(f"/proc/{number}/stat").rpartition(b") ")[2].split()


def _living_parent(number: int) -> int | None:
    fields = _fields(number)
    return int(fields[1]) if len(fields) > 17 and not _has_ended(fields) else None


def _has_ended(fields: list[bytes]) -> bool:
    """Say whether a process has ended, by its `stat` behind its name: with all of its threads."""
    return fields[0] in _ENDED and int(fields[17]) <= 1


def _told_by(number: int) -> int:
    fields = _fields(number)
    if len(fields) < 18 or fields[0] not in _ENDED or _has_ended(fields):
        return number
    try:
        threads = os.listdir(f"/proc/{number}/task")  # noqa: PTH208
    except _GONE:
        return number
    living = (each for each in threads if _state(f"/proc/{each}/stat") not in (*_ENDED, b""))
    told_by = StandIn(next(living, number))
    told_by.first = number
    return told_by


def _threads(number: int) -> int:
    fields = _fields(number)
    return int(fields[17]) if len(fields) > 17 else 0


def _state(path: str) -> bytes:
    return _read(path).rpartition(b") ")[2][:1]


def _told_of(number: int) -> dict[bytes, int]:
    """Return the sizes, in bytes, that the kernel tells of a process.

    A thread that stands in may have ended by now, and left another one: then all are asked. Where
    each lived for a moment only, their process was taken to hold nothing.
    """
    told = _sizes(f"/proc/{number}")
    if told or not isinstance(number, StandIn):
        return told
    for _ in range(_TRIES):
        for folder in _thread_folders([number.first]):
            told = _sizes(folder)
            if told:
                return told
    return {}


def _sizes(folder: str) -> dict[bytes, int]:
    # Not every line with kB: a process may be called "a kB", or have a line's end in its name.
    lines = [line.split() for line in _read(f"{folder}/status").split(b"\n")]
    return {line[0]: int(line[1]) * 1024 for line in lines if line and line[0] in _SIZES}


def _descriptors(number: int) -> int:
    folder = f"/proc/{number}/fd"
    try:
        return os.stat(folder).st_size or len(os.listdir(folder))  # noqa: PTH116, PTH208
    except _GONE:
        return 0
    except PermissionError:
        is_ending = not _sizes(f"/proc/{number}")  # see `is_closed`
        return 0 if is_ending else _HIDDEN_DESCRIPTORS


def _proportional(number: int, resident: int) -> int:
    """Return bytes of a process's share; all that is `resident` if its pages cannot be counted."""
    try:
        text = _read(f"/proc/{number}/smaps_rollup")
    except PermissionError:
        return resident
    if not text and isinstance(number, StandIn):
        return resident
    for line in text.splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - read a hundred times a second
            return file.read()
    except _GONE:
        return b""
