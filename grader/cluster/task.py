"""The one function that a cluster's workers run: bytes in, bytes out.

Dask sends its name; who unpickles that has the grader installed, and finds this module there. It
needs what the preload has opened.
"""

from __future__ import annotations

from distributed import get_worker

from grader.cluster.current import current
from grader.cluster.station import Station

_OPENED: dict[str, Station] = {}
"""The station of each worker of this process, by the worker's address: mostly there is one."""


def open_at(worker: str, station: Station) -> None:
    """Let the tasks of a worker, named by its id, find its station."""
    _OPENED[worker] = station


def close_at(worker: str) -> None:
    """Close a worker's station, if it has one."""
    station = _OPENED.pop(worker, None)
    if station is not None:
        station.close()


def grade_submission(job: bytes, archive: bytes) -> bytes:
    """Return the answer to a job (`grader.cluster.messages`); `archive` is its course."""
    station = _OPENED[get_worker().id]
    key, tell = current()
    return station.grade(key, job, archive, tell)
