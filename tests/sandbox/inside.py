"""Running a few lines of Python in a real sandbox and reading back what they report."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from grader.sandbox.interface import Command, ResourceLimits, Sandbox

_PROLOGUE = """
import json, os, sys
def report(value):
    os.write(3, json.dumps(value).encode())
"""


def report_from(
    sandbox: Sandbox,
    code: str,
    *,
    files: dict[str, bytes] | None = None,
    environment: dict[str, str] | None = None,
    limits: ResourceLimits | None = None,
) -> Any:
    """Run `code`, in which `report(value)` sends one JSON value out, and return that value."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream:
        with os.fdopen(writer, "wb"):
            process = sandbox.start(
                Command(
                    "python",
                    ("-c", _PROLOGUE + code),
                    files=files or {},
                    environment=environment or {},
                    descriptors=(writer,),
                    limits=limits or ResourceLimits(),
                )
            )
        answer = stream.read()
        status = process.wait(30)
    process.kill()
    assert status == 0, process.standard_error
    return json.loads(answer)


def some_seconds() -> str:
    """Return how long a process may sleep that is to be found among all of the host's.

    It is a little more than 61, and no other process sleeps as long, of another run of the tests
    neither.
    """
    return f"61.{time.monotonic_ns()}"


def command_lines() -> list[str]:
    """Return the command lines of all processes of the host."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has just ended
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return lines
