"""`dask worker ... --preload grader.cluster.preload`: opens what grading needs, once per worker.

A worker that cannot grade does not join. What it says of itself stands in the scheduler's record of
it, and among its events; by that a batch chooses whom it sends what.
"""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import dask
import msgspec
from distributed import Nanny, Status, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from grader.cluster.ability import need_grading
from grader.cluster.address import FEW_LOOKS
from grader.cluster.jobs import FACTS
from grader.cluster.station import Station, close_at, open_at
from grader.errors import GraderError
from grader.inside.launcher import linux
from grader.sandbox.interface import LEVELS, Level

dask.config.set(FEW_LOOKS)  # a nanny gives its worker what is set here

_log = logging.getLogger("distributed.grader")


@click.command()
@click.option("--level", type=click.Choice(LEVELS), help="Demand a level of isolation.")
async def dask_setup(target: Any, level: Any = None) -> None:
    """Open a station for a worker, before it joins; keep a nanny's memory from submissions."""
    linux.close_own_proc()
    if isinstance(target, Nanny):
        with _ending():
            need_grading(_level_of(target))
        return
    worker: Worker = target
    linux.give_memory_back()
    with _ending():
        station = Station(level, _secret_folders(worker))
    facts = msgspec.to_builtins(station.facts)
    open_at(worker.id, station)
    worker.startup_information[FACTS] = lambda _: facts
    worker.plugins["grader-watch"] = _Watch(station)
    packages = station.facts.environment.packages
    told = ", ".join(f"{name} {packages[name]}" for name in sorted(packages))
    _log.info("grader: level %s, %s, %s", station.facts.level, station.facts.machine, told)
    worker.loop.call_later(0, _announce, worker, facts)


@contextmanager
def _ending() -> Iterator[None]:
    """End this process where it cannot grade, with the reason alone.

    Dask goes on after an exception, and tells all of its own of SystemExit. A nanny tells two
    tracebacks of a worker that has ended while it started: so a nanny finds it out itself.
    """
    try:
        yield
    except GraderError as error:
        _log.error("grader: %s %s", error, error.hint.english)
        os._exit(2)


def _level_of(nanny: Nanny) -> Level | None:
    """Return the isolation that is demanded of a nanny's worker: Dask gives that the words."""
    with dask_setup.make_context("worker", [*nanny.preload_argv]) as words:
        level: Level | None = words.params["level"]
    return level


async def dask_teardown(target: Any) -> None:
    """Close a worker's station: nothing that it graded goes on."""
    if not isinstance(target, Nanny):
        close_at(target.id)


def _announce(worker: Worker, facts: Any) -> None:
    """Put into the scheduler's log of events who has joined, once it has."""
    if worker.status != Status.running:
        worker.loop.call_later(0.1, _announce, worker, facts)
        return
    worker.log_event(FACTS, {"worker": worker.address, **facts})


def _secret_folders(worker: Worker) -> list[Path]:
    """Return what no submission may read of a worker: its own folder, and that of its key."""
    security = worker.security
    files = (security.tls_worker_key, security.tls_worker_cert, security.tls_ca_file)
    keys = [Path(each) for each in files if each and "\n" not in each]
    return [Path(worker.local_directory), *keys]


class _Watch(WorkerPlugin):  # type: ignore[misc]  # Dask has no types that are kept
    """Ends a grading as soon as the scheduler no longer wants it."""

    def __init__(self, station: Station) -> None:
        self._station = station

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Heed that a task that runs was released. Dask itself would let it run to its end."""
        if start in ("executing", "long-running") and finish == "released":
            threading.Thread(target=self._station.withdraw, args=(str(key),), daemon=True).start()
