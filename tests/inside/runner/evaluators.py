"""Evaluators for tests: processes of their own, forked where everything is imported already."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

from grader.inside.runner.evaluation import Evaluator

_NURSERY = """
import os, signal, socket, sys, torch
import grader.inside.evaluator.entry
from grader.inside.evaluator import entry

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
requests = socket.socket(fileno=int(sys.argv[1]))
while True:
    payload, descriptors, *_ = socket.recv_fds(requests, 1, 1)
    if not payload:
        break
    if os.fork() == 0:
        requests.close()
        try:
            entry.main([str(descriptors[0])])
        finally:
            os._exit(1)
    os.close(descriptors[0])
"""


class Nursery:
    """A process that forks an evaluator on request."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, "-c", _NURSERY, str(theirs.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()], env=os.environ)

    @contextlib.contextmanager
    def socket(self) -> Iterator[socket.socket]:
        """Start an evaluator and give the runner's end of its socket. It ends with the context."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(self._requests, [b"x"], [theirs.fileno()])
            yield ours

    @contextlib.contextmanager
    def evaluator(self) -> Iterator[Evaluator]:
        """Start an evaluator that can be asked."""
        with self.socket() as connection:
            evaluator = Evaluator(connection)
            assert evaluator.await_start()
            yield evaluator

    def close(self) -> None:
        """End the process. Evaluators end with their sockets."""
        self._requests.close()
        self._process.wait(30)
