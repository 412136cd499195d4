"""A server of this machine ends at Ctrl-C, whenever it comes."""

from __future__ import annotations

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
