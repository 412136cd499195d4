"""`grader watch`: how a batch stands that another process runs, until its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text as Styled

from grader.batch.watching import BatchState, Status, state_of
from grader.cli.progress import REFRESHES_PER_SECOND, can_redraw
from grader.cli.telling import line, tell, words
from grader.language import NOTHING, Text, in_clauses, say
from grader.progress import duration
from grader.render.audience import utc_now
from grader.render.wording import one_line

_LOOKS_PER_SECOND = 2
"""Few: schedules are being timed on the same machine."""

_ENDS: dict[Status, Text] = {
    "done": say("The batch is done."),
    "interrupted": say("The batch was interrupted: the same command goes on from here."),
    "killed": say("The batch was ended amid its work: the same command goes on from here."),
}


class WatchOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader watch`, as they were given."""

    folder: Path
    once: bool = False
    json: bool = False


def run_watch(
    options: WatchOptions,
    console: Console,
    write: Callable[[bytes], None],
    clock: Callable[[], datetime] = utc_now,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Show how a batch stands until it ends: live on a terminal, elsewhere a line for each change.

    Raises UsageError where there is no batch. After Ctrl-C the display is taken off the screen, and
    KeyboardInterrupt goes on.
    """
    seen = _seen(options, clock, wait)
    if options.json:
        for state in seen:
            write(msgspec.json.encode(state, enc_hook=line) + b"\n")
    elif options.once or not can_redraw(console):
        last = NOTHING
        for state in seen:
            told = _counted(state)
            if told != last or options.once:
                tell(console, told)
            last = told
        _tell_end(console, state)
    else:
        with Live(console=console, transient=True, refresh_per_second=REFRESHES_PER_SECOND) as live:
            for state in seen:
                live.update(_display(state, clock()))
        console.print(_display(state, clock()))
        _tell_end(console, state)


def _seen(
    options: WatchOptions, clock: Callable[[], datetime], wait: Callable[[float], None]
) -> Iterator[BatchState]:
    """Yield how the batch stands, until it ends."""
    while True:
        state = state_of(options.folder, clock())
        yield state
        if options.once or state.status in _ENDS:
            return
        wait(1 / _LOOKS_PER_SECOND)


def _tell_end(console: Console, state: BatchState) -> None:
    if state.status in _ENDS:
        tell(console, _ENDS[state.status])


def _counted(state: BatchState) -> Text:
    """Return how many are done, and how long the others take."""
    if state.status == "preparing":
        return say("The batch prepares itself.")
    parts = [say("{done} of {total} done", done=state.done, total=state.total)]
    counts = (
        (state.kept, say("{count} of them before", count=state.kept)),
        (state.failed, say("{count} could not be graded", count=state.failed)),
        (state.put_back, say("{count} to be graded again", count=state.put_back)),
    )
    parts += [told for number, told in counts if number]
    if state.left:
        parts.append(say("about {left} left", left=state.left))
    return in_clauses(parts)


def _display(state: BatchState, now: datetime) -> Group:
    """Return the tables of what is graded now, and of what was done last."""
    shown: list[Table | Styled] = [Styled(line(_counted(state)), style="bold")]
    if state.at_work:
        table = _table(say("Graded now"), say("What is done"), say("For"))
        for each in state.at_work:
            seconds = max((now - each.since).total_seconds(), 0.0)
            table.add_row(Styled(one_line(each.name)), Styled(line(each.stage)), duration(seconds))
        shown.append(table)
    if state.latest:
        table = _table(say("Done last"), say("What came out"))
        for done in state.latest:
            told = Styled(line(done.outcome), style="" if done.graded else "red")
            table.add_row(Styled(one_line(done.name)), told)
        shown.append(table)
    return Group(*shown)


def _table(*titles: Text) -> Table:
    """Return a table of lines that are not broken: the second column has what room is left."""
    table = Table(
        box=None, expand=True, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim", title=" "
    )
    for place, title in enumerate(titles):
        ratio = 1 if place == 1 else None
        table.add_column(words(title), no_wrap=True, overflow="ellipsis", ratio=ratio)
    return table
