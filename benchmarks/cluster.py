"""What a cluster adds to a grading: efficiency, overhead, what scheduler and client use.

Workers are processes of this machine, which stand for machines. Efficiency is measured twice. By
wall time: each grading sleeps as long as one would take, so it is the cluster that is measured, and
not how many cores there are. By counted work: each grading keeps a processor busy for as long, and
its seconds are divided by those of all processes together, whoever else uses the machine meanwhile.
Where a machine has fewer cores than workers, their own work competes all the same: `cores` stands
in the result. Exit code 1: a bar was missed.

    python benchmarks/cluster.py [--workers 1 2 4 8] [--submissions 200] [--json FILE]
    python benchmarks/cluster.py --workers 4 --submissions 10000 --seconds 0
    python benchmarks/cluster.py --workers 1 --submissions 40 --untuned
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from distributed import Client

from grader.cluster.address import FEW_LOOKS
from grader.cluster.dispatch import Dispatch, Returned
from tests.cluster.farm import Farm, farm
from tests.cluster.simulated import Anyone, simulate

EFFICIENCY, OVERHEAD_MS, SCHEDULER_MS = 0.9, 20.0, 1.0
"""The bars; by wall time efficiency is one where there are as many cores as workers."""

TICKS = os.sysconf("SC_CLK_TCK")
REPORT = 20_000
"""Bytes of a submission and of what comes back for it."""


@dataclass(frozen=True)
class Measured:
    """One size of cluster: wall seconds, the share of them that gradings took, and their share of
    all processor seconds, None where they take no time; milliseconds that each submission cost
    beside its grading, of a processor the scheduler's and the client's share, and megabytes that
    the client grew by from the first tenth of the class to the end.
    """

    workers: int
    submissions: int
    wall_s: float
    efficiency: float
    counted_efficiency: float | None
    overhead_ms: float
    scheduler_ms: float
    client_ms: float
    client_growth_mb: float


def cpu_of(pid: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb() -> float:
    """Return the megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(cluster: Farm, workers: int, submissions: int, seconds: float) -> Measured:
    """Have so many submissions graded that take so many seconds each."""
    with cluster.client() as client:
        client.wait_for_workers(workers, timeout=120)
        warm = Dispatch(client, simulate, b"", Anyone())
        list(warm.run(map(str, range(2 * workers)), lambda _: b"nap 0.1"))
        counted = count_work(cluster, client, submissions, seconds) if seconds else None
        scheduler, own, began = cpu_of(cluster.scheduler.pid), time.process_time(), time.monotonic()
        early = grade(client, submissions, b"nap %f" % seconds)
        wall = time.monotonic() - began
        ideal = submissions * seconds / workers
        return Measured(
            workers=workers,
            submissions=submissions,
            wall_s=round(wall, 3),
            efficiency=round(ideal / wall, 3),
            counted_efficiency=counted,
            overhead_ms=round((wall - ideal) * workers / submissions * 1e3, 2),
            scheduler_ms=round((cpu_of(cluster.scheduler.pid) - scheduler) / submissions * 1e3, 3),
            client_ms=round((time.process_time() - own) / submissions * 1e3, 3),
            client_growth_mb=round(resident_mb() - early, 1),
        )


def count_work(cluster: Farm, client: Client, submissions: int, seconds: float) -> float:
    """Return which share of all processes' processor seconds the gradings themselves have."""

    def used() -> float:
        return sum(map(cpu_of, cluster.pids)) + time.process_time()

    before = used()
    grade(client, submissions, b"work %f" % seconds)
    return round(submissions * seconds / (used() - before), 3)


def grade(client: Client, submissions: int, job: bytes) -> float:
    """Have so many jobs done; return the megabytes of this process after a tenth of them."""
    dispatch = Dispatch(client, simulate, bytes(REPORT), Anyone())
    done, early = 0, 0.0
    for each in dispatch.run(map(str, range(submissions)), lambda _: job):
        assert isinstance(each, Returned), each
        done += 1
        early = resident_mb() if done == max(1, submissions // 10) else early
    assert done == submissions
    return early


def missed(found: Measured, seconds: float, cores: int) -> list[str]:
    """Return which bars were missed."""
    told = []
    if seconds and found.workers <= cores and found.efficiency < EFFICIENCY:
        told.append(f"{found.workers} workers: efficiency {found.efficiency}, bar {EFFICIENCY}")
    if found.counted_efficiency is not None and found.counted_efficiency < EFFICIENCY:
        counted = f"{found.counted_efficiency} of the counted work"
        told.append(f"{found.workers} workers: {counted}, bar {EFFICIENCY}")
    if found.workers <= cores and found.overhead_ms > OVERHEAD_MS:
        told.append(f"{found.workers} workers: overhead {found.overhead_ms} ms, bar {OVERHEAD_MS}")
    if found.submissions >= 1000 and found.scheduler_ms > SCHEDULER_MS:
        told.append(f"{found.workers} workers: scheduler {found.scheduler_ms} ms")
    return told


def main() -> int:
    """Print a line for each size, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--untuned", action="store_true", help="with Dask's own settings")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    rows: list[dict[str, Any]] = []
    faults: list[str] = []
    settings = {} if arguments.untuned else FEW_LOOKS
    environment = {f"DASK_{key.upper().replace('.', '__')}": str(settings[key]) for key in settings}
    for workers in arguments.workers:
        with farm(workers, environment=environment) as cluster:
            found = measure(cluster, workers, arguments.submissions, arguments.seconds)
        print(found, flush=True)
        rows.append(asdict(found))
        faults += missed(found, arguments.seconds, cores)
    print("\n".join(faults))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"cores": cores, "sizes": rows}, indent=2) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
