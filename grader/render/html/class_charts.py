"""Charts of a class: the histogram of points, and speed-ups with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from grader.insights.figures import Insights, SpeedGroup
from grader.render import wording
from grader.render.html.charts import WIDTHS, Linear, Logarithmic, Tick
from grader.render.speech import tell


class HistogramBar(NamedTuple):
    """A bar of a histogram, in pixels, and how many students it stands for."""

    x: float
    y: float
    width: float
    height: float
    number: int


class Histogram(NamedTuple):
    """What the template draws of points; lengths are pixels, `base` is where bars stand."""

    width: float
    height: float
    base: float
    bars: tuple[HistogramBar, ...]
    ticks: tuple[Tick, ...]
    description: str


class SpeedStrip(NamedTuple):
    """What the template draws of speed-ups, in pixels; `intervals` and `dots` are paths."""

    width: float
    height: float
    intervals: str
    dots: str
    reference: float
    axis: float
    ticks: tuple[Tick, ...]
    description: str


_BAR_HEIGHT = 130.0
_SIDE = 14.0


def histogram(found: Insights, width: float) -> Histogram:
    """Return how many students reached how many points, `width` pixels wide."""
    most = max(len(each.students) for each in found.bins) or 1
    scale = Linear(0.0, found.possible, _SIDE, width - _SIDE)
    base = _BAR_HEIGHT + 20
    bars = []
    for each in found.bins:
        left, right = scale.at(each.low), scale.at(each.high)
        height = round(_BAR_HEIGHT * len(each.students) / most, 1)
        size = round(right - left - 3, 1)
        bars.append(HistogramBar(left + 1.5, base - height, size, height, len(each.students)))
    return Histogram(
        width=width,
        height=base + 26,
        base=base,
        bars=tuple(bars),
        ticks=scale.ticks(10 if width > WIDTHS[1] else 5),
        description=tell("number-students-per-score-in-equal-steps", count=len(found.bins)),
    )


_TALLEST, _WIDEST_STEP = 420.0, 12.0


def strip(group: SpeedGroup, width: float) -> SpeedStrip:
    """Return every speed-up with its interval, the fastest on top, however many there are."""
    rows = group.rows
    step = min(_WIDEST_STEP, _TALLEST / len(rows))
    low = min([group.reference, *(row.low for row in rows)])
    high = max([group.reference, *(row.high for row in rows)])
    scale = Logarithmic(low / 1.1, high * 1.1, _SIDE, width - _SIDE)
    heights = [round(10 + step * (place + 0.5), 1) for place in range(len(rows))]
    axis = round(16 + step * len(rows), 1)
    spans = zip(rows, heights, strict=True)
    return SpeedStrip(
        width=width,
        height=axis + 26,
        intervals="".join(f"M{scale.at(row.low)} {y}H{scale.at(row.high)}" for row, y in spans),
        dots="".join(
            f"M{scale.at(row.speedup)} {y}h0" for row, y in zip(rows, heights, strict=True)
        ),
        reference=scale.at(group.reference),
        axis=axis,
        ticks=scale.ticks(8 if width > WIDTHS[1] else 5),
        description=tell(
            "dot-for-each-schedules-placed-by-speed",
            count=len(rows),
            reference=wording.factor(group.reference),
        ),
    )


_NAME = 60


def names_on_page(names: Mapping[str, str]) -> dict[str, str]:
    """Return what students are called on a page, given their names by their ids.

    Where two have one name, their ids are with it; who has none is called by the id.
    """
    shown = {id: _short(name) or _short(id) or "?" for id, name in names.items()}
    count = Counter(shown.values())
    return {
        id: name if count[name] == 1 else f"{name} ({_short(id) or '?'})"
        for id, name in shown.items()
    }


def _short(text: str) -> str:
    return wording.one_line(text)[:_NAME]
