"""A cluster on this machine: what it tells while it starts, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.cluster.farm import wait_until
from tests.endtoend.command import GRADER, heed_interrupts

STARTING = ["starting the scheduler", "starting 2 workers"]
WAITING = "Ctrl-C stops them."


LONG_STARTS = """
import sys, time
if any("spawn_main" in each for each in sys.orig_argv):
    time.sleep(90)
"""
"""What makes workers start for longer than anybody waits for them to end."""


def begin(log: Path, more: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start two workers as at a terminal: in a group of their own, which Ctrl-C is for."""
    environment = {**os.environ, "COLUMNS": "200", **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with log.open("wb") as file:
        return subprocess.Popen(
            [GRADER, "cluster", "local", "--workers", "2", "--port", "0"],
            stdout=file,
            stderr=file,
            env=environment,
            start_new_session=True,
            preexec_fn=heed_interrupts,
        )


def is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end(process: subprocess.Popen[bytes], log: Path, awaited: str) -> list[str]:
    """Press Ctrl-C once that is told and workers are there. Returns all that was told."""
    cluster = psutil.Process(process.pid)
    wait_until(lambda: awaited in log.read_text() or process.poll() is not None)
    wait_until(lambda: len(cluster.children()) >= 3)  # two workers, and what clears up after Python
    started = cluster.children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    assert 130 == process.wait(60), log.read_text()
    wait_until(lambda: not any(map(is_running, started)))
    return log.read_text().splitlines()


@pytest.fixture
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as folder:  # short: for sockets
        yield Path(folder)


def test_ctrl_c_ends_it_with_one_line_and_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    """Nor a folder of Dask's, from which its processes import: it is a locked one of ours."""
    log = tmp_path / "log"
    process = begin(log, {"TMPDIR": str(temporary)})
    *told, what_they_do, how, last = end(process, log, WAITING)
    assert [] == [*temporary.iterdir()]
    assert [*STARTING, "2 workers wait at"] == [*told[:2], told[2].partition(" tcp")[0]]
    assert 3 == len(told), told
    assert what_they_do.startswith("Their dashboard: ")
    assert (WAITING, "grader: interrupted.") == (how, last)


def test_it_does_not_wait_for_its_workers_to_be_started_before_it_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "sitecustomize.py").write_text(LONG_STARTS)
    told = end(begin(log, {"PYTHONPATH": str(tmp_path)}), log, STARTING[-1])
    assert [*STARTING, "grader: interrupted."] == told


def test_it_needs_nothing_that_serves_the_marking_page() -> None:
    """That is another extra: who had installed the one for clusters alone met an internal error."""
    program = "import sys; sys.modules['uvicorn'] = None; import grader.cluster.local"
    subprocess.run([sys.executable, "-c", program], check=True)
