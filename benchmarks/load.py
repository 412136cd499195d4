"""A load for benchmarks: processes that compute and move memory without a pause."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep so many processors busy in the body of a with statement, wherever they are scheduled."""
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_work, args=(os.getpid(),)) for _ in range(processes)]
    try:
        for process in started:
            process.start()
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def _work(parent: int) -> None:
    """Take turns at computing in the cache and copying beyond it, until the parent is gone."""
    small, large = np.ones((96, 96)), np.ones(4 * 2**20)
    while os.getppid() == parent:
        for _ in range(20):
            small = np.tanh(small @ small)
        large[:] = large[::-1].copy()
