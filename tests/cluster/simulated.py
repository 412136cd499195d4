"""What workers run in place of a grading: it does what its job says, and costs nothing."""

from __future__ import annotations

import os
import time

from grader.cluster.current import current
from grader.language import NOTHING, Text


class Anyone:
    """A choice of workers: all of them."""

    def lacks(self, worker: str, facts: object) -> Text:
        return NOTHING


def simulate(job: bytes, archive: bytes) -> bytes:
    """Sleep or work so many seconds, or end this worker's process, once for a file or always.

    Returns the job and who it was.
    """
    _, tell = current()
    tell("started")
    name, _, seconds = job.partition(b" ")
    if name == b"die":
        time.sleep(0.1)  # as long as it takes to tell that it was begun
        os._exit(1)
    if name == b"once" and not os.path.exists(seconds):  # noqa: PTH110 - these are bytes
        os.close(os.open(seconds, os.O_CREAT))
        time.sleep(0.1)
        os._exit(1)
    if name == b"raise":
        raise ArithmeticError(archive)
    if name == b"nap":
        time.sleep(float(seconds or 0))
    if name == b"work":
        end = time.thread_time() + float(seconds)
        while time.thread_time() < end:
            pass
    return b"%s by %d with %s" % (name, os.getpid(), archive)
