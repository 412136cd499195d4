"""A server on this machine that has one archive."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer


class Answering(BaseHTTPRequestHandler):
    """Answers with what the server has, if it was asked as it wants to be."""

    content = b""
    token = ""
    onwards = ""

    def do_GET(self) -> None:
        if self.path == "/elsewhere" or self.onwards:
            self.send_response(302)
            self.send_header("Location", self.onwards or "/archive")
            self.end_headers()
            return
        wanted = f"Bearer {self.token}" if self.token else None
        self.send_response(200 if self.headers["Authorization"] == wanted else 404)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_arguments: object) -> None:
        pass


@contextlib.contextmanager
def serving(content: bytes, token: str = "", onwards: str = "") -> Iterator[str]:
    """Serve bytes to who shows the token, and return where; or send everybody `onwards`."""
    known = {"content": content, "token": token, "onwards": onwards}
    handler = type("Handler", (Answering,), known)
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
