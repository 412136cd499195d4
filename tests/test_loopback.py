"""A server of this machine ends at Ctrl-C, whenever it comes, and heeds no other program of it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

SCRIPT = """
import signal, sys
from grader.loopback import listening, serve

RUNNERS = ("uvicorn/_compat.py", "asyncio/runners.py")  # who is given the server's coroutine
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

async def app(scope, receive, send):
    assert scope["type"] == "lifespan"

def interrupt(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.endswith(RUNNERS):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

with listening(0) as listener:
    sys.setprofile(interrupt)
    serve(app, listener)
print("ended")
"""


def test_an_interruption_before_it_serves_ends_it_as_well() -> None:
    """It was an error, after a warning that the server was never awaited."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60
    )
    assert ("ended\n", "", 0) == (done.stdout, done.stderr, done.returncode)


SERVING = """
import signal, sys
from grader.loopback import Guard, listening, serve

signal.signal(signal.SIGINT, signal.default_int_handler)

async def app(scope, receive, send):
    assert scope["type"] == "lifespan"

with listening(0) as listener:
    port = listener.getsockname()[1]
    print(port, flush=True)
    serve(Guard(app, "mark", "token", port), listener)
print("ended")
"""

UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"


def answer(port: int, request: str) -> str:
    """Return the status line of what a server answers."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as asking:
        asking.sendall(request.encode())
        return asking.recv(4096).decode("latin-1").partition("\r\n")[0]


def test_what_others_send_neither_stops_it_nor_shows_on_the_terminal() -> None:
    """Each line that was no request was a line on the terminal, and so was advice to install."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        half_open = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        for each in half_open:
            each.sendall(b"GET / HT")
        host = f"Host: 127.0.0.1:{port}\r\n"
        found = [
            answer(port, f"GET /open?token=token HTTP/1.1\r\n{host}\r\n"),
            answer(port, f"GET / HTTP/1.1\r\n{host}{UPGRADE}\r\n"),
            answer(port, "no request\r\n\r\n"),
        ]
        server.send_signal(signal.SIGINT)
        _, told = server.communicate(timeout=20)
        for each in half_open:
            each.close()
    assert ["HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden", "HTTP/1.1 400 Bad Request"] == found
    assert ("", 0) == (told, server.returncode)
