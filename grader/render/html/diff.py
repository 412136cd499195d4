"""What a schedule changed in a function: lines that are gone, that are new, and that stayed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

CONTEXT = 3
"""Lines that are shown before and after a change."""

MOST_LINES = 1_500
"""Longest text that is compared, in lines: comparing takes the product of both lengths."""

_TYPED_NUMBER = re.compile(r"\bT\.int(?:32|64)\((-?\d+)\)")


class Block(NamedTuple):
    """Lines of one kind. What is "folded" is the same in both, and far from any change."""

    kind: Literal["same", "folded", "gone", "new"]
    lines: tuple[str, ...]


def compare(before: str, after: str) -> tuple[Block, ...]:
    """Return the blocks of the difference between two functions in TVMScript."""
    old, new = _readable(before), _readable(after)
    codes = SequenceMatcher(None, old, new).get_opcodes()
    blocks: list[Block] = []
    for place, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            is_first, is_last = place == 0, place == len(codes) - 1
            blocks += _unchanged(tuple(old[i1:i2]), is_first, is_last)
        else:
            blocks += [Block("gone", tuple(old[i1:i2]))] if i2 > i1 else []
            blocks += [Block("new", tuple(new[j1:j2]))] if j2 > j1 else []
    return tuple(blocks)


def _unchanged(lines: tuple[str, ...], is_first: bool, is_last: bool) -> Iterator[Block]:
    """Yield lines that are the same: context as it is, what is far from changes folded."""
    head = 0 if is_first else CONTEXT
    tail = 0 if is_last else CONTEXT
    if len(lines) <= head + tail + 1:
        yield Block("same", lines)
        return
    if head:
        yield Block("same", lines[:head])
    yield Block("folded", lines[head : len(lines) - tail])
    if tail:
        yield Block("same", lines[len(lines) - tail :])


def _readable(script: str) -> list[str]:
    """Return lines without what widens them and says little: types of numbers, deep indents."""
    lines = _TYPED_NUMBER.sub(r"\1", script).split("\n")[:MOST_LINES]
    return [line[(len(line) - len(line.lstrip(" "))) // 2 :] for line in lines]
