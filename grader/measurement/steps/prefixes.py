"""Which beginnings of a schedule are timed: after each line of steps that change code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grader.ir.trace import Trace, primitive
from grader.messages.kernel import StepLine
from grader.messages.timing import PREFIX_LIMIT


class Prefix(NamedTuple):
    """A beginning of a trace: its first `end` instructions.

    `kinds` are the steps that it has more than the one before it, as they are called in a notebook,
    and `lines` where they were written, each once; those that are not known are left out.
    """

    end: int
    kinds: tuple[str, ...]
    lines: tuple[StepLine, ...] = ()

    def and_then(self, later: Prefix) -> Prefix:
        """Return the later of two neighbours with the steps of both."""
        lines = dict.fromkeys((*self.lines, *later.lines))
        return Prefix(later.end, (*self.kinds, *later.kinds), tuple(lines))


def choose_prefixes(trace: Trace, lines: Sequence[StepLine]) -> tuple[Prefix, ...]:
    """Return at most PREFIX_LIMIT beginnings of a trace, the last of them all that changes code.

    Steps of one kind in a row are one where they were written in one line, or where no lines are
    known. What are too many still are merged where the fewest steps come together.
    """
    found: list[Prefix] = []
    kinds = dict(zip(trace.places, trace.kinds, strict=True))
    for place in trace.coded:
        line = lines[place] if place < len(lines) else StepLine()
        step = Prefix(place + 1, (primitive(kinds[place]),), (line,) if line.line else ())
        if found and found[-1].kinds[-1] == step.kinds[0] and found[-1].lines == step.lines:
            step = found.pop().and_then(step)
        found.append(step)
    while len(found) > PREFIX_LIMIT:
        first = min(range(len(found) - 1), key=lambda at: _together(found[at], found[at + 1]))
        found[first : first + 2] = [found[first].and_then(found[first + 1])]
    return tuple(found)


def _together(one: Prefix, other: Prefix) -> tuple[bool, int]:
    """Return how much two neighbours have in them; those of one kind come first."""
    return {*one.kinds} != {*other.kinds}, len(one.kinds) + len(other.kinds)
