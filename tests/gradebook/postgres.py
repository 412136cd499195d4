"""A server of PostgreSQL for tests: in a temporary folder, on a port of this machine alone."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from tests.missing import POSTGRESQL, lack

SECONDS = 60
USER = "nobody"
"""Who runs the server where root runs the tests: it refuses to be root's."""


def find_programs() -> Path | None:
    """Return the folder with the server's programs: Debian puts them on nobody's path."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in folders if (each / "initdb").exists()), None)


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server; yields the URL of its first database, without a name of a driver."""
    with any_server() as server, server.running():
        yield server.url


@contextmanager
def any_server() -> Iterator[Server]:
    """Make a server, which is not started."""
    programs = find_programs()
    if programs is None:
        lack(POSTGRESQL.reason())
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        password = _make_cluster(programs, folder)
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        yield Server(programs, folder, port, password)
    finally:
        shutil.rmtree(folder)


class Server:
    """A server that can be started and stopped; `url` is that of its first database."""

    def __init__(self, programs: Path, folder: Path, port: int, password: str) -> None:
        self._programs, self._folder, self._port = programs, folder, port
        self.url = f"postgresql://teacher:{password}@127.0.0.1:{port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start it for the body of a with statement, which may stop and start it."""
        try:
            self.start()
            yield
        finally:
            self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ["-D", self._folder / "data", "-p", str(self._port)]
        words += ["-k", "", "-h", "127.0.0.1", "-F"]
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                _as_user([self._programs / "postgres", *words]), stdout=log, stderr=log, cwd="/"
            )
        self._process = process
        deadline = time.monotonic() + SECONDS
        while not _answers(self.url):
            assert process.poll() is None and time.monotonic() < deadline, (
                self._folder / "log"
            ).read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it at once, with nobody asked: who is connected finds it gone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None


def _make_cluster(programs: Path, folder: Path) -> str:
    password = secrets.token_hex(16)
    (folder / "password").write_text(password)
    if os.geteuid() == 0:
        found = pwd.getpwnam(USER)
        for path in (folder, folder / "password"):
            os.chown(path, found.pw_uid, found.pw_gid)
    words = ["--pgdata", folder / "data", "--username", "teacher", "--pwfile", folder / "password"]
    words += ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
    subprocess.run(_as_user([programs / "initdb", *words]), check=True, capture_output=True)
    return password


def _as_user(words: list[str | Path]) -> list[str | Path]:
    become = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "--"]
    return [*become, *words] if os.geteuid() == 0 else words


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def new_database(url: str) -> str:
    """Make an empty database on a server; return its URL."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{url.rpartition('/')[0]}/{name}"
