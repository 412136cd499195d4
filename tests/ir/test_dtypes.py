"""A data type means the same to the proof as to TVM, which has a parser of its own."""

from __future__ import annotations

from itertools import product

import pytest
import tvm

from grader.ir.dtypes import parse
from grader.ir.names import is_data_type

KINDS = ("int", "uint", "float", "bfloat")
BITS = ("0", "00", "1", "4", "08", "8", "016", "24", "32", "64", "65", "128", "255", "256", "264")


def read_by_tvm(text: str) -> tuple[int, int] | None:
    """Return bits and lanes, None where TVM refuses the text."""
    try:
        kind = tvm.DataType(text)
    except ValueError:
        return None
    return int(kind.bits), int(kind.lanes)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_and_lanes_are_those_that_tvm_reads(kind: str) -> None:
    texts = [f"{kind}{bits}{lanes}" for bits, lanes in product(BITS, ("", "x1", "x03", "x4", "x0"))]
    accepted = [text for text in texts if is_data_type(text)]
    assert f"{kind}8x4" in accepted
    for text in accepted:
        found = parse(text)
        assert read_by_tvm(text) in (None, (found.bits, found.lanes)), text


def test_a_vector_of_scalable_length_is_no_data_type() -> None:
    assert -4 == tvm.DataType("float32xvscalex4").lanes
    assert not is_data_type("float32xvscalex4")
