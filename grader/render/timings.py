"""The measured schedule on a terminal: a sentence, a roofline of bars, how it was measured."""

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
from grader.render.pieces import ShareBar, plain_table
from grader.render.speech import tell
from grader.report import ShapeTiming, StepLine, StepSpeed, StepSpeeds, Timing

_STEP_BAR_WIDTH = 12
_WITH_STEP_BARS = 64
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
        bars = options.max_width >= _WITH_STEP_BARS
        marks = ("#", "-") if options.ascii_only else ("━", "╌")
        table = plain_table(tell("step"), collapse_padding=True)
        table.add_column(tell("speed-up"), justify="right", no_wrap=True)
        if bars:
            table.add_column("", no_wrap=True)
        table.add_column(tell("where"), overflow="fold")
        for row in self._rows:
            style = _STYLES[row.change]
            length = max(1, round(_STEP_BAR_WIDTH * row.share))
            mark = marks[row.change != "faster"]  # else the largest loss looks like the best step
            bar = [Text(mark * length, style)] if bars else []
            told = (row.verdict, style), (row.place, "dim"), (row.line, "dim")
            where = Text("\n").join(Text(words, shade) for words, shade in told if words)
            table.add_row(row.name, row.factor, *bar, where)
        yield table


_THREADS = say("count-thread"), say("count-threads")
_ROUNDS = say("round"), say("rounds")
_PROCESSORS = say("processor"), say("processors")
_COMPUTING = say("limit-gflop-s-and-gb")
_MOVING = say("limit-gflop-s-and-gb-s-measured")

_BAR_WIDTH = 24

_WITH_BARS = 76
_WITH_RATES = 52
"""Columns that a page must have for bars, and for rates beside times."""


class RooflineRow(NamedTuple):
    """One function of the roofline: its name, its time in microseconds, its speed-up."""

    name: str
    microseconds: float
    speedup: float


def speed_section(timing: Timing) -> Iterator[RenderableType]:
    """Yield what a student reads of the measurement, in order."""
    yield Text(speed_sentence(timing))
    for shape in timing.shapes:
        yield Padding(_Roofline(shape), (1, 0, 0, 0))
    yield from steps_section(timing.steps)
    yield Padding(Text(how_measured(timing), style="dim"), (1, 0, 0, 0))
    for note in timing.notes:
        yield Text(wording.one_line(note), style="dim")


def speed_sentence(timing: Timing) -> str:
    """Say how fast the schedule is, and what to think of it."""
    return tell(join(_sentence(timing), _judgement(timing)))


def _sentence(timing: Timing) -> Words:
    measured = {
        "function": wording.one_line(timing.function),
        "speedup": wording.factor(timing.speedup),
        "low": wording.factor(timing.ci_low),
        "high": wording.factor(timing.ci_high),
    }
    if len(timing.shapes) == 1:
        return say("your-schedule-times-as-fast-as-unscheduled", **measured)
    return say(
        "your-schedule-times-as-fast-as-unscheduled-one",
        batches=tell("and").join(f"{shape.batch:,}" for shape in timing.shapes),
        **measured,
    )


def _judgement(timing: Timing) -> Words:
    if timing.ci_high < 1:
        return say("slower-than-unscheduled-function")
    if timing.ci_low <= 1:
        return say("this-difference-not-measurable-interval-contains")
    return NOTHING


class _Roofline:
    """A row for each function; a narrow page leaves out the bars, and then the rates."""

    def __init__(self, shape: ShapeTiming) -> None:
        self._shape = shape

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rates, bars = options.max_width >= _WITH_RATES, options.max_width >= _WITH_BARS
        table = plain_table(collapse_padding=True)
        table.add_column(tell("batch-title", batch=self._shape.batch), no_wrap=True)
        for heading in (tell("one-call"), tell("speed-up"), *(["GFLOP/s"] if rates else [])):
            table.add_column(heading, justify="right", overflow="fold")
        if bars:
            table.add_column(tell("share-this-machines-limit"), no_wrap=True)
        table.add_column("" if bars else tell("limit"), justify="right", no_wrap=True)
        for line in roofline_rows(self._shape):
            table.add_row(*_cells(self._shape, line, rates, bars))
        yield table


def _cells(
    shape: ShapeTiming, line: RooflineRow, rates: bool, bars: bool
) -> Iterator[RenderableType]:
    reached = shape.floor_us / line.microseconds
    yield line.name
    yield wording.microseconds(line.microseconds)
    yield wording.factor(line.speedup)
    if rates:
        yield f"{shape.flops / line.microseconds / 1000:,.1f}"
    if bars:
        yield ShareBar(reached, _BAR_WIDTH)
    yield f"{100 * reached:.0f}%"


def roofline_rows(shape: ShapeTiming) -> list[RooflineRow]:
    """Return the functions that were measured at a batch: PyTorch's only where it was."""
    lines = [
        RooflineRow(tell("unscheduled"), shape.baseline_us, 1.0),
        RooflineRow(tell("yours-2"), shape.submission_us, shape.speedup),
        RooflineRow(tell("reference"), shape.reference_us, shape.reference_speedup),
    ]
    if shape.library_us is not None:
        lines.append(RooflineRow("PyTorch", shape.library_us, shape.baseline_us / shape.library_us))
    return lines


def how_measured(timing: Timing) -> str:
    """Say on what it was measured, how well, and what the machine can do at most."""
    numbers = ", ".join(str(cpu) for cpu in timing.cpus)
    where = say(
        "measured-with-on-for-target-in-short",
        threads=wording.counted(timing.threads, *_THREADS),
        processors=tell(_PROCESSORS[len(timing.cpus) != 1], numbers=numbers),
        target=wording.one_line(timing.target),
        rounds=wording.counted(timing.pairs, *_ROUNDS),
    )
    error = say(
        "unscheduled-function-beside-itself-off", error=100 * abs(timing.self_test.ratio - 1)
    )
    first = timing.shapes[0]
    computing = first.flops / timing.peak_gflops >= first.bytes / timing.bandwidth_gbs
    limit = say(
        _COMPUTING if computing else _MOVING,
        peak=timing.peak_gflops,
        bandwidth=timing.bandwidth_gbs,
    )
    return tell(join(where, error, limit))
