"""What the page shows of a measured schedule: sentences, numbers, drawings and their axes.

Every drawing is made twice, for wide pages and for phones, so that its letters stay as large as
those around it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from grader.insights.figures import Insights, SpeedGroup
from grader.language import say
from grader.render import wording
from grader.render.html.sections import share
from grader.render.speech import tell
from grader.render.timings import StepsView, how_measured, roofline_rows, speed_sentence, steps_view
from grader.report import ShapeTiming, Timing

_STEPS = (1, 2, 5, 10)


class Tick(NamedTuple):
    """A number at an axis, and where it is, in pixels."""

    place: float
    text: str


class Linear(NamedTuple):
    """Values from `low` to `high`, at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; beyond the ends it is that of the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + max(0.0, min(1.0, share)) * (self.end - self.start), 1)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Return at most `most` round numbers."""
        step = _step((self.high - self.low) / most)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        numbers = (each * step for each in range(first, last + 1))
        return tuple(Tick(self.at(number), f"{number:,.{digits}f}") for number in numbers)


class Logarithmic(NamedTuple):
    """Positive values from `low` to `high`, at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; beyond the ends it is that of the end."""
        logs = [math.log(each) for each in (self.low, self.high, value)]
        return Linear(logs[0], logs[1], self.start, self.end).at(logs[2])

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Return powers of ten, with 2 and 5 between them where there are few."""
        for factors in ((1, 2, 5), (1, 3), (1,)):
            numbers = self._numbers(factors)
            if len(numbers) <= most:
                break
        else:
            numbers = numbers[:: math.ceil(len(numbers) / most)]
        return tuple(Tick(self.at(number), f"{number:,.6g}") for number in numbers)

    def _numbers(self, factors: Sequence[int]) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        numbers = (factor * 10.0**power for power in range(first, last + 1) for factor in factors)
        return [number for number in numbers if self.low <= number <= self.high]


def around(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Return a range that holds values, and on both sides a share of it more."""
    low, high = min(values), max(values)
    more = margin * (high - low) or margin * abs(high) or margin
    return low - more, high + more


def _step(least: float) -> float:
    """Return the smallest round step that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))


WIDTHS = (700.0, 330.0)
"""Pixels: of the column of a wide page, and of a phone less its margins."""

_DOT = 5.0
_STRIP = 74.0
_HEAD = 24.0
_SIDE = 14.0
_EDGE = 0.01
"""Share of the rounds on either side that are drawn at the edge: one disturbed round would squeeze
all others into a line."""

_ROOF_HEIGHT = 300.0
_LETTERS = 15.0
_KINDS = ("unscheduled", "yours", "reference", "library")


class Strip(NamedTuple):
    """The portions at one batch: a dot for each, the estimate, and the reference's."""

    title: str
    dots: str
    median: float
    reference: float
    top: float
    base: float


class Distribution(NamedTuple):
    """The ratios of all rounds, above an axis. `band` is the interval of the estimate."""

    width: float
    height: float
    strips: tuple[Strip, ...]
    band: tuple[float, float]
    estimate: float
    axis: float
    ticks: tuple[Tick, ...]
    outside: int
    description: str


class Mark(NamedTuple):
    """A function on the roofline; its label is empty where another batch's has it."""

    kind: str
    x: float
    y: float
    label: str
    label_y: float
    title: str


class Roofline(NamedTuple):
    """What is reached of what can be, over the operations for each byte."""

    width: float
    height: float
    roof: str
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float
    bottom: float
    description: str


def distributions(timing: Timing) -> tuple[Distribution, ...]:
    """Return the drawing in every width; none where numbers are missing or make no sense."""
    shapes = [shape for shape in timing.shapes[:8] if shape.ratios]
    numbers = [timing.ci_low, timing.ci_high, timing.speedup]
    numbers += [number for shape in shapes for number in (shape.speedup, shape.reference_speedup)]
    if not shapes or min(numbers) <= 0:
        return ()
    return tuple(_distribution(timing, shapes, width) for width in WIDTHS)


def _distribution(timing: Timing, shapes: Sequence[ShapeTiming], width: float) -> Distribution:
    edges = [edge for shape in shapes for edge in _inner(shape.ratios)]
    references = [shape.reference_speedup for shape in shapes]
    low, high = around([*edges, *references, timing.ci_low, timing.ci_high], 0.06)
    scale = Linear(low, high, _SIDE, width - _SIDE)
    strips = tuple(_strip(shape, scale, _STRIP * row) for row, shape in enumerate(shapes))
    axis = _STRIP * len(shapes) + 8
    left, right = scale.at(timing.ci_low), scale.at(timing.ci_high)
    outside = sum(not low <= ratio <= high for shape in shapes for ratio in shape.ratios)
    return Distribution(
        width=width,
        height=axis + 26,
        strips=strips,
        band=(left, round(max(right - left, 1.0), 1)),
        estimate=scale.at(timing.speedup),
        axis=axis,
        ticks=scale.ticks(8 if width > WIDTHS[1] else 5),
        outside=outside,
        description=tell(
            "dot-for-each-slices-measurement-placed",
            slices=sum(len(shape.ratios) for shape in shapes),
            speedup=wording.factor(timing.speedup),
            low=wording.factor(timing.ci_low),
            high=wording.factor(timing.ci_high),
        ),
    )


def _inner(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the ratios between which all but a few of them are."""
    ordered = sorted(ratios)
    cut = int(_EDGE * len(ordered))
    return ordered[cut], ordered[-1 - cut]


def _strip(shape: ShapeTiming, scale: Linear, top: float) -> Strip:
    base = top + _STRIP - 4
    return Strip(
        title=tell(
            "batch-reference",
            batch=shape.batch,
            speedup=wording.factor(shape.speedup),
            reference=wording.factor(shape.reference_speedup),
        ),
        dots=_dots([scale.at(ratio) for ratio in shape.ratios], base),
        median=scale.at(shape.speedup),
        reference=scale.at(shape.reference_speedup),
        top=top + _HEAD,
        base=base,
    )


def _dots(places: Sequence[float], base: float) -> str:
    """Return a path of dots (lines of no length with round ends), near ones stacked."""
    columns = Counter(round(place / _DOT) for place in places)
    step = min(_DOT, (_STRIP - _HEAD - 8) / max(columns.values()))
    return "".join(
        f"M{column * _DOT:g} {base - _DOT / 2 - step * row:.1f}h0"
        for column, count in sorted(columns.items())
        for row in range(count)
    )


def rooflines(timing: Timing) -> tuple[Roofline, ...]:
    """Return the drawing in every width; none where numbers are missing or make no sense."""
    shapes = [shape for shape in timing.shapes[:8] if shape.flops > 0 and shape.bytes > 0]
    times = [row.microseconds for shape in shapes for row in _rows(shape)]
    if not times or min(*times, timing.peak_gflops, timing.bandwidth_gbs) <= 0:
        return ()
    return tuple(_roofline(timing, shapes, width) for width in WIDTHS)


class _Row(NamedTuple):
    kind: str
    name: str
    microseconds: float


def _rows(shape: ShapeTiming) -> list[_Row]:
    if not _is_timed(shape):
        return [_Row(kind, "", 0.0) for kind in _KINDS]
    pairs = zip(_KINDS, roofline_rows(shape), strict=False)
    return [_Row(kind, row.name, row.microseconds) for kind, row in pairs]


def _roofline(timing: Timing, shapes: Sequence[ShapeTiming], width: float) -> Roofline:
    peak, bandwidth = timing.peak_gflops, timing.bandwidth_gbs
    intensities = [shape.flops / shape.bytes for shape in shapes]
    rates = [_rate(shape, row) for shape in shapes for row in _rows(shape)]
    ridge = peak / bandwidth
    left, bottom = 46.0, _ROOF_HEIGHT - 34
    x = Logarithmic(min([ridge, *intensities]) / 4, max([ridge, *intensities]) * 8, left, width - 8)
    y = Logarithmic(min(rates) / 2, max([peak, *rates]) * 1.5, bottom, 12.0)
    start = max(x.low, y.low / bandwidth)
    roof = f"M{x.at(start)} {y.at(start * bandwidth)}L{x.at(ridge)} {y.at(peak)}H{width - 8:g}"
    return Roofline(
        width=width,
        height=_ROOF_HEIGHT,
        roof=roof,
        marks=tuple(_marks(shapes, x, y)),
        x_ticks=x.ticks(6),
        y_ticks=y.ticks(6),
        left=left,
        bottom=bottom,
        description=tell(
            "operations-second-over-operations-for-each-byte", peak=peak, bandwidth=bandwidth
        ),
    )


def _rate(shape: ShapeTiming, row: _Row) -> float:
    """Return GFLOP/s."""
    return max(shape.flops / row.microseconds / 1000, 1e-9)


def _marks(shapes: Sequence[ShapeTiming], x: Logarithmic, y: Logarithmic) -> list[Mark]:
    """Return the marks of all batches; the labels stand at that with the most operations a byte."""
    labelled = max(shapes, key=lambda shape: shape.flops / shape.bytes)
    marks = []
    for shape in shapes:
        place = x.at(shape.flops / shape.bytes)
        rows = sorted(_rows(shape), key=lambda row: _rate(shape, row), reverse=True)
        heights = [y.at(_rate(shape, row)) for row in rows]
        for row, height, label_y in zip(rows, heights, _apart(heights), strict=True):
            rate = f"{_rate(shape, row):,.1f} GFLOP/s"
            title = tell("batch-title", batch=shape.batch) + f": {row.name}, {rate}"
            label = row.name if shape is labelled else ""
            marks.append(Mark(row.kind, place, height, label, label_y, title))
    return marks


def _apart(heights: Sequence[float]) -> list[float]:
    """Return places for labels from above: none nearer to the one before than a line of letters."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + _LETTERS) if places else height)
    return places


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
    steps: StepsView | None


def speed_view(timing: Timing) -> SpeedView:
    """Return what the page shows of a measured schedule."""
    drawn = distributions(timing)
    is_measured = bool(timing.shapes) and min(timing.peak_gflops, timing.bandwidth_gbs) > 0
    return SpeedView(
        sentence=speed_sentence(timing),
        measured=how_measured(timing) if is_measured else "",
        notes=tuple(map(tell, timing.notes)),
        shapes=tuple(shape_views(timing)),
        distributions=drawn,
        rooflines=rooflines(timing),
        outside=_outside(drawn[0].outside) if drawn else "",
        steps=None if timing.steps is None else steps_view(timing.steps),
    )


def shape_views(timing: Timing) -> Iterator[ShapeView]:
    """Yield a table for each batch that has times."""
    for shape in timing.shapes[:8]:
        if _is_timed(shape):
            yield _shape_view(shape)


def _outside(count: int) -> str:
    one = say("round-lies-outside-drawing-and-drawn")
    many = say("rounds-lie-outside-drawing-and-drawn")
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
            percent=f"{100 * shape.floor_us / row.microseconds:.0f}%",
        )
        for row in roofline_rows(shape)
    )
    return ShapeView(tell("batch-title", batch=shape.batch), rows)


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
