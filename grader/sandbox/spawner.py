"""The thread that starts bubblewrap."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from grader.errors import SandboxError
from grader.inside.launcher import linux


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
            f"{arguments[0]} cannot be started: {error.strerror}.", "Run `grader doctor`."
        ) from None
