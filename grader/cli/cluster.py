"""`grader cluster`: workers of a Dask cluster, and a whole one on this machine for trying."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from grader.cli.options import Commands, argument, flag, option
from grader.cli.telling import LiveProgress, tell
from grader.environment import need_cluster, usable_cores
from grader.errors import UsageError
from grader.language import say
from grader.sandbox.interface import Level

if TYPE_CHECKING:
    from distributed import LocalCluster

cluster = Commands(help="Grade a class on several machines, with Dask.")

InsecureOption = Annotated[bool, flag("--insecure", "Allow a remote scheduler without TLS.")]
LevelOption = Annotated[
    Level | None,
    option(
        "LEVEL",
        "Require an isolation level of the workers (default: the strongest that works).",
        "--sandbox",
    ),
]


@cluster.command()
def local(
    workers: Annotated[
        int | None, option("N", "Number of workers (default: one for each core).", min=1)
    ] = None,
    port: Annotated[
        int, option("N", "Port of the scheduler; 0 chooses a free one.", min=0, max=65535)
    ] = 8786,
    sandbox: LevelOption = None,
) -> None:
    """Start a scheduler and workers on this machine to try a cluster; end with Ctrl-C.

    Examples:
        grader cluster local --workers 4
        grader batch class/ --output reports/ --cluster tcp://127.0.0.1:8786
    """
    need_cluster()
    from grader.cluster.ability import need_grading

    need_grading(sandbox)  # in words, and before Dask
    with _started(workers or usable_cores(), port, sandbox) as cluster:
        tell(
            Console(emoji=False),
            say(
                "workers-wait-at",
                count=len(cluster.scheduler.workers),
                address=cluster.scheduler_address,
            ),
            say("what-they-do", dashboard=cluster.dashboard_link),
            say("ctrl-c-stops-them"),
        )
        sys.stdout.flush()  # who reads it from a file waits for the address
        while True:
            time.sleep(3600)


@contextmanager
def _started(workers: int, port: int, level: Level | None) -> Iterator[LocalCluster]:
    """Start a cluster, and tell how far that is. Raises UsageError where it has no worker."""
    with ExitStack() as cluster:
        with LiveProgress(Console(stderr=True, emoji=False)) as progress:
            progress.stage(say("starting-scheduler"))
            from grader.cluster.local import local_cluster

            started = cluster.enter_context(local_cluster(workers, port, level, progress))
        if not started.scheduler.workers:
            raise UsageError(say("no-worker-could-started"), say("see-what-grader-doctor-says"))
        yield started


@cluster.command()
def worker(
    scheduler: Annotated[
        str, argument("ADDRESS", "Address of the scheduler, as in its log (tls://host:port).")
    ],
    jobs: Annotated[
        int | None,
        option("N", "Gradings at a time (default: one for each core).", "--jobs", "-j", min=1),
    ] = None,
    sandbox: LevelOption = None,
    insecure: InsecureOption = False,
) -> None:
    """Make this machine a worker of a cluster; it ends with Ctrl-C, or with the scheduler.

    It joins only after its sandbox and launchers have started.

    Examples:
        grader cluster worker tls://10.0.0.5:8786
        grader cluster worker tls://10.0.0.5:8786 --jobs 8 --sandbox strong
    """
    need_cluster()
    from grader.cluster.ability import need_grading
    from grader.cluster.address import PRELOAD, checked

    address = checked(scheduler, insecure=insecure)
    need_grading(sandbox)
    words = [address, "--nworkers", "1", "--no-dashboard"]
    words += ["--nthreads", str(jobs or usable_cores()), "--memory-limit", "0"]
    words += ["--preload-nanny", PRELOAD, "--preload", PRELOAD]
    words += ["--local-directory", str(_folder_for_dask())]
    words += [] if sandbox is None else ["--level", sandbox]
    # -I: `python -m` looks for modules in this folder first, where submissions may lie.
    program = [sys.executable, "-I", "-m", "distributed.cli.dask_worker", *words]
    os.execv(program[0], program)  # noqa: S606 - this process becomes the worker


_FOR_DASK = "dask-scratch-space"
"""What the folder's name must begin with: Dask would make one of this name inside it."""


def _folder_for_dask() -> Path:
    """Return a folder of this user alone for a worker's files, made if it is not there.

    Dask's own is one for all users of a machine, belongs to whoever came first, and stands before
    all others where a worker looks for modules: a student's account could have it import anything.
    Raises UsageError where it is not this user's.
    """
    import dask

    place = Path(dask.config.get("temporary-directory") or tempfile.gettempdir())
    folder = place.absolute() / f"{_FOR_DASK}-grader-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UsageError(
            say("must-belong-you-and-closed-other-users", folder=str(folder)),
            say("remove-or-set-tmpdir-folder-that-only"),
        )
    return folder
