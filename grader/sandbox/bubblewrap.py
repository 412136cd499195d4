"""Boxes made by bubblewrap: namespaces of their own, and mounts that hold nothing but the system.

A user gets a user namespace. Root must not: bubblewrap started by root keeps all capabilities, user
namespace or not, and files below /proc/sys are the host's. So root's boxes have none, and whoever
steps into them takes on its own user id and gives up every capability.

In each box waits one small process, which holds the namespaces until a program has stepped in. It
is the first of its process namespace and can do less than what steps in: sandbox/holder.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path, PurePosixPath

from grader.errors import SandboxError
from grader.language import say
from grader.machine.packages import how_to_install
from grader.sandbox.hints import hint_for, install_bubblewrap, obstacle_in, words_of
from grader.sandbox.holder import (
    HOLDER,
    HOLDER_PERMISSIONS,
    HeldBox,
    await_holder,
    find_cat,
    hold,
    read_some,
    spawn,
    system_call_filter,
)
from grader.sandbox.interface import Command, Level
from grader.sandbox.layout import Descriptor, covers, mount_options
from grader.sandbox.process import student_id

_START_SECONDS = 30.0
_REQUIRED = (
    "--args",
    "--perms",
    "--size",
    "--info-fd",
    "--ro-bind-data",
    "--seccomp",
    "--as-pid-1",
)
_NAMESPACES = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)


def find_bubblewrap(
    find: Callable[[str], str | None], *, as_root: bool, protected: Iterable[Path] = ()
) -> BubblewrapBoxes:
    """Return what makes boxes with the bubblewrap that `find` finds. Raises SandboxError.

    None of the files and folders `protected` can be seen in them.
    """
    covered = covers(protected)
    executable = find("bwrap")
    if executable is None:
        raise SandboxError(say("program-bwrap-bubblewrap-not-installed"), install_bubblewrap())
    options = frozenset(_ask(executable, "--help").split())
    missing = [option for option in _REQUIRED if option not in options]
    if missing:
        raise SandboxError(
            say("this-bubblewrap-too-old-does-not-know", option=missing[0]),
            say("install-bubblewrap-0-8-or-newer", command=how_to_install("bubblewrap")),
        )
    version = _ask(executable, "--version").strip()
    return BubblewrapBoxes(
        executable, version, options, find_cat(find), as_root=as_root, covered=covered
    )


def _ask(executable: str, option: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603
            [executable, option],
            capture_output=True,
            text=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(
            say("cannot-run", executable=executable, error=str(error)), install_bubblewrap()
        ) from None
    return answer.stdout


_OWN_USER = say("no-network-read-only-system-user-id")
_OWN_NAMESPACE = say("no-network-read-only-system-user-namespace")


class BubblewrapBoxes:
    """Makes boxes in the way that suits the user that the grader runs as.

    `executable` is the program's path and `version` what it says it is; `options` are the command
    line options that it knows. `holder` is the program that holds a box, `covered` are folders
    that look empty inside.
    """

    level: Level = "strong"

    def __init__(
        self,
        executable: str,
        version: str,
        options: frozenset[str],
        holder: bytes,
        *,
        as_root: bool,
        covered: tuple[Path, ...] = (),
    ) -> None:
        self._executable = executable
        self._covered = covered
        self._holder = holder
        self._as_root = as_root
        user = [] if as_root else ["--unshare-user"]
        if not as_root and "--disable-userns" in options:
            user.append("--disable-userns")
        self._isolation = (*user, *_NAMESPACES)
        self.detail = say(_OWN_USER if as_root else _OWN_NAMESPACE, version=version)

    def make(self, command: Command) -> HeldBox:
        """Make a box that holds a command's files; may be called from any thread.

        It ends when the grader is killed, and so does all that has stepped into it. Raises
        SandboxError when the machine refuses.
        """
        user = student_id() if self._as_root else os.getuid()
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb", buffering=0) as info:
            with os.fdopen(writer, "wb"), _MemoryFiles() as memory:
                options = self._options(command, user, writer, memory.add)
                # Through a file: the words of the command line can be read inside, in /proc/1.
                words = memory.add("".join(f"{option}\0" for option in options).encode())
                holder = hold(student_id() if self._as_root else None)
                popen = spawn(
                    [self._executable, "--args", str(words), "--", *holder],
                    (*memory.numbers, writer),
                )
            return HeldBox(popen, _adopt(popen, info), user if self._as_root else -1)

    def _options(self, command: Command, user: int, info: int, descriptor: Descriptor) -> list[str]:
        return [
            *self._isolation,
            *("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"),
            *self._holder_options(descriptor),
            *mount_options(command.files, command.limits.scratch, user, self._covered, descriptor),
            *("--info-fd", str(info)),
        ]

    def _holder_options(self, descriptor: Descriptor) -> list[str]:
        """Let the holder be the only process, behind the filter of those that step in."""
        copy = str(descriptor(self._holder))
        return [
            *("--as-pid-1", "--seccomp", str(descriptor(system_call_filter()))),
            *("--perms", "0755", "--dir", str(PurePosixPath(HOLDER).parent)),
            *("--perms", f"{HOLDER_PERMISSIONS:04o}", "--ro-bind-data", copy, HOLDER),
        ]


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


def _adopt(popen: subprocess.Popen[bytes], info: FileIO) -> int:
    """Wait until a box is complete and return a pidfd of pid 1 in it. Raises SandboxError.

    The pipe is read to its end: closed earlier, it kills bubblewrap in the middle of a start. The
    box is complete when its process answers: until then it is still being mounted.
    """
    deadline = time.monotonic() + _START_SECONDS
    try:
        pidfd = os.pidfd_open(json.loads(_read_to_end(info, deadline))["child-pid"])
        await_holder(popen, deadline)
    except (ValueError, KeyError, TimeoutError, ProcessLookupError, BrokenPipeError):
        popen.kill()
        _, message = popen.communicate()
        text = message.decode(errors="replace").strip()
        raise SandboxError(
            say("bubblewrap-cannot-make-sandbox", reason=words_of(text)),
            hint_for(obstacle_in(text)),
        ) from None
    return pidfd


def _read_to_end(stream: FileIO, deadline: float) -> bytes:
    document = b""
    while chunk := read_some(stream, deadline):
        document += chunk
    return document
