"""What to do about errors of Python, NumPy, PyTorch and TVMScript that have one usual cause."""

from __future__ import annotations

from grader.execute.known_errors import KnownError
from grader.language import NOTHING, Text, say

_OF_NONE = say(
    "What stands before the dot is None there, as the bias of a layer without one is: test it with"
    " `is None` first."
)
_NOT_WELL_FORMED = say(
    "TVM found a fault in the module and does not say where. One usual cause: a call in `main`"
    " whose arguments have another order, or other shapes, than the function that is called."
)


def advice_on_python(known: KnownError) -> Text:
    """Return what to do about such an error; empty for other ones."""
    if known.kind == "product_shapes":
        return _advice_on_product(known.numbers)
    if known.kind == "index_beyond":
        axis, size = known.numbers
        return say(
            "Axis {axis} has the items 0 to {last}: compare which index stands there, and where its"
            " loop ends.",
            axis=axis,
            last=size - 1,
        )
    if known.kind == "of_none":
        return _OF_NONE
    return _NOT_WELL_FORMED if known.kind == "not_well_formed" else NOTHING


def _advice_on_product(shapes: tuple[int, ...]) -> Text:
    columns, other_rows, other_columns = shapes
    if columns == other_columns:
        return say(
            "Transpose the second matrix: the first has {columns} columns, and so many rows the"
            " second one needs. A linear layer computes x @ weight.T.",
            columns=columns,
        )
    return say(
        "The first matrix has {columns} columns and the second {rows} rows: for a product, both"
        " numbers must be the same.",
        columns=columns,
        rows=other_rows,
    )
