"""A cluster on this machine: a scheduler and some workers, for trying and for tests.

Its workers are processes of one machine, and each grades one submission at a time. Where speed
counts, one worker with several threads times better: the others of its process are quiet then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import LocalCluster

from grader.errors import UsageError
from grader.language import say

PRELOAD = "grader.cluster.preload"
LOOPBACK = "127.0.0.1"

FEW_LOOKS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
"""Settings of Dask. It would look a hundred times a second at which line each thread is, and fifty
times whether the loop of events is held up: a tenth of what a worker of one thread has to give."""


@contextmanager
def local_cluster(workers: int, port: int, level: str | None = None) -> Iterator[LocalCluster]:
    """Start a scheduler on loopback, on a free port if it is 0, and workers; end them at the end.

    Raises UsageError where the port is taken, or no worker can grade.
    """
    try:
        dask.config.set(FEW_LOOKS)
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            scheduler_port=port,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=0,  # the grader has limits of its own, and knows what to do at them
            preload=[PRELOAD],
            preload_argv=[] if level is None else ["--level", level],
            preload_nanny=[PRELOAD],
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(
            say("The cluster cannot be started: {error}.", error=type(error).__name__),
            say("Choose another port, and see what `grader doctor` says."),
        ) from None
    with cluster:
        yield cluster
