"""A diagnosis on a terminal: a module's steps beside PyTorch, and an image with its scores."""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.language import in_a_row
from grader.render import wording
from grader.render.findings import reading
from grader.render.pieces import STYLES, mark, plain_table
from grader.render.speech import tell
from grader.report import Diagnosis, Sample, Step, StepStatus

_SHADES, _ASCII_SHADES = " ░▒▓█", " .:*#"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY = struct.pack(">BBBBB", 8, 0, 0, 0, 0)
MOST_EXTENT = 64
"""Lines and columns of pixels that a picture has at most."""

Pixels = tuple[bytes, ...]


class Picture:
    """Draws the lines of pixels: 0 is a space, 255 the darkest shade."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shades = _ASCII_SHADES if options.ascii_only else _SHADES
        for upper, lower in zip(self.pixels[::2], self.pixels[1::2], strict=False):
            means = ((one + other) // 2 for one, other in zip(upper, lower, strict=True))
            yield Text("".join(shades[(4 * mean + 200) // 255] for mean in means), no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(len(self.pixels[0]), len(self.pixels[0]))


def read_picture(image: str) -> Pixels | None:
    """Return the lines of a PNG in base64, None where it is not as this grader writes them.

    That is: eight bits of grey, not interlaced, no line filtered, at most `MOST_EXTENT` each way.
    """
    try:
        png = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        return None
    if png[:8] != _SIGNATURE or png[12:16] != b"IHDR" or png[24:29] != _GREY:
        return None
    columns, lines = struct.unpack(">II", png[16:24])
    if not (2 <= columns <= MOST_EXTENT and 2 <= lines <= MOST_EXTENT):
        return None
    length = lines * (columns + 1)
    content = _inflated(png, length)
    starts = range(0, length, columns + 1)
    if len(content) != length or any(content[start] for start in starts):
        return None
    return tuple(content[start + 1 : start + 1 + columns] for start in starts)


def _inflated(png: bytes, length: int) -> bytes:
    """Return at most `length` bytes of the first chunk of pixels; none where it is damaged."""
    size = int.from_bytes(png[33:37], "big")
    if png[37:41] != b"IDAT":
        return b""
    try:
        return zlib.decompressobj().decompress(png[41 : 41 + size], length)
    except zlib.error:
        return b""


_WITH_COLUMNS = 64
_WITH_REMARKS = 52
_WITH_PICTURE = 74
"""Columns that a page must have for steps in columns, and for remarks and a picture beside scores.
"""


def diagnosis_section(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    """Yield the steps, what their marks mean, and where the course explains it."""
    yield Text(tell("step-by-step-beside-pytorch"), style="dim")
    yield _Steps(diagnosis)
    yield _Legend(tuple(each.status for each in _shown(diagnosis)))
    if diagnosis.link:
        yield Text(reading(wording.one_line(diagnosis.link)))


def _shown(diagnosis: Diagnosis) -> tuple[Step, ...]:
    return diagnosis.steps[_first(diagnosis) : diagnosis.wrong + wording.STEPS_AFTER + 1]


def _first(diagnosis: Diagnosis) -> int:
    """Return the place of the first step that is shown. One alone is never left out."""
    first = max(0, diagnosis.wrong - wording.STEPS_BEFORE)
    return 0 if first == 1 else first


class _Legend:
    def __init__(self, statuses: tuple[StepStatus, ...]) -> None:
        self._statuses = [each for each in wording.STATUSES if each in statuses]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        meanings = (
            f"{mark(each, options)} {tell(wording.STATUSES[each])}" for each in self._statuses
        )
        yield Text(tell(in_a_row(meanings)), style="dim")


class _Steps:
    """A row for each step: its mark, what is computed, its shape, and what PyTorch has there.

    On a narrow page what would be in columns follows one after the other.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._diagnosis = diagnosis

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        diagnosis = self._diagnosis
        columns = options.max_width >= _WITH_COLUMNS
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=1)
        for _ in range(3 if columns else 1):
            grid.add_column(overflow="fold")
        first, steps = _first(diagnosis), _shown(diagnosis)
        _leave_out(grid, first)
        for place, step in enumerate(steps, start=first):
            cells = self._cells(step, place)
            cell = Text(mark(step.status, options), style=f"bold {STYLES[step.status]}")
            grid.add_row(cell, *(cells if columns else [Text().join(cells)]))
        _leave_out(grid, len(diagnosis.steps) - first - len(steps))
        yield grid

    def _cells(self, step: Step, place: int) -> list[Text]:
        is_wrong = place == self._diagnosis.wrong
        style = "dim" if step.status == "follows" else "bold" if is_wrong else ""
        beside = _pytorch(self._diagnosis, step) if is_wrong else wording.one_line(step.layer)
        return [
            Text(_assignment(step) + "  ", style=style),
            Text(wording.shape(step.shape) + "  ", style=style),
            Text(beside, style="bold" if is_wrong else "dim"),
        ]


def _leave_out(grid: Table, count: int) -> None:
    if count > 0:
        grid.add_row("", Text(tell("and-more-2", count=count), style="dim"))


def _assignment(step: Step) -> str:
    variable, callee = wording.one_line(step.variable), wording.one_line(step.callee)
    return f"{variable} = {callee}" if callee and variable else variable or callee


def _pytorch(diagnosis: Diagnosis, step: Step) -> str:
    layer = wording.layer_there(diagnosis, step)
    return tell("pytorch", layer=layer) if layer else ""


# --- an image and its scores ----------------------------------------------------------------------


def sample_section(sample: Sample) -> Iterator[RenderableType]:
    """Yield what an image shows and is taken for, its picture, and the scores of its classes."""
    yield Text(wording.taken_for(sample))
    yield Padding(_Scores(sample), (1, 0, 0, 0))


class _Scores:
    """The scores of an image side by side; the picture beside them on a wide page."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pixels = read_picture(self._sample.image)
        if pixels is None:
            yield _table(self._sample, options.max_width)
        elif options.max_width < _WITH_PICTURE:
            yield Group(Picture(pixels), Text(), _table(self._sample, options.max_width))
        else:
            grid = Table.grid(padding=(0, 3))
            grid.add_row(Picture(pixels), _table(self._sample, options.max_width))
            yield grid


def _table(sample: Sample, width: int) -> Table:
    table = plain_table(tell("class"), padding=(0, 1))
    remarks = width >= _WITH_REMARKS
    table.add_column(tell("yours"), justify="right", no_wrap=True)
    table.add_column("PyTorch", justify="right", no_wrap=True)
    if remarks:
        table.add_column("", overflow="fold", style="dim")
    pairs = zip(sample.scores, sample.pytorch_scores, strict=False)
    for place, (score, wanted) in enumerate(pairs):
        cells = [
            Text(wording.class_name(sample, place)),
            Text(_number(score), style="bold" if place == sample.predicted else ""),
            Text(_number(wanted), style="bold" if place == sample.pytorch else ""),
            Text(tell("right-class") if place == sample.label else ""),
        ]
        table.add_row(*(cells if remarks else cells[:3]))
    return table


def _number(score: float | None) -> str:
    """Return a score with four decimals, a large one with six digits."""
    if score is None:
        return tell("not-finite")
    return f"{score:.4f}" if abs(score) < 1000 else f"{score:.6g}"
