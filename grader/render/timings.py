"""The measured schedule on a terminal: a sentence, a roofline of bars, how it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from grader.language import NOTHING, join, say
from grader.language import Text as Words
from grader.render import wording
from grader.render.pieces import ShareBar, plain_table
from grader.render.speech import tell
from grader.render.step_bars import steps_section
from grader.report import ShapeTiming, Timing

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
