"""A scheduler and workers as processes of their own on loopback, which a test may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from distributed import Client
from distributed.security import Security

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def named_by_settings(certificate: Path) -> dict[str, str]:
    """Return the variables that name a certificate and its key to all ends of a cluster."""
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    named = {f"{prefix}CA_FILE": str(certificate / "cert.pem")}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        named[f"{prefix}{role}__CERT"] = str(certificate / "cert.pem")
        named[f"{prefix}{role}__KEY"] = str(certificate / "key.pem")
    return named


class Farm:
    """A cluster whose workers run what `tests.cluster.simulated` has, unless they are started with
    the preload.
    """

    def __init__(self, scheme: str = "tcp", environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.address = f"{scheme}://127.0.0.1:{self.port}"
        self._environment = {**os.environ, **(environment or {})}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each would compile all it imports
        self._processes: list[subprocess.Popen[bytes]] = []
        words = ("--host", self.address.rpartition(":")[0], "--port", str(self.port))
        self.scheduler = self._run("dask_scheduler", *words, "--no-dashboard")
        wait_until(self._listens)

    def add_worker(self, nanny: bool = False, *more: str) -> subprocess.Popen[bytes]:
        """Start a worker; with a nanny another one comes when it has died."""
        words = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0", *more)
        return self._run("dask_worker", self.address, *words, "--nanny" if nanny else "--no-nanny")

    @property
    def pids(self) -> list[int]:
        """The scheduler and the workers that were started, by their numbers."""
        return [process.pid for process in self._processes]

    def client(self, port: int | None = None, timeout: float = 30) -> Client:
        """Return a client, by way of another port if one is given."""
        address = f"tcp://127.0.0.1:{port or self.port}"
        return Client(address, timeout=timeout, set_as_default=False, security=Security())

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            _end(process)

    def _run(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *words],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def farm(
    workers: int, nanny: bool = False, scheme: str = "tcp", environment: Mapping[str, str] = {}
) -> Iterator[Farm]:
    made = Farm(scheme, environment)
    try:
        for _ in range(workers):
            made.add_worker(nanny)
        yield made
    finally:
        made.close()


class Proxy:
    """A network between a client and a scheduler, which can stand still or break."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._flows = threading.Event()
        self._flows.set()
        self._start(self._accept)

    def stand_still(self) -> None:
        self._flows.clear()

    def flow(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """End all connections; new ones are made as before."""
        for each in self._ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # to close it alone wakes nobody who accepts
        self._threads[0].join()
        self._listener.close()
        self._flows.set()
        while any(each.is_alive() for each in self._threads):
            self.cut()  # again, as a connection may have been in the making
            time.sleep(0.01)

    def _start(self, run: Callable[..., None], *arguments: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._start(self._connect, self._listener.accept()[0])

    def _connect(self, ours: socket.socket) -> None:
        target = ("127.0.0.1", self._target)
        with ours, suppress(OSError), socket.create_connection(target) as theirs:
            self._ends += [ours, theirs]
            back = self._start(self._copy, theirs, ours)
            self._copy(ours, theirs)
            back.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(2**16):
                self._flows.wait()
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
