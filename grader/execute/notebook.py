"""Running all cells of a notebook in a sandboxed kernel."""

import asyncio
import copy
import itertools
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from grader.execute.advice import Given
from grader.execute.captures import Taken
from grader.execute.kernel import KernelOrder
from grader.execute.problems import cell_problem, raised_elsewhere, with_refused
from grader.execute.result import Execution, Raised
from grader.execute.session import (
    LOG,
    ChannelLimitError,
    HandOver,
    KernelSession,
    run_in_loop_thread,
)
from grader.execute.stop import CAPTURE_DAMAGE, OUTPUT_CELLS, Stop, describe_notes, describe_stop
from grader.language import NOTHING, Text, say
from grader.messages.kernel import NoteKind
from grader.progress import Progress, Silent
from grader.reading.submission import first_lines, is_run
from grader.report import CellProblem
from grader.sandbox.room import refuse_displaced

OUTPUT_SECONDS = 30
"""How long what a cell has put out is waited for when the cell has ended. With nbclient's four
seconds a busy machine kept 2,000 of 3,000 lines."""


class CellClient(NotebookClient):  # type: ignore[misc]
    """Runs single cells of a notebook in a session's kernel.

    It never ends a cell by itself: errors are results, and time is the caller's matter. `failure`
    gets the exception that receiving a cell's output came to; `reply` is the last reply's content.
    """

    def __init__(self, notebook: NotebookNode, session: KernelSession) -> None:
        super().__init__(
            notebook,
            log=LOG,
            allow_errors=True,
            timeout=None,
            iopub_timeout=OUTPUT_SECONDS,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=False,  # nbclient's takes quadratic time on a long line
            skip_cells_with_tag="\0",  # no cell is skipped
            on_cell_executed=self._keep_reply,
        )
        self.kc = session.client
        self.widget_registry: dict[str, Any] = {}
        self.comm_open_handlers: dict[str, Any] = {}  # an output widget redirects outputs
        self.failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self.reply: dict[str, Any] = {}

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        """Take a message into the cell's outputs, but none that would change another cell's."""
        if msg["msg_type"] == "update_display_data" or msg["msg_type"].startswith("comm"):
            return None
        msg["content"].pop("transient", None)
        return super().process_message(msg, cell, cell_index)

    async def _async_poll_output_msg(
        self, parent_msg_id: str, cell: NotebookNode, cell_index: int
    ) -> None:
        try:
            await super()._async_poll_output_msg(parent_msg_id, cell, cell_index)
        except Exception as error:  # noqa: BLE001  nobody awaits this before the cell has ended
            if not self.failure.done():
                self.failure.set_result(error)

    def _keep_reply(self, execute_reply: dict[str, Any], **_: Any) -> None:
        self.reply = execute_reply["content"]


_POLL_SECONDS = 0.05
_MACHINE_MATTERS = ("died", "cell_time", "notebook_time")
"""Ends that somebody else may have brought about, who took memory or processors."""

_INTERRUPTS = (2.0, 4.0, 6.0)
"""Seconds after each interrupt that a cell has to end in; a `try` with a bare `except` eats one."""

_MOST_RUNS = 3
"""Runs of one notebook: each leaves out a cell that ended the one before. A store beyond a buffer
damages memory, and cells that are right die of that later."""

_DEATH_SECONDS = 2.0
"""Time between a kernel's last sign and its end; freeing gigabytes takes its time."""


def execute_notebook(
    notebook: NotebookNode,
    order: KernelOrder,
    progress: Progress,
    taken: Taken | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Execution:
    """Run every code cell in order and go on after errors; return what came out.

    Native code that ends Python, as an index beyond a buffer does, costs its cell, as an error
    would: the notebook is run again without it, where there is time for that. So does a cell that
    cannot be interrupted, or takes too much memory. Each run has a kernel as it is ordered; whether
    it is of a script, the notebook says. `taken` is called with each capture as it arrives, in a
    thread.
    Whatever the notebook does, this returns within the limits, and nothing of it is left running.
    The caller's thread may run an event loop; `progress` is called in that thread.
    Raises SandboxError when no kernel can be started, DisplacedError when it was ended for memory
    that others may have taken.
    """
    order = msgspec.structs.replace(order, is_script=bool(first_lines(notebook)))

    async def run(hand_over: HandOver) -> Execution:
        told = _HandedOver(progress, hand_over)
        end = clock() + order.limits.notebook_seconds
        left_out: dict[int, _LeftOut] = {}
        for runs in range(1, _MOST_RUNS + 1):
            start = clock()
            session = KernelSession(order, taken)
            fresh = _without_results(notebook)
            found, crash = await _execute(fresh, session, order, told, _Clock(clock, end), left_out)
            has_time = clock() - start < end - clock()
            if not crash or not has_time or runs == _MOST_RUNS:
                break
            left_out |= crash
        return found

    return run_in_loop_thread(run)


class _HandedOver(Silent):
    """A Progress whose steps are taken by another one, in the thread of whoever called."""

    def __init__(self, progress: Progress, hand_over: HandOver) -> None:
        self._progress, self._hand_over = progress, hand_over

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        self._hand_over(partial(self._progress.step, done, total, label))


class _Clock(NamedTuple):
    """A clock, and what it shows when the notebook's time is over."""

    now: Callable[[], float]
    end: float


class _LeftOut(NamedTuple):
    """A cell that ended an earlier run: how, and what it had put out."""

    stop: Stop
    outputs: list[NotebookNode]


async def _execute(
    notebook: NotebookNode,
    session: KernelSession,
    order: KernelOrder,
    progress: Progress,
    clock: _Clock,
    left_out: Mapping[int, _LeftOut],
) -> tuple[Execution, dict[int, _LeftOut]]:
    """Run a notebook but for cells that are left out.

    Returns what came out, and the cell to leave out of another run, by its number: none where all
    others were run.
    """
    asyncio.get_running_loop().set_exception_handler(_tell)
    async with session:
        run = _Run(notebook, session, order, clock, left_out)
        await run.all_cells(progress)
    damaged = (CAPTURE_DAMAGE,) if session.captures.damage else ()
    received, refused = dict(session.captures.notes), dict(session.captures.refused)
    notes = {each: detail for each, detail in received.items() if each not in run.told}
    told = describe_notes(notes, run.begun, order.limits)
    found = Execution(
        notebook=notebook,
        problems=tuple(with_refused(each, received, refused) for each in run.problems),
        cells=len(run.cells),
        executed=run.executed,
        captures=session.captures.received,
        notes=(*run.notes, *told, *damaged),
        peak=session.process.peak,
        stopped=tuple(run.stopped),
        begun=run.begun,
        raised=tuple(run.raised),
        exited=run.exited,
    )
    return found, run.crash


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of an error that nobody has met, but for a cell's that Ctrl-C has ended.

    nbclient takes a cancellation for a kernel that died, and asyncio prints it with a traceback.
    """
    if not isinstance(context.get("exception"), DeadKernelError):
        loop.default_exception_handler(context)


class _Run:
    """The cells of one notebook, run one after the other until one of them ends the kernel."""

    def __init__(
        self,
        notebook: NotebookNode,
        session: KernelSession,
        order: KernelOrder,
        clock: _Clock,
        left_out: Mapping[int, _LeftOut],
    ) -> None:
        self._given = Given(tuple(order.files), order.preamble)
        self._left_out = left_out
        self._session = session
        self._client = CellClient(notebook, session)
        self._limits = order.limits
        self._clock = clock
        self.cells = [(index, cell) for index, cell in enumerate(notebook.cells) if is_run(cell)]
        self.executed = 0
        self.begun = 0
        self.stopped: list[int] = []
        self.problems: list[CellProblem] = []
        self.raised: list[Raised] = []
        self.exited: int | None = None
        self.notes: list[Text] = []
        self.told: list[tuple[NoteKind, int]] = []
        self.crash: dict[int, _LeftOut] = {}

    async def all_cells(self, progress: Progress) -> None:
        count = len(self.cells)
        for number, (index, cell) in enumerate(self.cells, start=1):
            progress.step(number - 1, count, say("cell-number-count", number=number, count=count))
            self.begun = number
            stop = await self._outcome(number, index, cell)
            if stop is not None:
                self.stopped.append(number)
                if stop.kind == "output":  # the kernel has begun to cut, too
                    self.told.append(("cut", number))
                self.notes.append(describe_stop(stop, number, count, self._limits))
            if stop is not None and stop.is_end:
                if stop.is_accident and number < count:
                    again = msgspec.structs.replace(stop, is_end=False, is_left_out=True)
                    self.crash = {number: _LeftOut(again, cell.outputs)}
                return
        progress.step(count, count)

    async def _outcome(self, number: int, index: int, cell: NotebookNode) -> Stop | None:
        """Run one cell, or leave it out; return how it was ended if it was."""
        earlier, source = self._left_out.get(number), cell.source
        if earlier is not None:
            cell.source = "pass"  # the kernel counts cells, too: `sch` was called one of cell 3
        stop = await self._cell(number, index, cell)
        if stop is not None and stop.kind in _MACHINE_MATTERS:
            refuse_displaced(self._session.process)
        if earlier is None:
            cell.outputs = _merge_streams(cell.outputs)
            return stop
        cell.source, cell.outputs = source, earlier.outputs
        return stop or earlier.stop

    async def _cell(self, number: int, index: int, cell: NotebookNode) -> Stop | None:
        """Run one cell to its end; if it has to be ended and does not end itself, so is the kernel.

        A slow cell is interrupted first: what it defines may be lost, the others need not be.
        """
        self._allow_output()
        task = asyncio.ensure_future(
            self._client.async_execute_cell(cell, index, execution_count=number)
        )
        stop = await self._watch(task, self._limits.cell_seconds)
        if stop is not None and stop.kind == "cell_time":
            stop = await self._interrupt(task, stop)
        if stop is not None and stop.is_end:
            self._session.process.kill()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif stop is not None:
            return stop
        elif self._client.reply["status"] == "error":
            self._note_error(number)
        else:
            is_run = number not in self._left_out
            self.executed += is_run and self._client.reply["status"] == "ok"
        return stop

    def _note_error(self, number: int) -> None:
        if self._is_done(number):
            self.executed, self.exited = self.executed + 1, number
            return
        self.problems.append(cell_problem(self._client.reply, number, self._limits, self._given))
        elsewhere = raised_elsewhere(self._client.reply, number)
        if elsewhere is not None:
            self.raised.append(elsewhere)

    def _is_done(self, number: int) -> bool:
        """Say whether a cell ended as a program that has done its work: the last by sys.exit(0)."""
        reply = self._client.reply
        is_exit = reply.get("ename") == "SystemExit" and reply.get("evalue") in ("", "0", "None")
        return is_exit and number == len(self.cells)

    def _allow_output(self) -> None:
        cell_limit = int(self._limits.output_mb * 2**20)
        for channel in self._session.channels:
            channel.limit = min(channel.received + cell_limit, OUTPUT_CELLS * cell_limit)

    async def _interrupt(self, task: asyncio.Future[Any], late: Stop) -> Stop:
        """Interrupt a cell that was too slow; return whether the kernel can go on after it."""
        for seconds in _INTERRUPTS:
            self._session.interrupt()
            stop = await self._watch(task, seconds)
            if stop is None:
                return msgspec.structs.replace(late, is_end=False)
            if stop.kind != "cell_time":
                return late if stop.kind == "notebook_time" else stop
        return late

    async def _watch(self, task: asyncio.Future[Any], seconds: float) -> Stop | None:
        """Wait for the cell's end or for a reason to end it, its time among them."""
        cell_end = self._clock.now() + seconds
        signals = {task, self._client.failure, *self._session.breaks}
        while True:
            done, _ = await asyncio.wait(
                signals, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return await self._reason(task)
            if self._session.process.poll() is not None:
                return self._end_of_kernel()
            end = self._clock.end
            if self._clock.now() >= min(cell_end, end):
                return Stop("cell_time" if cell_end <= end else "notebook_time")

    async def _reason(self, task: asyncio.Future[Any]) -> Stop | None:
        """Return why the wait has ended: None for a cell that has run to its end."""
        error = self._error(task)
        if error is None and task.done():
            return Stop("died") if _asks_for_exit(self._client.reply) else None
        if isinstance(error, ChannelLimitError):
            return Stop("output")
        if error is not None and not isinstance(error, DeadKernelError):
            return Stop("message")
        # Alive: a channel was cut because a message was too long for it.
        return self._end_of_kernel() if await self._has_died() else Stop("output")

    async def _has_died(self) -> bool:
        """Say whether the kernel ends very soon; its last output is received then."""
        deadline = time.monotonic() + _DEATH_SECONDS
        while (status := self._session.process.poll()) is None and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
        await asyncio.sleep(_POLL_SECONDS)
        return status is not None

    def _end_of_kernel(self) -> Stop:
        process = self._session.process
        return Stop("died", process.poll() or 0, process.cause)

    def _error(self, task: asyncio.Future[Any]) -> BaseException | None:
        if self._client.failure.done():
            return self._client.failure.result()
        return task.exception() if task.done() else None


def _asks_for_exit(reply: dict[str, Any]) -> bool:
    """Whether a cell called exit(): the kernel ends a moment after its reply."""
    payload = reply.get("payload")
    parts = payload if isinstance(payload, list) else []
    return any(isinstance(part, dict) and part.get("source") == "ask_exit" for part in parts)


def _without_results(notebook: NotebookNode) -> NotebookNode:
    """Return a copy whose code cells look as if they had never run: saved outputs prove nothing."""
    fresh = copy.deepcopy(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return fresh


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    merged: list[NotebookNode] = []
    for name, group in itertools.groupby(outputs, _stream_name):
        if name is None:
            merged.extend(group)
        else:
            text = "".join(output.text for output in group)
            merged.append(NotebookNode(output_type="stream", name=name, text=text))
    return merged


def _stream_name(output: NotebookNode) -> str | None:
    is_text = output.output_type == "stream" and isinstance(output.text, str)
    return output.name if is_text else None
