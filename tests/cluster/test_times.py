"""Schedules are timed one at a time on a machine, and nobody is idle for that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from distributed import Worker

import grader
from grader.language import Text
from grader.progress import SilentBatch
from grader.report import Report
from tests.cluster.farm import ROOT, Farm, farm, wait_until
from tests.cluster.watched import VARIABLE

TIMED = ("ada", "bob")
HOLDER = """
import time
from grader.machine.quiet import TimingLock
with TimingLock(patience=300).turn() as turn:
    print(turn.is_alone, flush=True)
    time.sleep(120)
"""
OTHERS = ("dan", "eve", "fay", "gus")
pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the workers write down when they time."""
    return tmp_path_factory.mktemp("watched") / "timed"


@pytest.fixture(scope="module")
def cluster(timed: Path) -> Iterator[Farm]:
    """Two workers of this machine, each of which grades one submission at a time."""
    preloads = ("--preload", "grader.cluster.preload", "--preload", "tests.cluster.watched")
    with farm(0, environment={VARIABLE: str(timed)}) as made:
        for _ in range(2):
            made.add_worker(False, *preloads)
        with made.client() as client:
            client.wait_for_workers(2, timeout=120)
        yield made


@contextmanager
def another_times() -> Iterator[subprocess.Popen[bytes]]:
    """Have another process that has the turn to time, for so long as no test takes."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert b"True\n" == holder.stdout.readline()
            yield holder
        finally:
            holder.kill()


def hand_in(folder: Path) -> None:
    """Write a class of which two notebooks have a schedule that is timed."""
    schedule = ROOT / "examples/e2e-conv/extern_never_called.ipynb"
    for name in (*TIMED, *OTHERS):
        (folder / name).mkdir(parents=True)
        (folder / name / "hw.ipynb").write_text(f"no notebook of {name}")
    for name in TIMED:
        shutil.copy(schedule, folder / name / "hw.ipynb")


class Heard(SilentBatch):
    """Knows which submissions wait for their turn."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        if stage.english.startswith("waits for its turn"):
            self.waiting.add(name)


def started_by(cluster: Farm) -> set[str]:
    """Return the names of what runs in the sandboxes of a cluster's workers."""
    found = set()
    for pid in cluster.pids:
        for each in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                found.add(each.name())
    return found & {"grader-kernel", "grader-runner", "grader-evaluator"}


def test_two_never_time_at_once_and_others_are_graded_while_they_wait(
    cluster: Farm, timed: Path, tmp_path: Path
) -> None:
    """Another process has the turn until all are graded that need none."""
    hand_in(tmp_path / "class")
    found: dict[str, Report] = {}
    grading = grader.grade_many(
        [tmp_path / "class"], assignment="e2e-conv", data="builtin", cluster=cluster.address
    )
    with another_times() as holder:
        while len(found) < len(OTHERS):
            name, report = next(grading)
            found[name] = report
        assert holder.poll() is None
    assert {f"{name}/hw" for name in OTHERS} == found.keys()
    found.update(grading)
    reports = [found[f"{name}/hw"] for name in TIMED]
    assert [(40, True, ())] * 2 == [
        (report.score, report.timing is not None, report.notes) for report in reports
    ]
    lines = [line.split() for line in timed.read_text().splitlines()]
    assert 2 == len({pid for pid, *_ in lines})
    # one whose core was never free is timed once more at the end
    turns = sorted((float(begin), float(end)) for _, begin, end in lines)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(turns))


def test_nothing_is_left_of_what_waits_for_its_turn_when_nobody_wants_it(
    cluster: Farm, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class")
    heard = Heard()
    grading = grader.grade_many(
        [tmp_path / "class"],
        assignment="e2e-conv",
        data="builtin",
        cluster=cluster.address,
        progress=heard,
    )
    with another_times(), cluster.client() as client:
        for _ in OTHERS:
            next(grading)
        wait_until(lambda: len(heard.waiting) == len(TIMED))
        assert started_by(cluster)
        grading.close()
        wait_until(lambda: not started_by(cluster))
        wait_until(lambda: not any(client.run(waiting_on).values()))


def waiting_on(dask_worker: Worker) -> int:
    """Return how many gradings still stand aside on a worker, or are at work."""
    return len(dask_worker.state.long_running) + len(dask_worker.state.executing)
