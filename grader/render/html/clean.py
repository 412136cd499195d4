"""A report made fit for a page: every text printable and bounded, every number finite.

This goes through the whole document once, whatever fields it has, so that no part of the page has
to think of it. Escaping for HTML is the templates' matter.
"""

import itertools
import math
from datetime import datetime
from typing import Any, Final

import msgspec

from grader.language import Text, foreign
from grader.render import wording
from grader.render.speech import tell
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Check,
    Diagnosis,
    Listing,
    Paragraph,
    Part,
    Report,
    Sample,
    Scripts,
    image_size,
)

TEXT_LENGTH: Final = 500
"""Characters of a text that nothing else is said of."""

LENGTHS: Final[dict[tuple[type[Any], str], int]] = {
    (Cell, "source"): 40_000,
    (CellOutput, "text"): 10_000,
    (Scripts, "before"): 64_000,
    (Scripts, "after"): 64_000,
    (Check, "reason"): 4_000,
    (Check, "hint"): 4_000,
    (CellProblem, "message"): 1_000,
    (CellProblem, "hint"): 1_000,
    (Diagnosis, "message"): 4_000,
    (Diagnosis, "advice"): 4_000,
    (Report, "notes"): 4_000,
    (Paragraph, "text"): 4_000,
    (Listing, "code"): 64_000,
}
"""Characters of other texts, by where they stand."""

ITEMS: Final = 2_000
"""Most items of a list. A notebook that is graded has at most so many cells."""

PARTS: Final = 100
"""Most parts that are shown: an assignment has a handful."""

CELLS_LENGTH: Final = 4_000_000
"""Characters of all cells together: there is no room for more on a page."""

_LARGEST: Final = 1e12
_IMAGE_LENGTH: Final = 1_400_000


def cleaned(report: Report) -> Report:
    """Return a report of which everything may be shown.

    Texts are in the language that is spoken. What cannot be seen is taken out of them, what is too
    long ends in an ellipsis. Images that are
    not PNGs are replaced: an output by a sentence, that of a sample by nothing.
    """
    few = msgspec.structs.replace(report, parts=report.parts[:PARTS], cells=_first_cells(report))
    found: Report = _struct(few)
    return found


def cleaned_part(part: Part) -> Part:
    """Return a part by itself of which everything may be shown."""
    found: Part = _struct(part)
    return found


def length_of(cell: Cell) -> int:
    """Return the characters of a cell and of what it has put out."""
    return len(cell.source) + sum(len(output.text) for output in cell.outputs)


def _first_cells(report: Report) -> tuple[Cell, ...]:
    """Return the cells that there may be room for; an image has the size of its text."""
    ends = itertools.accumulate(map(length_of, report.cells))
    count = sum(end <= CELLS_LENGTH for end in ends)
    return report.cells[: max(count, 1)]


def _struct(value: Any) -> Any:
    kind = type(value)
    if kind is CellOutput and value.kind == "image":
        return _image(value)
    fields = {
        field: _value(getattr(value, field), LENGTHS.get((kind, field), TEXT_LENGTH))
        for field in kind.__struct_fields__
        if (kind, field) != (Sample, "image")
    }
    if kind is Cell:
        fields["source"] = _source(value.source)
    if kind is Sample:
        fields["image"] = value.image if _is_image(value.image) else ""
    return kind(**fields)


def _value(value: Any, length: int) -> Any:
    if isinstance(value, Text):
        return foreign(_value(tell(value), length))
    if isinstance(value, str):
        is_fit = len(value) <= length and value.isprintable()
        return value if is_fit else wording.plain(value, length)
    if isinstance(value, bool | datetime) or value is None:
        return value
    if isinstance(value, float):
        return max(-_LARGEST, min(_LARGEST, value)) if math.isfinite(value) else 0.0
    if isinstance(value, int):
        return max(-(10**15), min(10**15, value))
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, dict):
        pairs = list(value.items())[:ITEMS]
        return {_value(key, length): _value(item, length) for key, item in pairs}
    assert isinstance(value, tuple), "a report has no other kinds of values"
    return tuple(_value(item, length) for item in value[:ITEMS])


def _source(source: str) -> str:
    """Keep empty lines at the top, by which lines are counted."""
    empty = len(source) - len(source.lstrip("\n"))
    return "\n" * min(empty, 1_000) + wording.plain(source, LENGTHS[Cell, "source"])


def _image(output: CellOutput) -> CellOutput:
    if _is_image(output.text):
        return output
    return CellOutput("result", tell("image-that-cannot-shown"))


def _is_image(text: str) -> bool:
    return len(text) <= _IMAGE_LENGTH and image_size(text) is not None
