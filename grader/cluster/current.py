"""What a task on a worker knows of itself, and how it tells the client. It imports Dask alone: a
worker that begins has to wait for it.
"""

from __future__ import annotations

from collections.abc import Callable

from distributed import get_worker

Tell = Callable[[str], None]
"""Is told in a word what a grading does: "started", "waits" for its turn to time, "works" again."""


def current() -> tuple[str, Tell]:
    """Return the name of the task that this thread runs, and what tells the client of it."""
    worker = get_worker()
    key = str(worker.get_current_task())
    topic = key.rpartition("-")[0]

    def tell(what: str) -> None:
        worker.log_event(topic, {"key": key, "worker": worker.address, "what": what})

    return key, tell


def hold(archive: bytes) -> bytes:
    """Return an archive: so a worker has it, gives it to the others, and has it made anew."""
    return archive
