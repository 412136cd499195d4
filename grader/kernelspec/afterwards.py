"""A process that clears up after this one should it be killed, when nothing else can.

What is in a sandbox ends with it then, by itself. Folders stay, and control groups: the next
command would remove them, but nobody who uses Jupyter gives one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from grader.files import sweep
from grader.inside.launcher import linux
from grader.sandbox.groups import find_groups

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
