"""Progress on standard error: a live line on a terminal, one plain line a stage anywhere else."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from grader.render.wording import one_line

REFRESHES_PER_SECOND = 4
"""Few, because schedules are being timed on the same machine."""


class LiveProgress:
    """A `grader.progress.Progress` that draws while it is entered and leaves nothing on a terminal.

    Finished stages stay in view with the time they took until the context is left, by whatever
    way: the display is taken off the screen and the cursor is back before an exception goes on.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._task: TaskID | None = None
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[label]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            refresh_per_second=REFRESHES_PER_SECOND,
            disable=not self._live,
        )

    def __enter__(self) -> LiveProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def stage(self, name: str) -> None:
        """Begin a stage: the one before it is finished."""
        phrase = one_line(name)
        if not self._live:
            self._console.print(Text(phrase), soft_wrap=True)
            return
        self._finish_stage()
        self._task = self._progress.add_task(phrase, total=None, label="")

    def step(self, done: int, total: int, label: str = "") -> None:
        """Move the bar of the current stage. Without a terminal, steps are not shown."""
        if self._task is None:
            return
        text = one_line(label) or f"{done} of {total}"
        self._progress.update(self._task, completed=done, total=total, label=text)

    def refresh(self) -> None:
        """Draw now, and not at the next tick."""
        self._progress.refresh()

    def _finish_stage(self) -> None:
        if self._task is None:
            return
        self._progress.update(self._task, total=1, completed=1, label="")
