"""Work in a child process, whose memory and time are its own, and whose end is nobody else's."""

from __future__ import annotations

import os
import resource
import signal
import traceback
from collections.abc import Callable
from typing import NoReturn, TypeVar

import msgspec

Value = TypeVar("Value")


class ChildError(Exception):
    """Raised where a child has ended without an answer: what it was doing has not ended well."""


class EndlessError(ChildError):
    """Raised where it took more seconds of a processor than it may."""


def in_child(kind: type[Value], work: Callable[[], Value], seconds: int | None = None) -> Value:
    """Return what is computed in a child, with so many seconds of a processor. Raises ChildError.

    What `work` raises is printed in the child.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(work, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGXCPU:
        raise EndlessError(f"not done after {seconds} s of a processor")
    if code != 0:
        raise ChildError(
            f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        )
    return msgspec.msgpack.decode(answer, type=kind)


def _answer(work: Callable[[], object], writer: int, seconds: int | None) -> NoReturn:
    status = 1
    try:
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        with os.fdopen(writer, "wb") as stream:
            stream.write(msgspec.msgpack.encode(work()))
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)
