"""Schedules are timed one at a time on a machine, and nobody is idle for that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import grader
from grader.report import Report
from tests.cluster.farm import ROOT, Farm, farm
from tests.cluster.watched import VARIABLE

TIMED = ("ada", "bob")
HOLDER = """
import time
from grader.machine.quiet import TimingLock
with TimingLock(patience=300).turn() as turn:
    print(turn.is_alone, flush=True)
    time.sleep(90)
"""
OTHERS = ("dan", "eve", "fay", "gus")
pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Farm]:
    """Two workers of this machine, each of which grades one submission at a time."""
    preloads = ("--preload", "grader.cluster.preload", "--preload", "tests.cluster.watched")
    with farm(0, environment={VARIABLE: str(tmp_path / "timed")}) as made:
        for _ in range(2):
            made.add_worker(False, *preloads)
        with made.client() as client:
            client.wait_for_workers(2, timeout=120)
        yield made


def test_two_never_time_at_once_and_others_are_graded_while_they_wait(
    cluster: Farm, tmp_path: Path
) -> None:
    """Another process has the turn until all are graded that need none."""
    for name in TIMED:
        (tmp_path / "class" / name).mkdir(parents=True)
        schedule = ROOT / "examples/e2e-conv/extern_never_called.ipynb"
        shutil.copy(schedule, tmp_path / "class" / name / "hw.ipynb")
    for name in OTHERS:
        (tmp_path / "class" / name).mkdir()
        (tmp_path / "class" / name / "hw.ipynb").write_text(f"no notebook of {name}")
    found: dict[str, Report] = {}
    grading = grader.grade_many(
        [tmp_path / "class"], assignment="e2e-conv", data="builtin", cluster=cluster.address
    )
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert b"True\n" == holder.stdout.readline()
        while len(found) < len(OTHERS):
            name, report = next(grading)
            found[name] = report
        assert holder.poll() is None
        holder.kill()
    assert {f"{name}/hw" for name in OTHERS} == found.keys()
    found.update(grading)
    timed = [found[f"{name}/hw"] for name in TIMED]
    assert [(40, True, ())] * 2 == [
        (report.score, report.timing is not None, report.notes) for report in timed
    ]
    lines = [line.split() for line in (tmp_path / "timed").read_text().splitlines()]
    assert 2 == len({pid for pid, *_ in lines})
    (_, first_end), (second_begin, _) = sorted((float(b), float(e)) for _, b, e in lines)
    assert first_end <= second_begin
