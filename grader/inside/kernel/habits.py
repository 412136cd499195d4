"""What notebooks do because somebody sits in front of them, and what is done about it here.

Nobody answers `input()`, no window opens, and a kernel that is started anew loses all that was
made: a right notebook that does such a thing is run on, and a note says what was done.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from grader.inside.kernel.faults import uninterrupted
from grader.inside.kernel.well_formed import refused_variable
from grader.messages import KernelNote, LoopVariable, NoteKind

Tell = Callable[[NoteKind], None]

ANSWERS = 20
"""Empty answers in a cell; a loop that asks until it gets one has an end."""

_BACKENDS = frozenset({
    *("widget", "ipympl", "notebook", "nbagg", "auto", "agg"),
    *("qt", "qt5", "qt6", "tk", "gtk3", "gtk4", "wx", "osx"),
})  # fmt: skip


def install(kernel: Any, tell: Tell) -> None:
    """Answer for the one who is not there, in this kernel; `tell` is told what was done."""
    answers = _Answers(tell)
    kernel.shell.events.register("pre_run_cell", answers.begin_cell)
    kernel.raw_input = answers.ask
    kernel.getpass = answers.ask
    _stay(kernel, tell)
    _draw_inline(kernel.shell, tell)


class Notes:
    """Sends notes, each kind once for a cell. `cell` tells which cell is run, from 1."""

    def __init__(self, emit: Callable[[KernelNote], None]) -> None:
        self.cell: Callable[[], int] = int
        self._emit = emit
        self._process = os.getpid()
        self._sent: set[tuple[NoteKind, int]] = set()

    def tell_of_loop_variable(self, found: LoopVariable | None) -> None:
        """Send a note that a block with a loop's variable was let pass."""
        self.tell("loop_variable", found)

    def end_cell(self, result: Any) -> None:
        """Send a note where a cell ended in the refusal of such a block.

        `result` is IPython's ExecutionResult, None if the cell was broken off.
        """
        found = refused_variable(getattr(result, "error_in_exec", None))
        if found is not None:
            self.tell("refused_loop_variable", found)

    def tell(self, kind: NoteKind, loop_variable: LoopVariable | None = None) -> None:
        """Send a note of the cell that is run; a forked child keeps it to itself."""
        key = (kind, self.cell())
        if key not in self._sent and os.getpid() == self._process:
            self._sent.add(key)
            with uninterrupted(), contextlib.suppress(OSError):
                self._emit(KernelNote(*key, loop_variable))


class _Answers:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._left = ANSWERS

    def begin_cell(self, *_: object) -> None:
        """Have answers for a new cell."""
        self._left = ANSWERS

    def ask(self, prompt: object = "", *_: object, **__: object) -> str:
        """Answer with an empty line, as whoever only presses the key."""
        if not self._left:
            raise EOFError("nobody answers while a notebook is graded")
        self._left -= 1
        self._tell("asked")
        print(prompt)
        return ""


def _stay(kernel: Any, tell: Tell) -> None:
    """Let the kernel stay when a cell wants it started anew."""
    shut_down = kernel.do_shutdown

    def do_shutdown(restart: bool) -> Any:
        if not restart:
            return shut_down(restart)
        tell("restarted")
        return {"status": "ok", "restart": restart}

    kernel.do_shutdown = do_shutdown


def _draw_inline(shell: Any, tell: Tell) -> None:
    """Draw into the notebook where a window or a widget was asked for that is not there."""
    original = shell.enable_matplotlib

    def enable_matplotlib(gui: str | None = None) -> Any:
        try:
            return original(gui)
        except Exception:
            if gui not in _BACKENDS:
                raise
        tell("drawn")
        return original("inline")

    shell.enable_matplotlib = enable_matplotlib
