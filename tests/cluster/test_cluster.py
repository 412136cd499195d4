"""The command on a real cluster: what it writes, and what is left when it is interrupted or killed.

Its submissions are the cheapest that there are: most of them are read, and never run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dask
import nbformat
import psutil
import pytest
from distributed import Client

import grader
from grader.cluster.dispatch import workers_of
from grader.cluster.jobs import FACTS
from grader.report import decode_report
from grader.sandbox.interface import Sandbox
from tests.cli.test_batch import RIGHT, WRONG, write
from tests.cluster.farm import ROOT, free_port, wait_until
from tests.conftest import require
from tests.endtoend.command import GRADER, heed_interrupts, without_times
from tests.endtoend.warm import run_warm
from tests.test_api import examples

COURSE = ROOT / "tests" / "courses" / "small"
pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

SLEEPING = "import time\ntime.sleep(15)"
RIGHT_AWAY = "def create_model():\n    raise NotImplementedError('to do')"


MARKED = {"DASK_GRADER__TESTS": "marked"}
"""A variable of workers that no submission sees."""


class Local:
    """A cluster as `grader cluster local` starts it.

    By default it has two workers: what is read is graded by one of them, while what sleeps is by
    the other. On one, either may come first.
    """

    def __init__(self, folder: Path, port: int, workers: int = 2) -> None:
        self.address = f"tcp://127.0.0.1:{port}"
        self.log = folder / "log"
        environment = {**os.environ, **MARKED, "COLUMNS": "200"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [GRADER, "cluster", "local", "--workers", str(workers), "--port", str(port)],
                stdout=log,
                stderr=log,
                env=environment,
                preexec_fn=heed_interrupts,
            )
        wait_until(lambda: self.address in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert 130 == self.process.wait(60), self.log.read_text()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    local = Local(tmp_path_factory.mktemp("cluster"), free_port())
    yield local
    local.close()


def write_notebook(path: Path, *cells: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [nbformat.v4.new_code_cell(each, id=f"c{at}") for at, each in enumerate(cells)]
    metadata = {"grader": {"assignment": "small", "version": 1}}
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=metadata), path)


def words(folder: Path, output: str, *more: str) -> list[str]:
    common = ["--course", str(COURSE), "--assignment", "small", "--data", "builtin", "--seed", "7"]
    return ["batch", str(folder / "class"), "--output", str(folder / output), *common, *more]


def notebooks_on(cluster: Local) -> int:
    """Return how many notebooks run on a cluster's workers; others may grade on this machine."""
    names = []
    for each in psutil.Process(cluster.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            names.append(each.name())
    return names.count("grader-kernel")


def begin(folder: Path, cluster: Local) -> subprocess.Popen[str]:
    """Start a batch of which one notebook sleeps, and wait until the other is graded."""
    write_notebook(folder / "class" / "zoe" / "hw.ipynb", SLEEPING)
    (folder / "class" / "bob").mkdir()
    (folder / "class" / "bob" / "hw.ipynb").write_text("no notebook")
    batch = subprocess.Popen(
        [GRADER, *words(folder, "reports", "--cluster", cluster.address)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_interrupts,
    )
    wait_until(lambda: notebooks_on(cluster))
    wait_until((folder / "reports" / "bob" / "hw.json").exists)
    return batch


def test_the_reports_are_those_of_this_machine_but_for_times(
    cluster: Local, tmp_path: Path
) -> None:
    write(tmp_path / "class" / "ada" / "hw.ipynb", *RIGHT)
    write(tmp_path / "class" / "cal" / "hw.ipynb", *WRONG)
    write_notebook(tmp_path / "class" / "dan" / "hw.ipynb", RIGHT_AWAY)
    (tmp_path / "class" / "bob").mkdir()
    (tmp_path / "class" / "bob" / "hw.ipynb").write_text("no notebook")
    (tmp_path / "class" / "eve").mkdir()
    there = run_warm(words(tmp_path, "there", "--cluster", cluster.address), tmp_path)
    here = run_warm(words(tmp_path, "here", "--jobs", "2"), tmp_path)
    assert (2, 2) == (there.returncode, here.returncode), there.stderr  # eve handed in nothing
    names = ("ada/hw", "bob/hw", "cal/hw", "dan/hw", "eve")
    for name in names:
        found = [
            without_times(decode_report((tmp_path / each / f"{name}.json").read_bytes()))
            for each in ("there", "here")
        ]
        assert found[0] == found[1]
    rows = [
        json.loads((tmp_path / each / "summary.json").read_text())["rows"]
        for each in ("there", "here")
    ]
    assert rows[0] == rows[1]
    again = run_warm(words(tmp_path, "there", "--cluster", cluster.address), tmp_path)
    assert "4 of 5 were graded before." in again.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_on_a_worker_when_nobody_waits_for_it(
    cluster: Local, tmp_path: Path, number: signal.Signals
) -> None:
    batch = begin(tmp_path, cluster)
    batch.send_signal(number)
    ended = time.monotonic()
    output, _ = batch.communicate(timeout=10)
    wait_until(lambda: not notebooks_on(cluster), 10 - (time.monotonic() - ended))
    if number == signal.SIGINT:
        assert 130 == batch.returncode
        assert "the same command continues" in output
        assert "Traceback" not in output
    assert (tmp_path / "reports" / "bob" / "hw.json").exists()
    assert not (tmp_path / "reports" / "zoe" / "hw.json").exists()


def test_a_course_of_a_higher_level_than_the_worker_s_is_refused(
    cluster: Local, tmp_path: Path
) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "hw.ipynb").write_text("no notebook")
    asked = words(tmp_path, "reports", "--cluster", cluster.address, "--sandbox", "none")
    done = run_warm(asked, tmp_path)
    assert 2 == done.returncode
    assert "None of the cluster's workers may grade" in done.stderr
    assert 'The sandbox level "none" is required' in done.stderr


def test_the_worker_s_log_says_what_it_grades_with(cluster: Local) -> None:
    with Client(cluster.address, set_as_default=False) as client:
        known, *_ = workers_of(client)
        (event, *_) = client.get_events(FACTS)
    assert known.facts is not None
    assert known.facts.level == event[1]["level"]
    assert "apache-tvm" in event[1]["environment"]["packages"]


PROBE = """
import glob, json, os, socket
def opens(family, address):
    with socket.socket(family) as probe:
        try:
            probe.settimeout(2)
            probe.connect(address)
        except OSError:
            return None
        # Linux may connect a port that nobody listens on to itself.
        return str(probe.getpeername()) if probe.getsockname() != probe.getpeername() else None
def name(path):
    try:
        return open(path, "rb").read()
    except OSError:  # it has ended since the folder was read
        return b""
names = [name(path) for path in glob.glob("/proc/[0-9]*/cmdline")]
print(json.dumps({{
    "ports": [*filter(None, (opens(socket.AF_INET, ("127.0.0.1", port)) for port in {ports}))],
    "socket": opens(socket.AF_UNIX, {socket!r}),
    "processes": sum(b"spawn_main" in each or b"cluster\\0local" in each for each in names),
    "folders": sum(os.path.exists(path) for path in {folders}),
    "answers": len(glob.glob({temporary!r} + "/grader-*/*/assignments/*/oracle.py")),
    "variables": sum("DASK" in name for name in os.environ),
}}))
"""
"""Names or counts what of a cluster is in reach."""


def test_a_submission_on_a_worker_reaches_neither_worker_nor_scheduler(
    cluster: Local, tmp_path: Path, sandbox: Sandbox
) -> None:
    """The same lines reach all of it from outside of the sandbox."""
    require(sandbox, "container")
    with Client(cluster.address, set_as_default=False) as client:
        workers = client.scheduler_info()["workers"]
    addresses = [cluster.address, *workers, *(each["nanny"] for each in workers.values())]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{tmp_path}")
        listener.listen()
        probe = PROBE.format(
            ports=[int(each.rpartition(":")[2]) for each in addresses],
            socket=f"\0{tmp_path}",
            folders=[each["local_directory"] for each in workers.values()],
            temporary=tempfile.gettempdir(),
        )
        write_notebook(tmp_path / "class" / "eve" / "hw.ipynb", probe)
        assert 0 == run_warm(words(tmp_path, "reports", "--cluster", cluster.address)).returncode
        report = decode_report((tmp_path / "reports" / "eve" / "hw.json").read_bytes())
        outside = subprocess.run(
            [sys.executable, "-c", probe],
            env={**os.environ, **MARKED},
            capture_output=True,
            check=True,
        )
    (output,) = report.cells[0].outputs
    assert not any(json.loads(output.text).values()), output.text
    found = json.loads(outside.stdout)
    assert len(addresses) == len(found["ports"])
    assert all(found.values()), found


def test_nobody_looks_all_the_time_what_the_threads_of_a_worker_do(cluster: Local) -> None:
    with Client(cluster.address, set_as_default=False) as client:
        ticks = client.run(lambda dask_worker: sorted(dask_worker.periodic_callbacks))
        intervals = client.run(lambda: dask.config.get("distributed.admin.tick.interval"))
    assert all("profile" not in each for each in ticks.values())
    assert {"1s"} == {*intervals.values()}


def test_the_example_of_the_page_runs(
    cluster: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = [each for each in examples() if "cluster=" in each]
    shutil.copytree(COURSE, tmp_path / "my-course")
    write(tmp_path / "class/ada/hw.ipynb", *RIGHT)
    write(tmp_path / "class/ben/hw.ipynb", *WRONG)
    monkeypatch.chdir(tmp_path)
    exec(example.replace("tcp://127.0.0.1:8786", cluster.address), {"grader": grader})


def test_the_scheduler_dies_and_the_same_command_goes_on(tmp_path: Path) -> None:
    port = free_port()
    first = Local(tmp_path, port)
    batch = begin(tmp_path, first)
    first.process.kill()
    output, _ = batch.communicate(timeout=600)
    assert 2 == batch.returncode
    assert "The cluster is gone" in output
    write_notebook(tmp_path / "class" / "zoe" / "hw.ipynb", RIGHT_AWAY)
    second = Local(tmp_path, port, workers=1)
    done = run_warm(words(tmp_path, "reports", "--cluster", second.address), tmp_path)
    second.close()
    assert 0 == done.returncode, done.stderr
    assert "1 of 2 were graded before." in done.stderr
