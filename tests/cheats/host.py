"""What the cheats look for, really placed on this machine: secrets, sockets, a victim.

A cheat is told where to look, which is more than a real one would know. The names that its text may
use are the keys of `Host.values`; README.md explains them.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import secrets
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import grader
from tests.cheats.fixtures import COURSES
from tests.sandbox.inside import command_lines

_IPC_CREAT, _IPC_RMID = 0o1000, 0
_SHARED_BYTES = 4096
_WORLD_READABLE = 0o644
_ENVIRONMENT_START = 49  # the field of /proc/<pid>/stat, from 0, counted by proc(5) from 1
_TRACE_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")


class Host:
    """A context manager: places everything on entry and removes it on exit."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self.marker = f"cheat{secrets.token_hex(8)}"
        self.seed = secrets.randbits(47) | 1 << 46
        self.values: dict[str, str] = {}

    def __enter__(self) -> Host:
        with contextlib.ExitStack() as stack:
            self._place(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def environment(self) -> dict[str, str]:
        """What is added to the grader's environment."""
        return {"CHEAT_TEST_SECRET": self.marker, "HOME": str(self.folder / "home")}

    def intact(self) -> bool:
        """Whether nobody has changed the secret files or what may be done with them."""
        return all(
            path.read_text() == self.marker and path.stat().st_mode & 0o777 == _WORLD_READABLE
            for path in self._secret_files
        )

    def survivors(self, word: str) -> list[str]:
        """Return the command lines of processes that have this word in it."""
        return [line for line in command_lines() if word in line]

    def _place(self, stack: contextlib.ExitStack) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cheats-", dir="/tmp"))
        stack.callback(_remove, self.folder)
        self.folder.chmod(0o755)  # what only file permissions protect would prove nothing
        for name in ("home", "runs"):
            (self.folder / name).mkdir()
        course = self._copy_course()
        beside, at_home = course / "answers.txt", self.folder / "home" / "answers.txt"
        self._secret_files = (beside, at_home, Path(f"/dev/shm/{self.marker}"))
        for path in self._secret_files:
            path.write_text(self.marker)
            path.chmod(_WORLD_READABLE)
        stack.callback(Path(f"/dev/shm/{self.marker}").unlink)
        stack.callback(self._remove_traces)
        self.values = {
            "marker": self.marker,
            "course": str(course),
            "secret_file": str(beside),
            "home_file": str(at_home),
            "package": str(Path(grader.__file__).parent),
            "shared_memory": f"/dev/shm/{self.marker}",
            "segment_key": str(_segment(stack, self.marker)),
            "network": str(Path("/proc/self/ns/net").readlink()),
            "seed_differences": str([_differences(each) for each in _spellings(self.seed)]),
            **self._victim(stack),
            **_Answering(stack, self.folder, self.marker).values,
        }

    def _copy_course(self) -> Path:
        """Make one course of all, so that secrets can lie beside it."""
        course, ignored = self.folder / "course", shutil.ignore_patterns("__pycache__")
        for each in COURSES:
            shutil.copytree(each, course, ignore=ignored, dirs_exist_ok=True)
        return course

    def _victim(self, stack: contextlib.ExitStack) -> dict[str, str]:
        """Start a process that sleeps, with the marker in its environment and its command line."""
        victim = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(3600)", self.marker],
            env={"CHEAT_TEST_SECRET": self.marker},
            start_new_session=True,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        fields = Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()
        # the first two fields, the number and the name, are gone
        return {"victim_pid": str(victim.pid), "victim_memory": fields[_ENVIRONMENT_START - 2]}

    def _remove_traces(self) -> None:
        """Remove what cheats left at levels that let them: files, and shared memory by its key."""
        for folder in map(Path, _TRACE_FOLDERS):
            for path in folder.glob(f"*trace-{self.marker}*"):
                path.unlink()
        library = ctypes.CDLL(None)
        segment = library.shmget(trace_key(self.marker), 1, 0)
        if segment >= 0:
            library.shmctl(segment, _IPC_RMID, None)


def _remove(folder: Path) -> None:
    """Remove a folder. shutil.rmtree does not come to the end of what a cheat may have nested."""
    subprocess.run(["rm", "-rf", "--", folder], check=True)


def trace_key(marker: str) -> int:
    """Return the System V key under which a cheat may leave something for the next one."""
    return int(marker[-7:], 16)


def _segment(stack: contextlib.ExitStack, text: str) -> int:
    """Make a System V shared memory segment that anybody may read; return its key."""
    library = ctypes.CDLL(None, use_errno=True)
    library.shmat.restype = ctypes.c_void_p
    library.shmdt.argtypes = [ctypes.c_void_p]
    key = secrets.randbits(30) | 1
    segment = library.shmget(key, _SHARED_BYTES, _IPC_CREAT | _WORLD_READABLE)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    stack.callback(library.shmctl, segment, _IPC_RMID, None)
    address = library.shmat(segment, None, 0)
    ctypes.memmove(address, text.encode(), len(text))
    library.shmdt(address)
    return key


def _spellings(number: int) -> tuple[bytes, bytes, bytes]:
    """Return how a number may stand in a process's memory: as text, as a word, big-endian."""
    return str(number).encode(), number.to_bytes(8, "little")[:6], number.to_bytes(6, "big")


def _differences(data: bytes) -> list[int]:
    """Return what tells bytes without being them: a cheat that looks must not find its own text."""
    return [(after - before) % 256 for before, after in itertools.pairwise(data)]


class _Answering:
    """Sockets of all kinds, and a thread that answers each caller with the marker."""

    def __init__(self, stack: contextlib.ExitStack, folder: Path, marker: str) -> None:
        self._marker = marker.encode()
        self._selector = stack.enter_context(selectors.DefaultSelector())
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        ends = {
            "tcp_port": _bound(stack, socket.AF_INET, stream, ("127.0.0.1", 0)),
            "udp_port": _bound(stack, socket.AF_INET, datagram, ("127.0.0.1", 0)),
            "unix_path": _bound(stack, socket.AF_UNIX, stream, f"{folder}/stream"),
            "datagram_path": _bound(stack, socket.AF_UNIX, datagram, f"{folder}/datagram"),
            "abstract_name": _bound(stack, socket.AF_UNIX, stream, f"\0{marker}"),
        }
        for name in ("unix_path", "datagram_path"):
            Path(ends[name].getsockname()).chmod(0o777)
        for end in ends.values():
            if end.type == stream:
                end.listen(16)
            self._selector.register(end, selectors.EVENT_READ)
        self._bell, self._ringer = socket.socketpair()
        for end in (self._bell, self._ringer):
            stack.enter_context(end)
        self._selector.register(self._bell, selectors.EVENT_READ)
        thread = threading.Thread(target=self._run, name="answering", daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(self._ringer.send, b"end")
        self.values = {
            "tcp_port": str(ends["tcp_port"].getsockname()[1]),
            "udp_port": str(ends["udp_port"].getsockname()[1]),
            "unix_path": ends["unix_path"].getsockname(),
            "datagram_path": ends["datagram_path"].getsockname(),
            "abstract_name": marker,
        }

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._bell:
                    return
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(OSError):  # the caller has gone away
                    self._answer(key.fileobj)

    def _answer(self, end: socket.socket) -> None:
        if end.type == socket.SOCK_STREAM:
            caller, _ = end.accept()
            with caller:
                caller.sendall(self._marker)
            return
        _, address = end.recvfrom(100)
        if address:
            end.sendto(self._marker, address)


def _bound(
    stack: contextlib.ExitStack, family: int, kind: int, address: str | tuple[str, int]
) -> socket.socket:
    end = stack.enter_context(socket.socket(family, kind))
    end.bind(address)
    return end


def as_root() -> bool:
    """Whether root runs the grader."""
    return os.geteuid() == 0
