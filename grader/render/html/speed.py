"""What the page shows of a measured schedule: sentences, drawings, and a table of all numbers."""

from __future__ import annotations

from typing import NamedTuple

from grader.language import say
from grader.render import wording
from grader.render.html.charts import Distribution, Roofline, distributions, rooflines
from grader.render.html.parts import share
from grader.render.speech import tell
from grader.render.speed import how_measured, roofline_rows, speed_sentence
from grader.report import ShapeTiming, Timing


class TimeRow(NamedTuple):
    """A function in the table of a batch; `share` is that of the machine's limit, in percent."""

    name: str
    time: str
    speedup: str
    rate: str
    share: float
    percent: str


class ShapeView(NamedTuple):
    """The table of a batch."""

    title: str
    rows: tuple[TimeRow, ...]


class SpeedView(NamedTuple):
    """The whole section; drawings that cannot be made are left out."""

    sentence: str
    measured: str
    notes: tuple[str, ...]
    shapes: tuple[ShapeView, ...]
    distributions: tuple[Distribution, ...]
    rooflines: tuple[Roofline, ...]
    outside: str


def speed_view(timing: Timing) -> SpeedView:
    """Return what the page shows of a measured schedule."""
    drawn = distributions(timing)
    is_measured = bool(timing.shapes) and min(timing.peak_gflops, timing.bandwidth_gbs) > 0
    return SpeedView(
        sentence=speed_sentence(timing),
        measured=how_measured(timing) if is_measured else "",
        notes=tuple(map(tell, timing.notes)),
        shapes=tuple(_shape_view(shape) for shape in timing.shapes[:8] if _is_timed(shape)),
        distributions=drawn,
        rooflines=rooflines(timing),
        outside=_outside(drawn[0].outside) if drawn else "",
    )


def _outside(count: int) -> str:
    one = say("{count:,} round lies outside of the drawing, and is drawn at its edge.")
    many = say("{count:,} rounds lie outside of the drawing, and are drawn at its edges.")
    return wording.counted(count, one, many) if count else ""


def _is_timed(shape: ShapeTiming) -> bool:
    times = (shape.baseline_us, shape.submission_us, shape.reference_us, shape.library_us)
    return all(time is None or time > 0 for time in times)


def _shape_view(shape: ShapeTiming) -> ShapeView:
    rows = tuple(
        TimeRow(
            name=row.name,
            time=wording.microseconds(row.microseconds),
            speedup=wording.factor(row.speedup),
            rate=f"{shape.flops / row.microseconds / 1000:,.1f}",
            share=share(shape.floor_us, row.microseconds),
            percent=f"{100 * shape.floor_us / row.microseconds:.0f} %",
        )
        for row in roofline_rows(shape)
    )
    return ShapeView(tell("Batch of {batch:,}", batch=shape.batch), rows)
