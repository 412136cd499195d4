"""A load for benchmarks: processes that compute and move memory without a pause."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def load(processes: int, kind: str = "compute") -> Iterator[None]:
    """Keep so many processors busy in the body of a with statement, wherever they are scheduled.

    The kind "compute" works in the cache and beyond it, "memory" beyond it alone, "bursts" works
    for 50 ms and sleeps for as long.
    """
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_work, args=(os.getpid(), kind)) for _ in range(processes)]
    try:
        for process in started:
            process.start()
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def _work(parent: int, kind: str) -> None:
    """Compute and copy, in turn, until the parent is gone."""
    small, large = np.ones((96, 96)), np.ones(4 * 2**20)
    rounds = 0 if kind == "memory" else 20
    while os.getppid() == parent:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            for _ in range(rounds):
                small = np.tanh(small @ small)
            large[:] = large[::-1].copy()
        if kind == "bursts":
            time.sleep(0.05)
