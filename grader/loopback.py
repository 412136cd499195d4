"""A server for one person's browser on this machine, and nobody else: until Ctrl-C.

Whoever has the token of this run gets a cookie for it, which a browser sends for pages of this
address alone. What comes from another address, or under another name of this one, is refused. A
page loads nothing from elsewhere, and runs the one script that is the grader's own.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.errors import UsageError
from grader.language import say

LOOPBACK: Final = "127.0.0.1"

OPEN: Final = "/open"
"""Where the token is given for a cookie."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; "
)

HEADERS: Final = {
    "Content-Security-Policy": POLICY + "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every answer says that says nothing else itself: no source but this one, no frame around it,
and nothing kept."""

_FRAMED: Final = {
    "Content-Security-Policy": POLICY + "frame-src 'self'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""What is said in place of that where pages show one another."""

_ENTRY = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>grader</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><a href="/">grader {command}</a></body></html>'
)
"""A page of our own that leads on: a browser that came from elsewhere would not send the cookie."""


class Guard:
    """Lets through who comes from this machine's browser with the cookie of this run.

    `command` is the command's name. With `framed`, its pages may be in frames of one another.
    """

    def __init__(
        self, inner: ASGIApp, command: str, token: str, port: int, *, framed: bool = False
    ) -> None:
        self._inner = inner
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._entry = _ENTRY.format(command=command)
        self._cookie = f"grader-{command}-{port}"
        self._headers = HEADERS | _FRAMED if framed else HEADERS
        self._value = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered; all answers have the headers."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(Request(scope)) or self._inner
        await answer(scope, receive, with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return what is answered here; None for what may go on."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("This is another address.", 421)
        if request.url.path == OPEN and request.method == "GET":
            return self._exchange(request)
        if not _is_same(request.cookies.get(self._cookie, ""), self._value):
            return PlainTextResponse("Open the address that the command has printed.", 403)
        if request.method not in ("GET", "HEAD") and origins != [f"http://{hosts[0]}"]:
            return PlainTextResponse("That was not asked by this page.", 403)
        return None

    def _exchange(self, request: Request) -> Response:
        if not _is_same(request.query_params.get("token", ""), self._token):
            return PlainTextResponse("Open the address that the command has printed.", 403)
        answer = HTMLResponse(self._entry)
        answer.set_cookie(self._cookie, self._value, httponly=True, samesite="strict", path="/")
        return answer


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Listen on a port of this machine alone. Raises UsageError where that is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()  # who is given the address may ask before the server does
        except OSError as error:
            raise UsageError(
                say("port-not-available", port=port, reason=str(error.strerror)),
                say("leave-out-port-for-free-one"),
            ) from None
        yield listener


def address_of(listener: socket.socket, token: str) -> str:
    """Return the address that opens the pages, with the token of this run."""
    return f"http://{LOOPBACK}:{listener.getsockname()[1]}{OPEN}?token={token}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until somebody presses Ctrl-C."""
    config = uvicorn.Config(
        app,
        log_config=None,
        # Its warnings are of what others of this machine send: they filled the terminal.
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        # Longer than browsers keep a connection that is idle (Chromium 300 s): a server that ends
        # it first may do so while a marking is sent, which is then lost.
        timeout_keep_alive=900,
    )
    server = _Server(config)
    # Before there is a coroutine: Python warns of one that an interruption kept from being run.
    with server.capture_signals():
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends at Ctrl-C, which is how it is meant to end; at other signals as every command does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals while the server runs."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {each: signal.signal(each, self.handle_exit) for each in numbers}
        try:
            yield
        finally:
            for number in numbers:
                signal.signal(number, before[number])
        for ending in {*self._captured_signals} - {signal.SIGINT}:
            signal.raise_signal(ending)
