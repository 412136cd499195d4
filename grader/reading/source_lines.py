"""On which lines of a notebook's file the texts of its cells begin.

A person who opens the file, or a service that shows it, counts these lines; a notebook's own cells
have none. The file is walked through as JSON, value by value, with the decoder that has read it
before; it takes linear time and builds nothing that lasts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

STEPS = 100_000
"""Names and values that are looked at: a cell has half a dozen, and a notebook 2000 cells."""

_SPACE = re.compile(r"[ \t\r\n]*")
_SOURCES = ("source", "input")
"""What the text of a cell is called, the first one counting; format 3 says `input`."""


def source_lines(text: str) -> tuple[int, ...]:
    """Return for each cell of a notebook the line, from 1, on which its text begins.

    `text` is a JSON object that was decoded already. Of a list of lines that is where the first one
    stands; a cell without text begins where the cell does. Lines end where "\\n" is. Returns ()
    where the document is not as a notebook is and would take long.
    """
    try:
        return tuple(_notebook(_Walk(text)))
    except _TooLongError:
        return ()


def _notebook(walk: _Walk) -> list[int]:
    found: dict[str, list[int]] = {}
    for key in walk.members():
        if key == "cells":
            found[key] = _cells(walk)
        elif key == "worksheets":
            found[key] = [line for _ in walk.items() for line in _sheet(walk)]
        else:
            walk.skip()
    return found.get("cells") or found.get("worksheets") or []


def _sheet(walk: _Walk) -> list[int]:
    lines: list[int] = []
    for key in walk.members():
        if key == "cells":
            lines = _cells(walk)
        else:
            walk.skip()
    return lines


def _cells(walk: _Walk) -> list[int]:
    return [_cell(walk) for _ in walk.items()]


def _cell(walk: _Walk) -> int:
    begin = walk.line()
    places: dict[str, int] = {}
    for key in walk.members():
        if key in _SOURCES:
            places[key] = _begin(walk)
        else:
            walk.skip()
    return next((places[name] for name in _SOURCES if name in places), begin)


def _begin(walk: _Walk) -> int:
    """Return the line of a text, which is a string or a list of strings, and go past it."""
    begin = walk.line_of_first() if walk.is_at("[") else walk.line()
    walk.skip()
    return begin


class _TooLongError(Exception):
    """Raised when a walk has taken more steps than any notebook needs."""


class _Walk:
    """A place in a JSON document, which only moves on.

    Whoever loops over `members` or `items` goes past every value, by `skip` or by another loop.
    What is not what was asked for is gone past as a whole.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._at = 0
        self._counted = 0
        self._steps = 0
        self._line = 1
        self._skip_space()

    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def is_at(self, character: str) -> bool:
        """Say whether a value begins here, by its first character."""
        return self._text.startswith(character, self._at)

    def line_of_first(self) -> int:
        """Return the line of the first value in the list that is here; of `]` where it is empty."""
        first = self._after_space(self._at + 1)
        return self.line() + self._text.count("\n", self._at, first)

    def skip(self) -> None:
        _, self._at = self._decode(self._text, self._at)
        self._skip_space()

    def members(self) -> Iterator[str]:
        """Go through an object: yield every name, at its value."""
        for _ in self._elements("{", "}"):
            name, self._at = self._decode(self._text, self._at)
            self._skip_space()
            self._pass(":")
            yield name

    def items(self) -> Iterator[None]:
        """Go through a list: yield at every value."""
        return self._elements("[", "]")

    def _elements(self, opening: str, closing: str) -> Iterator[None]:
        if not self.is_at(opening):
            self.skip()
            return
        self._pass(opening)
        while not self.is_at(closing):
            self._steps += 1
            if self._steps > STEPS:
                raise _TooLongError
            yield
            if self.is_at(","):
                self._pass(",")
        self._pass(closing)

    def _pass(self, character: str) -> None:
        self._at += len(character)
        self._skip_space()

    def _skip_space(self) -> None:
        self._at = self._after_space(self._at)

    def _after_space(self, place: int) -> int:
        match = _SPACE.match(self._text, place)
        return match.end() if match else place
