"""What a task on a worker knows of itself, and how it tells the client. It imports Dask alone: a
worker that begins has to wait for it.
"""

from collections.abc import Callable
from contextlib import suppress

from distributed import Worker, get_worker, secede

Tell = Callable[[str], None]
"""Is told in a word what a grading does: "started", "waits" for its turn to time, "works" again."""


def current() -> tuple[str, Tell]:
    """Return the name of the task that this thread runs, and what tells the client of it."""
    worker = get_worker()
    key = str(worker.get_current_task())
    topic = key.rpartition("-")[0]

    def tell(what: str) -> None:
        if what == "waits":
            _stand_aside(worker)
        worker.log_event(topic, {"key": key, "worker": worker.address, "what": what})

    return key, tell


def _stand_aside(worker: Worker) -> None:
    """Leave this thread's place to another task: there is no use in a place for who only waits.

    As many may stand aside as there are places: each of them keeps programs and their memory. None
    takes its place again: it would wait for that while it has the turn to time, and whoever is in
    the place would wait for the end of that turn. What it does then it does alone, and it is soon
    done.
    """
    if len(worker.state.long_running) < worker.state.nthreads:
        with suppress(KeyError):  # it has stood aside before
            secede()


def hold(archive: bytes) -> bytes:
    """Return an archive: so a worker has it, gives it to the others, and has it made anew."""
    return archive
