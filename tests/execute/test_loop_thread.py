"""A loop in a thread of its own: for callers that run one, and for Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from grader.execute.session import HandOver, run_in_loop_thread


async def answer(hand_over: HandOver) -> int:
    await asyncio.sleep(0)
    return 42


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_caller_may_run_a_loop() -> None:
    async def cell() -> int:
        return run_in_loop_thread(answer)

    assert 42 == run_in_loop_thread(answer)
    assert 42 == asyncio.run(cell())


def test_what_is_handed_over_is_called_in_the_callers_thread_before_the_end() -> None:
    calls: list[tuple[int, int]] = []

    async def work(hand_over: HandOver) -> int:
        for number in range(3):
            hand_over(lambda number=number: calls.append((number, threading.get_ident())))
        return threading.get_ident()

    loops = run_in_loop_thread(work)
    own = threading.get_ident()
    assert [(0, own), (1, own), (2, own)] == calls
    assert own != loops


def test_an_error_of_the_work_is_raised() -> None:
    async def work(hand_over: HandOver) -> None:
        raise LookupError("nowhere")

    with pytest.raises(LookupError, match="nowhere"):
        run_in_loop_thread(work)


def test_a_call_that_fails_ends_the_work_first() -> None:
    ended: list[str] = []

    async def work(hand_over: HandOver) -> None:
        hand_over(lambda: ended.append(str(1 // 0)))
        with contextlib.ExitStack() as stack:
            stack.callback(ended.append, "cleared up")
            await asyncio.sleep(60)

    with pytest.raises(ZeroDivisionError):
        run_in_loop_thread(work)
    assert ["cleared up"] == ended


def test_an_interruption_ends_the_work_and_what_it_left_behind(default_interrupts: None) -> None:
    ended: list[str] = []

    async def sleep(name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)

    async def work(hand_over: HandOver) -> None:
        beside = asyncio.ensure_future(sleep("beside"))
        await asyncio.sleep(0)
        hand_over(interrupt)
        await sleep("work")
        await beside

    with pytest.raises(KeyboardInterrupt):
        run_in_loop_thread(work)
    assert ["work", "beside"] == ended
    assert not [each for each in threading.enumerate() if each.name.startswith("notebook")]


def test_a_process_that_has_replaced_asyncio_run_is_no_other() -> None:
    """nest_asyncio's wants a loop in the thread, which only the main thread has."""
    words = (
        "import asyncio\n"
        "def run(main, *, debug=False):\n"
        "    return asyncio.get_event_loop_policy().get_event_loop().run_until_complete(main)\n"
        "asyncio.run = run\n"
        "from grader.execute.session import run_in_loop_thread\n"
        "async def answer(hand_over): return 42\n"
        "print(run_in_loop_thread(answer))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert ("42\n", 0) == (done.stdout, done.returncode), done.stderr
