"""Which strings pass as names, symbols and data types, and how messages show them."""

from __future__ import annotations

import re

NAME_LIMIT = 256
"""Longest name of a variable, a block or a function, in characters."""

STRING_LIMIT = 2**16
"""Longest string of any kind, in characters: annotations may hold a page of text."""

SHOWN = 60
"""Longest part of a foreign string that a message repeats, in characters."""

_SYMBOL = re.compile(r"[A-Za-z0-9_.]{1,200}", re.ASCII)
_FORBIDDEN = frozenset("\"'`\\")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Of `float0` TVM makes a float32, and of `bfloat0` a bfloat16: so no bits are 0. A variant has
# no x: `float8_e4m3fnx256` has 256 lanes, and was read as one number.
_DATA_TYPE = re.compile(
    r"(?:void|handle|bool|(?:u?int|float|bfloat)[1-9][0-9]{0,2}(?:_[a-wyz0-9]{1,12})?)"
    r"(?:x([0-9]{1,4}))?",
    re.ASCII,
)


def is_name(text: str) -> bool:
    """Say whether a string may name a variable or a block: printable, without quotes."""
    return len(text) <= NAME_LIMIT and text.isprintable() and _FORBIDDEN.isdisjoint(text)


def is_function_name(text: str) -> bool:
    """Say whether a string may name a function: as above, not empty. TVM has `<lambda>`."""
    return bool(text) and is_name(text)


def is_symbol(text: str) -> bool:
    """Say whether a string may name an operator or another entry of TVM's registries."""
    return _SYMBOL.fullmatch(text) is not None


def is_data_type(text: str) -> bool:
    """Say whether a string is a data type: `float32`, `uint8x4`, `float8_e4m3fn`, `handle`."""
    return len(text) <= 32 and _DATA_TYPE.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Say whether a string may be in a module at all: bounded, and without control characters."""
    return len(text) <= STRING_LIMIT and _CONTROL.search(text) is None


def shown(text: str) -> str:
    """Return a foreign string as a message repeats it: short, printable, between backquotes."""
    clean = "".join(c for c in text[: SHOWN + 1] if c.isprintable() and c != "`")
    return f"`{clean[:SHOWN]}…`" if len(text) > SHOWN else f"`{clean}`"
