"""A bound on how slowly a server may answer.

A time for each read ends a server that says nothing. One that sends a byte a minute says something:
the lines of its head alone may last for years.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

import requests
from requests.adapters import HTTPAdapter

SECONDS = 180.0
BYTES = 4 * 2**20
"""So long an answer may take for its head and so much of its body, and for as much again."""


class SlowServers:
    """Ends the connections of a session on which an answer takes too long."""

    def __init__(self, session: requests.Session) -> None:
        self._sockets = WeakSet[socket.socket]()
        self._timer: threading.Timer | None = None
        self._is_late = False
        for scheme in ("https://", "http://"):
            session.mount(scheme, _Adapter(self._sockets))

    @contextmanager
    def refused(self) -> Iterator[None]:
        """Bound the body. Raises ReadTimeout where it took too long.

        What has no length ends with its connection, and would be taken for whole.
        """
        self._is_late = False
        self.begin_again()
        try:
            yield
        finally:
            self._cancel()
        if self._is_late:
            raise requests.ReadTimeout

    def begin_again(self) -> None:
        """Give an answer of which enough has come as long again."""
        self._cancel()
        self._timer = threading.Timer(SECONDS, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self._is_late = True
        for each in [*self._sockets]:
            with suppress(OSError):  # of one that is closed
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Notes the sockets of its connections."""

    def __init__(self, sockets: WeakSet[socket.socket]) -> None:
        self._known = sockets
        super().__init__()

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> Any:
        """Return a pool whose connections are noted."""
        pool = super().get_connection_with_tls_context(*given, **named)
        if "ConnectionCls" not in vars(pool):
            pool.ConnectionCls = _noting(pool.ConnectionCls, self._known)
        return pool


def _noting(kind: Any, sockets: WeakSet[socket.socket]) -> Any:
    class Noting(kind):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            sockets.add(self.sock)

    return Noting
