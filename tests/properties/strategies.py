"""Bytes and documents that nobody would write: arbitrary ones, and valid ones with damage.

Documents are damaged in their text, where keys may be doubled and nesting is without end, and in
their bytes. All strategies take what is valid as examples to begin from.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from grader.messages.frames import Array

DEPTHS = (10, 900, 1100, 5000, 100_000)
"""How deep nesting goes: below, around and far above what parsers bear."""

NUMBERS = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30, 1e308, -0.0,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip

STRINGS = (
    "",
    "\0",
    "\ud83d",
    "\udcff",
    "\U0001f600",
    "é",
    "main",
    "ffi.String",
    "NaN",
    "x" * 70_000,
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.integers(-3, 40),
    st.sampled_from(STRINGS),
    st.text(string.printable, max_size=8),
)

json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)
"""Arbitrary JSON, with the numbers and strings that are hard to bear."""


# --- bytes ----------------------------------------------------------------------------------------


@st.composite
def damaged_bytes(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """Valid bytes with a few of them changed, cut out, doubled, or written over by others."""
    content = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        at = draw(st.integers(0, len(content) - 1))
        size = draw(st.sampled_from((1, 1, 2, 8, 64)))
        how = draw(st.sampled_from(("flip", "cut", "double", "write", "end")))
        if how == "flip":
            content[at] ^= draw(st.integers(1, 255))
        elif how == "cut":
            del content[at : at + size]
        elif how == "double":
            content[at:at] = content[at : at + size]
        elif how == "write":
            content[at : at + size] = draw(st.binary(max_size=16))
        else:
            del content[at:]
    return bytes(content)


# --- documents of JSON ----------------------------------------------------------------------------


def places(document: Any, limit: int = 5000) -> list[tuple[Any, Any]]:
    """Return containers and keys of (some of) the places where a document has a value."""
    found: list[tuple[Any, Any]] = []
    pending = [document]
    while pending and len(found) < limit:
        value = pending.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        found += [(value, key) for key in keys]
        pending += [value[key] for key in keys if isinstance(value[key], dict | list)]
    return found


@st.composite
def damaged_json(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """A valid document with values replaced, left out, moved, doubled or nested too deep."""
    document = [json.loads(draw(st.sampled_from(valid)))]
    raw: dict[str, str] = {}
    for number in range(draw(st.integers(1, 3))):
        found = places(document)
        # Positions come from a generator of their own: a large document would use up all choices.
        container, key = random.Random(draw(st.integers(0, 2**32))).choice(found)
        how = draw(st.sampled_from(("replace", "replace", "nudge", "remove", "move", "raw")))
        if how == "replace":
            container[key] = draw(json_values)
        elif how == "nudge" and isinstance(container[key], int):
            container[key] += draw(st.sampled_from((-2, -1, 1, 2)))
        elif how == "remove" and container is not document:
            del container[key]
        elif how == "move":
            other, place = random.Random(draw(st.integers(0, 2**32))).choice(found)
            container[key] = json.loads(json.dumps(other[place]))
        elif how == "raw":
            mark = f"RAW{number}"
            raw[f'"{mark}"'] = draw(raw_values)
            container[key] = mark
    text = json.dumps(document[0] if document else None, separators=(",", ":"))
    for mark, value in raw.items():
        text = text.replace(mark, value)
    return _double_key(draw, text).encode("utf-8", "surrogatepass")


def _nested(depth: int, opening: str) -> str:
    closing = "]" if opening == "[" else "}"
    return opening * depth + "0" + closing * depth


raw_values = st.one_of(
    st.builds(_nested, st.sampled_from(DEPTHS), st.sampled_from(("[", '{"a":'))),
    st.sampled_from(
        ("9" * 5000, "-" + "9" * 400 + ".5", "1e999999", "NaN", "Infinity", "-Infinity")
    ),
    st.sampled_from(('"\\ud83d"', '"\\udc00\\ud800"', '"\\u0000"', '{"a":1,"a":2}', "", "]", '"')),
)
"""Texts in the place of a value that no JSON library would write."""


def _double_key(draw: st.DrawFn, text: str) -> str:
    """Write the first key of some object twice, now and then."""
    if draw(st.integers(0, 5)):
        return text
    starts = [at for at, mark in enumerate(text[:100_000]) if mark == "{"]
    if not starts:
        return text
    at = draw(st.sampled_from(starts)) + 1
    end = text.find(":", at)
    return text if end < 0 else f"{text[:at]}{text[at:end]}:{draw(raw_values)},{text[at:]}"


def documents(valid: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Everything that a decoder of JSON may meet."""
    return st.one_of(
        st.binary(max_size=200),
        json_values.map(lambda value: json.dumps(value).encode()),
        damaged_bytes(valid),
        damaged_json(valid),
        damaged_json(valid),
    )


# --- messages of MessagePack ----------------------------------------------------------------------


@st.composite
def damaged_messages(draw: st.DrawFn, valid: Sequence[bytes]) -> bytes:
    """A valid message with fields replaced by arbitrary values, left out, or added."""
    document = [msgspec.msgpack.decode(draw(st.sampled_from(valid)))]
    for _ in range(draw(st.integers(1, 3))):
        found = places(document)
        container, key = draw(st.sampled_from(found))
        container[key] = draw(st.one_of(packable, st.binary(max_size=20)))
    return msgspec.msgpack.encode(document[0])


def _is_packable(value: object) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return False
    return True


packable = json_values.filter(_is_packable)
"""Arbitrary values of those that MessagePack can carry."""


def messages(valid: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Everything that a decoder of messages may meet."""
    nested = st.builds(
        lambda depth, opening: opening * depth,
        st.sampled_from(DEPTHS),
        st.sampled_from((b"\x91", b"\x81\xa1x", b"\xdd\x00\x00\x00\x01")),
    )
    return st.one_of(st.binary(max_size=200), nested, damaged_bytes(valid), damaged_messages(valid))


# --- arrays ---------------------------------------------------------------------------------------

_SIZES = {"float32": 4, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}


@st.composite
def arrays(draw: st.DrawFn, likely: Sequence[tuple[int, ...]]) -> Array:
    """An array as a message carries it: of a likely shape or any, and not always whole."""
    dtype = draw(st.sampled_from(sorted(_SIZES)))
    extents = st.sampled_from((0, 0, 1, 1, 2, 3, 4, 16, 17, 2**31, 2**62, -1))
    shape = draw(st.sampled_from(likely) | st.lists(extents, max_size=5).map(tuple))
    size = int(np.prod([min(max(extent, 0), 2**12) for extent in shape], dtype=object))
    filling = draw(
        st.binary(min_size=1, max_size=9) | st.sampled_from((b"\0", b"\xff", b"\x7f\x80"))
    )
    length = min(size, 2**12) * _SIZES[dtype] + draw(st.sampled_from((0, 0, 0, 0, 1, -4)))
    return Array(
        dtype=dtype,
        shape=shape,
        data=(filling * (max(length, 0) // len(filling) + 1))[: max(length, 0)],
    )


Decoder = Callable[[Any], object]
"""Takes what a strategy makes, and raises only what it may."""
