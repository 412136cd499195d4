"""What each step of a schedule brought: rows with bars, and sentences on what has none.

The terminal's rows are made here as well; the page and Markdown make their own of the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from grader.language import NOTHING, in_a_row, join, say
from grader.language import Text as Words
from grader.render import wording
from grader.render.pieces import plain_table
from grader.render.speech import tell
from grader.report import StepLine, StepSpeed, StepSpeeds

_BAR_WIDTH = 12
_WITH_BARS = 64
"""Columns that a terminal must have for bars."""

_LINE_LENGTH = 48


Measurable = Literal["faster", "slower", "regained"]
"""The changes of speed that have a row."""

_VERDICTS: Mapping[Measurable, Words] = {
    "faster": NOTHING,
    "slower": say("costs-you"),
    "regained": say("later-steps-make-up"),
}


class StepRow(NamedTuple):
    """Steps that made a difference: their names, where they were done and the line there.

    `share` is the length of the bar, from 0 to 1 of the longest one.
    """

    name: str
    place: str
    line: str
    factor: str
    interval: str
    share: float
    change: Measurable

    @property
    def verdict(self) -> str:
        """Say what to think of it: nothing of a gain."""
        return tell(_VERDICTS[self.change])


_STYLES: Mapping[Measurable, str] = {"faster": "green", "slower": "red", "regained": "yellow"}


class StepsView(NamedTuple):
    """The rows in the order of the schedule, the sentence above and those below."""

    sentence: str
    rows: tuple[StepRow, ...]
    notes: tuple[str, ...]


def steps_view(speeds: StepSpeeds) -> StepsView:
    """Return what is shown of steps; without any of them it is why."""
    if not speeds.steps:
        reason = say("what-each-step-brought-not-known", reason=speeds.reason)
        return StepsView(tell(reason) if speeds.reason else "", (), ())
    sentence = join(
        say("measured-after-each-your-steps-one-after"),
        say(
            "together-they-make-your-function-times",
            speedup=wording.factor(speeds.speedup),
            low=wording.factor(speeds.low),
            high=wording.factor(speeds.high),
        ),
    )
    notes = (tell(each) for each in _notes(speeds))
    return StepsView(tell(sentence), tuple(_rows(speeds.steps)), tuple(notes))


def _rows(steps: Sequence[StepSpeed]) -> Iterator[StepRow]:
    told = [(each, each.change) for each in steps if each.change in _VERDICTS]
    most = max((_length(each) for each, _ in told), default=1.0)
    for each, change in told:
        yield StepRow(
            name=_name(each.kinds),
            place=tell(_place(each.lines)) if each.lines else "",
            line=_line(each.lines[0]) if each.lines else "",
            factor=f"{wording.factor(each.factor)}×",
            interval=tell("to", low=wording.factor(each.low), high=wording.factor(each.high)),
            share=round(_length(each) / most, 3),
            change=cast("Measurable", change),
        )


def _line(line: StepLine) -> str:
    text = wording.one_line(line.text)
    return text if len(text) <= _LINE_LENGTH else text[: _LINE_LENGTH - 1] + "…"


def _length(step: StepSpeed) -> float:
    return max(1e-6, abs(math.log(max(step.factor, 1e-6))))


def _name(kinds: Sequence[str]) -> str:
    """Return the names of steps in a row, those of one name counted."""
    runs = [(kind, len(list(run))) for kind, run in groupby(map(wording.one_line, kinds))]
    return ", ".join(f"{kind} ({count})" if count > 1 else kind for kind, count in runs)


def _place(lines: Sequence[StepLine]) -> Words:
    first, last = lines[0], lines[-1]
    if first.cell == last.cell and first.line != last.line:
        return say(
            "cell-lines",
            cell=first.cell,
            first=min(each.line for each in lines),
            last=max(each.line for each in lines),
        )
    return say("code-cell-line-2", cell=first.cell, line=first.line)


def _named(step: StepSpeed) -> Words | str:
    name = _name(step.kinds)
    if not step.lines:
        return name
    return say("name-place", name=name, place=_place(step.lines))


def _notes(speeds: StepSpeeds) -> Iterator[Words]:
    equal = [_named(each) for each in speeds.steps if each.change == "equal"]
    if equal:
        yield say("no-measurable-difference-as-interval-contains", steps=in_a_row(equal))
    if speeds.idle:
        yield say(
            "these-steps-leave-code-as-here", steps=in_a_row(map(wording.one_line, speeds.idle))
        )
    for each in speeds.steps:
        if each.change == "wrong":
            yield say("after-values-not-pytorchs-so-time", step=_named(each))
        if each.change == "failed":
            yield say("after-function-cannot-run-so-time", step=_named(each))


def steps_section(speeds: StepSpeeds | None) -> Iterator[RenderableType]:
    """Yield what a terminal shows of steps, in order."""
    if speeds is None:
        return
    view = steps_view(speeds)
    if view.sentence:
        yield Padding(Text(view.sentence), (1, 0, 0, 0))
    if view.rows:
        yield Padding(_Bars(view.rows), (1, 0, 1, 0))
    for note in view.notes:
        yield Text(note, style="dim")


class _Bars:
    """A row for each step; on a narrow page the bars are left out."""

    def __init__(self, rows: Sequence[StepRow]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bars = options.max_width >= _WITH_BARS
        marks = ("#", "-") if options.ascii_only else ("━", "╌")
        table = plain_table(tell("step"), collapse_padding=True)
        table.add_column(tell("speed-up"), justify="right", no_wrap=True)
        if bars:
            table.add_column("", no_wrap=True)
        table.add_column(tell("where"), overflow="fold")
        for row in self._rows:
            style = _STYLES[row.change]
            length = max(1, round(_BAR_WIDTH * row.share))
            mark = marks[row.change != "faster"]  # else the largest loss looks like the best step
            bar = [Text(mark * length, style)] if bars else []
            told = (row.verdict, style), (row.place, "dim"), (row.line, "dim")
            where = Text("\n").join(Text(words, shade) for words, shade in told if words)
            table.add_row(row.name, row.factor, *bar, where)
        yield table
