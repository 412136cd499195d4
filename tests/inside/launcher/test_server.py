"""The launcher's process: when it can be ended."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from grader.inside.launcher.protocol import IMPORTED, Imports

SERVING = """
import signal, socket, sys
from grader.inside.launcher import server

sys.path.insert(0, sys.argv[2])
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as when it has imported what it does at its start
server.serve(socket.socket(fileno=int(sys.argv[1])))
"""


def serving(folder: Path, module: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Return a launcher that is told to import a module with this text, and its connection."""
    (folder / "besides.py").write_text(module)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        words = [sys.executable, "-c", SERVING, str(number), str(folder)]
        launcher = subprocess.Popen(words, pass_fds=(number,))
    ours.send(msgspec.msgpack.encode(Imports(("besides",))))
    return launcher, ours


IMPORTING = """
import pathlib, tempfile, time

with tempfile.TemporaryDirectory(dir={folder!r}) as made:
    pathlib.Path({folder!r}, "begun").touch()
    time.sleep(60)
"""


def test_one_that_imports_besides_is_ended_at_once_and_leaves_no_folder(tmp_path: Path) -> None:
    """Ctrl-C while it imported Matplotlib waited for nine seconds, on a busy machine."""
    launcher, ours = serving(tmp_path, IMPORTING.format(folder=str(tmp_path)))
    with launcher, ours:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        launcher.terminate()
        assert 128 + signal.SIGTERM == launcher.wait(20)
    assert not [*tmp_path.glob("tmp*")]


def test_one_that_has_imported_ends_with_its_connection(tmp_path: Path) -> None:
    """What it has told may be left unread."""
    launcher, ours = serving(tmp_path, "")
    with launcher:
        with ours:
            assert IMPORTED == ours.recv(1, socket.MSG_PEEK)
            launcher.terminate()
        assert 0 == launcher.wait(20)
