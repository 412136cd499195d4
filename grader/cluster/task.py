"""The one function that a cluster's workers run: bytes in, bytes out.

Dask sends its name; who unpickles that has the grader installed, and finds this module there. It
needs what the preload has opened.
"""

from __future__ import annotations

from distributed import get_worker

from grader.cluster.station import Station

TOPIC_END = "-"

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
    worker = get_worker()
    key = str(worker.get_current_task())
    topic = key.rpartition(TOPIC_END)[0]

    def tell(what: str) -> None:
        worker.log_event(topic, {"key": key, "worker": worker.address, "what": what})

    return _OPENED[worker.id].grade(key, job, archive, tell)


def hold(archive: bytes) -> bytes:
    """Return an archive: so a worker has it, gives it to the others, and has it made anew."""
    return archive
