"""Ending a program from several threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command

THREADS = 8


@pytest.mark.parametrize("way", ["kill", "wait"])
def test_any_number_of_threads_may_end_it(way: str) -> None:
    """One that interrupts a batch, and those that have just finished with it."""
    with choose_sandbox() as sandbox, ThreadPoolExecutor(THREADS) as executor:
        for _ in range(10):
            process = sandbox.start(Command("python", ("-c", "import time; time.sleep(600)")))
            barrier = threading.Barrier(THREADS)

            def end(number: int) -> int | None:
                barrier.wait(20)  # noqa: B023  each round waits for its threads
                if way == "wait" and number % 2:
                    return process.wait(20)  # noqa: B023
                process.kill()  # noqa: B023
                return process.poll()  # noqa: B023

            statuses = set(executor.map(end, range(THREADS)))
            assert 1 == len(statuses)
            assert None not in statuses
