"""The measured schedule on a terminal: a sentence, a roofline of bars, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from grader.render import wording
from grader.report import ShapeTiming, Timing

_BAR_WIDTH = 24


class _Line(NamedTuple):
    """One function of the roofline: its name, its time in microseconds, its speed-up."""

    name: str
    microseconds: float
    speedup: float


def speed_section(timing: Timing) -> Iterator[RenderableType]:
    """Yield what a student reads of the measurement, in order."""
    yield Text(f"{_sentence(timing)}{_judgement(timing)}")
    for shape in timing.shapes:
        yield Padding(_roofline(shape), (1, 0, 0, 0))
    yield Padding(Text(_measured(timing), style="dim"), (1, 0, 0, 0))
    for note in timing.notes:
        yield Text(wording.one_line(note), style="dim")


def _sentence(timing: Timing) -> str:
    interval = f"{wording.factor(timing.ci_low)} to {wording.factor(timing.ci_high)}"
    batches = [f"{shape.batch:,}" for shape in timing.shapes]
    together = f", over batches of {' and '.join(batches)}" if len(batches) > 1 else ""
    return (
        f"Your schedule of {wording.one_line(timing.function)} is "
        f"{wording.factor(timing.speedup)} times as fast as the unscheduled one"
        f"{together} (95 % confidence interval {interval})."
    )


def _judgement(timing: Timing) -> str:
    if timing.ci_high < 1:
        return " It is slower than no schedule at all."
    if timing.ci_low <= 1:
        return " This is no measurable difference, because the interval contains 1."
    return ""


def _roofline(shape: ShapeTiming) -> RenderableType:
    """Return a bar for each function: how much of what the machine can do it reaches."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column(f"Batch of {shape.batch:,}")
    table.add_column("One call", justify="right", no_wrap=True)
    table.add_column("Speed-up", justify="right", no_wrap=True)
    table.add_column("GFLOP/s", justify="right", no_wrap=True)
    table.add_column("Of this machine's limit", no_wrap=True, min_width=_BAR_WIDTH)
    table.add_column("", justify="right", no_wrap=True)
    for line in _lines(shape):
        reached = shape.floor_us / line.microseconds
        table.add_row(
            line.name,
            wording.microseconds(line.microseconds),
            wording.factor(line.speedup),
            f"{shape.flops / line.microseconds / 1000:,.1f}",
            ProgressBar(total=1.0, completed=min(1.0, reached), width=_BAR_WIDTH),
            f"{100 * reached:.0f} %",
        )
    return table


def _lines(shape: ShapeTiming) -> list[_Line]:
    lines = [
        _Line("unscheduled", shape.baseline_us, 1.0),
        _Line("yours", shape.submission_us, shape.speedup),
        _Line("reference", shape.reference_us, shape.reference_speedup),
    ]
    if shape.library_us is not None:
        lines.append(_Line("PyTorch", shape.library_us, shape.baseline_us / shape.library_us))
    return lines


def _measured(timing: Timing) -> str:
    kept = wording.count(timing.pairs, "round")
    cpus = wording.noun(len(timing.cpus), "processor", "processors")
    numbers = ", ".join(str(cpu) for cpu in timing.cpus)
    first = timing.shapes[0]
    computing = first.flops / timing.peak_gflops >= first.bytes / timing.bandwidth_gbs
    bound = "multiplying and adding" if computing else "moving the arrays"
    error = 100 * abs(timing.self_test.ratio - 1)
    return (
        f"Measured with {wording.count(timing.threads, 'thread')} on {cpus} {numbers} for the "
        f"target {wording.one_line(timing.target)}: {kept} kept, {timing.rejected:,} dropped "
        "because the machine was busy with something else. The unscheduled function beside itself "
        f"was {error:.2f} % off. The limit is {timing.peak_gflops:,.0f} GFLOP/s and "
        f"{timing.bandwidth_gbs:,.0f} GB/s, measured at the same time; here it is {bound}."
    )
