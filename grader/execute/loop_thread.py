"""An event loop in its own thread, whatever loop the caller's thread runs.

asyncio refuses a second loop in a thread that runs one, and callers do run one: every Jupyter cell,
every asynchronous handler of a web framework, every test of pytest-asyncio.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import Any, Generic, TypeVar

_Result = TypeVar("_Result")

Call = Callable[[], None]
HandOver = Callable[[Call], None]
"""Has a call made in the caller's thread, and does not wait for it."""

Work = Callable[[HandOver], Coroutine[Any, Any, _Result]]


def run_in_loop_thread(work: Work[_Result]) -> _Result:
    """Run a coroutine in a new event loop, in a new thread; return what it returns.

    `work` receives a function that hands calls over to the caller's thread, where they are made in
    order before this returns: a progress bar in a notebook is drawn by the cell's thread alone.

    Whatever interrupts the caller's thread, such as Ctrl-C or a call that fails, cancels the
    coroutine and is raised when the coroutine has ended.
    """
    return _LoopThread(work).run()


class _LoopThread(Generic[_Result]):
    def __init__(self, work: Work[_Result]) -> None:
        self._work = work
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._lock = Lock()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[_Result]] | None = None
        self._is_cancelled = False

    def run(self) -> _Result:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="notebook") as executor:
            try:
                result = executor.submit(self._run_loop)
                result.add_done_callback(self._end_calls)
                while (call := self._calls.get()) is not None:
                    call()
                return result.result()
            except BaseException:
                self._cancel()
                raise

    def _end_calls(self, _: Future[_Result]) -> None:
        self._calls.put(None)

    def _cancel(self) -> None:
        """Cancel the coroutine, also one that has not begun yet; harmless after its end."""
        with self._lock:
            self._is_cancelled = True
            if self._running is not None:
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)

    def _run_loop(self) -> _Result:
        # Not `asyncio.run`: nest_asyncio, which many notebooks use, replaces it by a function that
        # fails in other threads. Its handler of SIGINT also costs 0.15 s: it has the result of a
        # task made a string.
        loop = asyncio.new_event_loop()
        try:
            task = loop.create_task(self._work(self._calls.put))
            with self._lock:
                self._running = loop, task
                if self._is_cancelled:
                    task.cancel()
            return loop.run_until_complete(task)
        finally:
            with self._lock:
                self._running = None
            _end(loop)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what the coroutine has left behind, and close the loop."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
