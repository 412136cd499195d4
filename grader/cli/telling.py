"""How commands tell people what they did, in the command's language, and how far they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text as Styled

from grader.cli.ending import command_language, write_output
from grader.files import write_whole, writing
from grader.language import ENGLISH, NOTHING, Text, counted, in_a_row, say
from grader.progress import Progress, Silent, TimeLeft
from grader.render.wording import one_line

LABEL_WIDTH = 10
"""Columns of a terminal for the labels of what is told beside them, with a space at the end."""


def words(text: Text) -> str:
    """Return a text in the command's language, without characters that steer a terminal."""
    return printable(text.in_(command_language()))


def line(text: Text) -> str:
    """Return a text as `words` does, on one line, without what foreign names in it would steer."""
    return one_line(text.in_(command_language()))


def tell(console: Console, *lines: str | Text, style: str | None = None) -> None:
    """Print lines as they are: nothing in them is markup. Names and paths are plain strings."""
    for each in lines:
        told = printable(each) if isinstance(each, str) else words(each)
        console.print(told, style=style, markup=False, highlight=False, soft_wrap=True)


def tell_beside(console: Console, label: str | Text, text: str | Text) -> None:
    """Print text beside a label; lines that are too long go on below it.

    Not in a file or a pipe, whose lines are not folded: commands are copied from there.
    """
    cells = [printable(each) if isinstance(each, str) else words(each) for each in (label, text)]
    if not console.is_terminal:
        told = cells[1].replace("\n", "\n" + " " * LABEL_WIDTH)
        beside = cells[0] + " " * max(1, LABEL_WIDTH - cell_len(cells[0]))
        console.print(Styled(f"{beside}{told}"), soft_wrap=True)
        return
    table = Table.grid()
    table.add_column(width=LABEL_WIDTH)
    table.add_column(overflow="fold")
    table.add_row(*map(Styled, cells))
    console.print(table, highlight=False)


def tell_below(console: Console, label: str | Text, *texts: Text) -> None:
    """Print texts below one another beside one label; those that say nothing are left out."""
    for text in filter(None, texts):
        tell_beside(console, label, text)
        label = ""


def students(number: int) -> Text:
    """Return how many students there are."""
    return counted(number, say("count-student"), say("count-students"))


def some_of(names: Collection[str | Text], most: int) -> Text:
    """Return names in a row, `most` of them, and how many more there are."""
    shown = in_a_row([*names][:most])
    if len(names) <= most:
        return shown
    return say("names-and-count-more", names=shown, count=len(names) - most)


def printable(text: str) -> str:
    """Return foreign text without characters that steer a terminal."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)


STANDARD = Path("-")
"""The place that stands for the standard output."""


class CommandOutput(msgspec.Struct, frozen=True):
    """Where a command tells what it found: to people on the console, as JSON in a file.

    Where the JSON goes to the standard output, it stands there alone.
    """

    json: Path | None = None
    language: str = ENGLISH

    def tell(self, found: object, people: Callable[[Console], None]) -> None:
        """Tell it both ways. Raises UsageError where the file cannot be written."""
        if self.json is not None:
            self._write(found)
        if self.json != STANDARD:
            people(Console(emoji=False))

    def _write(self, found: object) -> None:
        encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=self._encode)
        document = msgspec.json.format(encoder.encode(found), indent=2) + b"\n"
        if self.json == STANDARD or self.json is None:
            write_output(document)
            return
        with writing(self.json, say("what-was-found")):
            write_whole(self.json, document)

    def _encode(self, value: object) -> str:
        if isinstance(value, Text):
            return value.in_(self.language)
        raise NotImplementedError(type(value).__name__)


# Progress on standard error: live on a terminal, plain lines anywhere else.


REFRESHES_PER_SECOND = 4
"""Few, because schedules are being timed on the same machine."""

SHOWN_NAMES = 4
"""Submissions at work whose names are shown beside the bar of a batch."""


class LiveProgress:
    """A `grader.progress.Progress` that draws while it is entered and leaves nothing on a terminal.

    Finished stages stay in view with the time they took until the context is left, by whatever
    way: the display is taken off the screen and the cursor is back before an exception goes on.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, emoji=False)
        self._live = can_redraw(self._console)
        self._task: TaskID | None = None
        self._progress = _bars(self._console, self._live)

    def __enter__(self) -> LiveProgress:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def stage(self, name: Text, *, waits: bool = False) -> None:
        """Begin a stage: the one before it is finished."""
        del waits  # it is shown as any other
        phrase = line(name)
        if not self._live:
            self._console.print(Styled(phrase), soft_wrap=True)
            return
        self._finish_stage()
        self._task = self._progress.add_task(phrase, total=None, label="")

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        """Move the bar of the current stage. Without a terminal, steps are not shown."""
        if self._task is None:
            return
        text = line(label or say("done-total", done=done, total=total))
        self._progress.update(self._task, completed=done, total=total, label=text)

    def refresh(self) -> None:
        """Draw now, and not at the next tick."""
        self._progress.refresh()

    def _finish_stage(self) -> None:
        if self._task is None:
            return
        self._progress.update(self._task, total=1, completed=1, label="")


_SILENCE = 30.0
"""Seconds without a line in a log, in which one may think that nothing goes on."""


class LiveBatch:
    """A `grader.progress.BatchProgress`: a bar on a terminal, a line for each submission elsewhere.

    Where that takes long, lines in between say what is being graded.

    `done` of the `total` submissions were graded before; `called` is what people call those that
    have another name. It is entered and left as LiveProgress is.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
        called: Mapping[str, Text] = {},
    ) -> None:
        """`clock` gives monotonic seconds."""
        self._console = console
        self._called = called
        self._clock = clock
        self._last_line = clock()
        self._estimate = TimeLeft(clock, done)
        self._live = can_redraw(console)
        self._total = total
        self._done = done
        self._at_work: dict[str, Text] = {}
        self._lock = threading.Lock()
        self._progress = _bars(console, self._live)
        self._task = self._progress.add_task(
            words(self._count()), total=total, completed=done, label=""
        )

    def __enter__(self) -> LiveBatch:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def started(self, name: str) -> None:
        """Show a submission as being graded."""
        with self._lock:
            self._at_work[name] = NOTHING
            self._update()
            self._break_silence()

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        """Show why a submission is not being worked on, where that is so."""
        with self._lock:
            self._at_work[name] = stage if waits else NOTHING
            self._update()
            self._break_silence()

    def finished(self, name: str, outcome: Text, *, graded: bool = True) -> None:
        """Count a submission. Without a terminal, say what came out."""
        del graded  # the outcome says it
        with self._lock:
            self._at_work.pop(name)
            self._done += 1
            self._update()
            told: dict[str, str | Text] = {"name": self._called.get(name, name), "outcome": outcome}
            self._say(say("count-name-outcome", count=self._count(), **told))

    def put_back(self, name: str, outcome: Text) -> None:
        """Do not count a submission. Without a terminal, say what is to be decided."""
        with self._lock:
            self._at_work.pop(name)
            self._update()
            told: dict[str, str | Text] = {"name": self._called.get(name, name), "outcome": outcome}
            self._say(say("again-at-end", **told))

    def _break_silence(self) -> None:
        if self._clock() >= self._last_line + _SILENCE:
            self._say(say("count-being-graded", count=self._count(), names=self._names_at_work()))

    def _say(self, told: Text) -> None:
        self._last_line = self._clock()
        if not self._live:
            self._console.print(Styled(line(told)), soft_wrap=True)

    def refresh(self) -> None:
        """Draw now, and not at the next tick."""
        self._progress.refresh()

    def _names_at_work(self) -> Text:
        working = ((self._called.get(name, name), stage) for name, stage in self._at_work.items())
        shown = [
            say("name-stage", name=name, stage=stage) if stage else name for name, stage in working
        ]
        return some_of(shown, SHOWN_NAMES)

    def _update(self) -> None:
        self._progress.update(
            self._task,
            description=words(self._count()),
            completed=self._done,
            label=line(self._names_at_work()),
        )

    def _count(self) -> Text:
        return say("graded-told", told=self._estimate.told(self._done, self._total))


@contextmanager
def shown_progress(*, is_long: bool = False) -> Iterator[Progress]:
    """Yield what shows how far it is: on a terminal, and elsewhere of what is long."""
    console = Console(stderr=True, emoji=False)
    if not can_redraw(console) and not is_long:
        yield Silent()
        return
    with LiveProgress(console) as live:
        yield live


def can_redraw(console: Console) -> bool:
    """Say whether what was drawn can be drawn over."""
    return console.is_terminal and not console.is_dumb_terminal


def _bars(console: Console, live: bool) -> Bars:
    return Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[label]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        refresh_per_second=REFRESHES_PER_SECOND,
        disable=not live,
    )
