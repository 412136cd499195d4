"""A web server on loopback that answers as badly as it is told to."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What to answer, after `delay` seconds.

    `send` bytes of the content are sent (all by default), then the connection is held for `pause`
    seconds and closed. `announce` says whether the content's length is told.
    """

    content: bytes = b""
    status: int = 200
    location: str = ""
    announce: bool = True
    send: int | None = None
    delay: float = 0.0
    pause: float = 0.0


class FileServer:
    """Serves `answers` by path until the end of the with block; other paths are not found."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> FileServer:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(with_content=False)

            def do_GET(self) -> None:
                self._answer(with_content=True)

            def _answer(self, with_content: bool) -> None:
                outer.requests.append(f"{self.command} {self.path}")
                answer = outer.answers.get(self.path, Answer(status=404))
                outer._closing.wait(answer.delay)
                try:
                    self._write(answer, with_content)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has gone away, as some tests make it

            def _write(self, answer: Answer, with_content: bool) -> None:
                self.send_response(answer.status)
                if answer.location:
                    self.send_header("Location", answer.location)
                if answer.announce:
                    self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                if with_content:
                    self.wfile.write(answer.content[: answer.send])
                    outer._closing.wait(answer.pause)

            def log_message(self, *_: Any) -> None:
                """Keep the terminal clean."""

        return Handler
