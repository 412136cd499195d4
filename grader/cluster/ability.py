"""Whether this machine can grade for a cluster: asked before Dask starts anything, and without it.

What a worker ends with that finds it out by itself stands amid tracebacks of Dask's, one for each
of its processes.
"""

import os
from pathlib import Path

from grader.environment import need_for_grading
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Level


def need_grading(level: Level | None) -> None:
    """Raise the GraderError of a worker that could grade nothing here.

    `level` is the isolation that is demanded of it, else it is the strongest that works.
    """
    need_for_grading()
    choose_sandbox(level, level or "basic", protected=data_folder()).close()


def data_folder() -> tuple[Path, ...]:
    """Return the folder of data that this machine's workers take, () where none is named."""
    folder = os.environ.get("GRADER_DATA", "")
    return () if folder in ("", "builtin") else (Path(folder),)
