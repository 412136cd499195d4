"""Faults of synchronisation: barriers of a right kernel removed, moved or doubled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from tvm.script import from_source

from grader.evidence.gpu.inside.lowering import lower
from tests.evidence.gpu.schedules import Example

SYNC = "T.tvm_storage_sync("


class Mutant(NamedTuple):
    """A kernel with one fault: what was done to which line of its text."""

    label: str
    function: Any
    line: int


def lines_of(example: Example) -> tuple[list[str], dict[str, tuple[int, ...]]]:
    """Return a kernel's text with its barriers, and the shapes of its buffers."""
    lowered = lower(example.module, "main", "sm_80")
    text: str = lowered.function.without_attr("target").script()
    return text.splitlines(), lowered.shapes


def barriers(lines: list[str]) -> list[int]:
    """Return the lines with barriers."""
    return [number for number, line in enumerate(lines) if SYNC in line]


def removed(lines: list[str]) -> Iterator[Mutant]:
    """Yield the kernel without each of its barriers."""
    for number in barriers(lines):
        yield Mutant("removed", parse([*lines[:number], *lines[number + 1 :]]), number)


def doubled(lines: list[str]) -> Iterator[Mutant]:
    """Yield the kernel with each of its barriers twice."""
    for number in barriers(lines):
        yield Mutant("doubled", parse([*lines[:number], lines[number], *lines[number:]]), number)


def moved(lines: list[str]) -> Iterator[Mutant]:
    """Yield the kernel with each of its barriers one statement earlier, and one later."""
    for number in barriers(lines):
        depth = _depth(lines[number])
        rest = [*lines[:number], *lines[number + 1 :]]
        before = [n for n in range(number) if _depth(lines[n]) <= depth]
        if before and _depth(lines[before[-1]]) == depth:
            place = before[-1]
            yield Mutant("earlier", parse([*rest[:place], lines[number], *rest[place:]]), number)
        after = number + 1
        while after < len(lines) and (after == number + 1 or _depth(lines[after]) > depth):
            after += 1
        place = after - 1
        yield Mutant("later", parse([*rest[:place], lines[number], *rest[place:]]), number)


def divergent(lines: list[str]) -> Iterator[Mutant]:
    """Yield the kernel with each of its barriers for half of the threads alone."""
    for number in barriers(lines):
        pad = " " * _depth(lines[number])
        inside = [f"{pad}if threadIdx_x < 2:", f"    {lines[number]}"]
        yield Mutant("divergent", parse([*lines[:number], *inside, *lines[number + 1 :]]), number)


def aliased(lines: list[str]) -> Iterator[Mutant]:
    """Yield the kernel with its second shared buffer in the memory of the first, of one size."""
    shared = [number for number, line in enumerate(lines) if _SHARED.search(line)]
    for first, second in pairwise(shared):
        (one, size), (other, length) = (_SHARED.search(lines[n]).groups() for n in (first, second))
        if size == length:
            pad = " " * _depth(lines[second])
            line = f'{pad}{other} = T.decl_buffer(({size},), data={one}.data, scope="shared")'
            yield Mutant("aliased", parse([*lines[:second], line, *lines[second + 1 :]]), second)


_SHARED = re.compile(r"(\w+) = T\.alloc_shared\(\((\d+),\)")


def parse(lines: list[str]) -> Any:
    """Return the function of a text."""
    return from_source("\n".join(lines))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
