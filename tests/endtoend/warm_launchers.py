"""Launchers that are forked off one which has imported what they need.

Nothing of the referee is imported here: what is forked goes into sandboxes.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from grader.inside.launcher import linux, server
from grader.inside.launcher.protocol import Preload

MESSAGE_LIMIT = 2**20
DESCRIPTOR_LIMIT = 8


def receive(connection: socket.socket) -> tuple[Any, list[int]]:
    """Return a message and its descriptors; no message at the connection's end."""
    payload, descriptors, _, _ = socket.recv_fds(connection, MESSAGE_LIMIT, DESCRIPTOR_LIMIT)
    return (json.loads(payload) if payload else None), descriptors


def send(connection: socket.socket, message: Any, descriptors: Sequence[int] = ()) -> None:
    """Send a message with descriptors."""
    socket.send_fds(connection, [json.dumps(message).encode()], list(descriptors))


def fork_off(answer: int, run: Callable[[], None]) -> None:
    """Fork a process that writes its child's number, and its status when it has ended.

    `run` is called in the child, which ends as Python ends. `answer` is a descriptor that is ours.
    """
    if os.fork():
        os.close(answer)
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=answer) as connection:
        child = os.fork()
        if child == 0:
            connection.close()
            _end(run)
        connection.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(BrokenPipeError):
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _end(run: Callable[[], None]) -> NoReturn:
    """Run a function and end as Python does, but for the objects that are there: they are many."""
    code: object = 0
    try:
        run()
    except SystemExit as ending:
        code = ending.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def fork_launchers(number: str, preload: Preload, source: str) -> None:
    """Fork off launchers with a set of imports, up to the end of the connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    linux.close_own_proc()
    linux.name_process("grader-launcher")
    server.prepare(preload)
    sys.path.remove(source)
    sys.path_importer_cache.pop(source, None)
    connection = socket.socket(fileno=int(number))
    while True:
        asked, descriptors = receive(connection)
        if asked is None:
            return
        requests, errors, answer = descriptors

        fork_off(answer, partial(_be_launcher, connection, requests, errors))
        os.close(requests)
        os.close(errors)


def _be_launcher(connection: socket.socket, requests: int, errors: int) -> None:
    connection.close()
    os.setsid()
    os.dup2(errors, 2)
    os.close(errors)
    for each in (signal.SIGCHLD, signal.SIGTERM):  # as in a launcher that has imported all
        signal.signal(each, signal.SIG_IGN)
    linux.begin_session_keyring()
    with socket.socket(fileno=requests) as own:
        server.serve(own)
