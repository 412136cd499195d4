"""A preload that writes down when a worker times: who, from when to when, a line for each."""

from __future__ import annotations

import os
import time
from typing import Any

from grader.grading.referee import Referee

VARIABLE = "TESTS_TIMED"
"""Names the file."""


def dask_setup(worker: Any) -> None:
    timing = Referee.time

    def watched(self: Referee, compared: Any) -> Any:
        began = time.monotonic()
        try:
            return timing(self, compared)
        finally:
            line = f"{os.getpid()} {began} {time.monotonic()}\n"
            with open(os.environ[VARIABLE], "a") as file:  # noqa: PTH123
                file.write(line)

    Referee.time = watched  # type: ignore[method-assign]
