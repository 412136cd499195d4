"""A cluster on this machine: a scheduler and some workers, for trying and for tests.

Its workers are processes of one machine, and each grades one submission at a time. Where speed
counts, one worker with several threads times better: the others of its process are quiet then.
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker

import dask
from distributed import LocalCluster

from grader.cluster.address import FEW_LOOKS, PRELOAD, quieten
from grader.errors import UsageError
from grader.files import OwnFolder
from grader.language import counted, say
from grader.progress import Progress

_HERE = "127.0.0.1"
_LOOK_SECONDS = 0.1
_OF_THE_TERMINAL = {signal.SIGINT, signal.SIGHUP}


@contextmanager
def local_cluster(
    workers: int, port: int, level: str | None, progress: Progress
) -> Iterator[LocalCluster]:
    """Start a scheduler on loopback, on a free port if it is 0, and workers; end them at the end.

    Raises UsageError where the port is taken, or no worker can grade.

    Dask's processes import from the folder for their files first, which by itself is one in that
    for all users' temporary files: whoever made it before could have them import what they like.
    """
    with OwnFolder() as folder, dask.config.set({**FEW_LOOKS, "temporary-directory": str(folder)}):
        yield from _with_workers(_scheduler(port, level), workers, progress)


def _with_workers(
    cluster: LocalCluster, workers: int, progress: Progress
) -> Iterator[LocalCluster]:
    try:
        _add_workers(cluster, workers, progress)
        yield cluster
    finally:
        quieten()  # that its workers go is no news
        cluster.close()


def _scheduler(port: int, level: str | None) -> LocalCluster:
    """Start a scheduler that has no workers yet. Raises UsageError where the port is taken.

    Ctrl-C is for all of the terminal's group: workers would end by it wherever they are, with what
    Python says of that. They are started by the threads of Dask that begin here, and are to end
    when they are told to. What they start for submissions heeds signals again.
    """
    resource_tracker.ensure_running()  # it lets the thread heed signals again in which it is begun
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_TERMINAL)
    try:
        return LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=True,
            host=_HERE,
            scheduler_port=port,
            dashboard_address=f"{_HERE}:0",
            memory_limit=0,  # the grader has limits of its own, and knows what to do at them
            preload=[PRELOAD],
            preload_argv=[] if level is None else ["--level", level],
            preload_nanny=[PRELOAD],
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(
            say("cluster-cannot-started", error=type(error).__name__),
            say("choose-another-port-and-see-what-grader"),
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _add_workers(cluster: LocalCluster, count: int, progress: Progress) -> None:
    """Start workers and wait until all have joined. Raises UsageError where one cannot."""
    progress.stage(counted(count, say("starting-worker"), say("starting-workers")))
    for _ in range(count):
        cluster.worker_spec.update(cluster.new_worker_spec())
    joining = asyncio.run_coroutine_threadsafe(_joined(cluster), cluster.loop.asyncio_loop)
    try:
        while not joining.done():
            progress.step(len(cluster.scheduler.workers), count)
            time.sleep(_LOOK_SECONDS)
        joining.result()
    except (OSError, RuntimeError):  # it has said why, and the port is not it
        raise UsageError(
            say("no-worker-could-started"), say("see-what-grader-doctor-says")
        ) from None
    finally:
        if not joining.done():
            _give_up(cluster, joining)


async def _joined(cluster: LocalCluster) -> None:
    await cluster


def _give_up(cluster: LocalCluster, joining: Future[None]) -> None:
    """End workers that are being started. To end them Dask would wait until they have joined."""
    quieten()
    while not joining.done():
        for nanny in [*cluster._created]:
            if nanny.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)
