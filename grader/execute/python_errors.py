"""What to do about errors of Python, NumPy, PyTorch and TVMScript that have one usual cause."""

from grader.execute.known_errors import KnownError
from grader.language import NOTHING, Text, say

_OF_NONE = say("what-stands-before-dot-none-there")
_NOT_WELL_FORMED = say("tvm-found-fault-in-module-and-does")


def advice_on_python(known: KnownError) -> Text:
    """Return what to do about such an error; empty for other ones."""
    if known.kind == "product_shapes":
        return _advice_on_product(known.numbers)
    if known.kind == "index_beyond":
        axis, size = known.numbers
        return say("axis-has-items-0-compare-which-index", axis=axis, last=size - 1)
    if known.kind == "of_none":
        return _OF_NONE
    return _NOT_WELL_FORMED if known.kind == "not_well_formed" else NOTHING


def _advice_on_product(shapes: tuple[int, ...]) -> Text:
    columns, other_rows, other_columns = shapes
    if columns == other_columns:
        return say("transpose-second-matrix-first-has-columns", columns=columns)
    return say("first-matrix-has-columns-and-second-rows", columns=columns, rows=other_rows)
