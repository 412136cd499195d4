"""A data type means the same to the proof as to TVM, which has a parser of its own."""

from __future__ import annotations

from itertools import product

import pytest
import tvm

from grader.ir.dtypes import parse
from grader.ir.names import is_data_type

KINDS = ("int", "uint", "float", "bfloat")
VARIANTS = ("", "_e4m3fn", "_e5m2", "_e8m0fnu", "_e4m3b11fnuz", "_x", "_x4")
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
    parts = product(BITS, VARIANTS, ("", "x1", "x03", "x4", "x256", "x0"))
    texts = [f"{kind}{bits}{variant}{lanes}" for bits, variant, lanes in parts]
    accepted = [text for text in texts if is_data_type(text)]
    assert f"{kind}8x4" in accepted
    for text in accepted:
        found = parse(text)
        assert read_by_tvm(text) in (None, (found.bits, found.lanes)), text


@pytest.mark.parametrize("text", ["boolx3", "boolx256", "float8_e4m3fnx256", "float4_e2m1fnx3"])
def test_lanes_are_no_part_of_a_name(text: str) -> None:
    assert read_by_tvm(text) == (parse(text).bits, parse(text).lanes)


def test_a_vector_of_scalable_length_is_no_data_type() -> None:
    assert -4 == tvm.DataType("float32xvscalex4").lanes
    assert not is_data_type("float32xvscalex4")
