"""Two rings of tests: what a change can break, and everything.

`make test` is the first ring: ten minutes on two processors. `make test-all` runs the second one
behind it. `second_ring.txt` lists the second, so that a test moves between them by a line and by
figures: each run writes how long its tests took, and `tools/durations.py` adds them up.

`pytest --part 2/3` selects the second of three parts of the second ring, and all of the first.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("second_ring.txt")
KEPT = "+ "
"""Begins a line that keeps a test in the first ring, out of a file or a table of the second."""


class SecondRing(NamedTuple):
    """The second ring: the tests in it, and those that stay in the first, by their ids.

    An id is a folder, a file, a class, a test or one row of it, as pytest prints it.
    """

    second: frozenset[str]
    kept: frozenset[str]

    def has(self, node: str) -> bool:
        """Say whether a test belongs to the second ring; the first ring's lines are stronger."""
        return covers(self.second, node) and not covers(self.kept, node)

    def has_whole(self, path: str) -> bool:
        """Say whether all of a file does, so that the first ring need not import it."""
        stays = any(each.split("::")[0] == path for each in self.kept)
        return covers(self.second, path) and not stays

    def unused(self, nodes: Iterable[str]) -> list[str]:
        """Return the lines that none of these tests is meant by: renamed, or misspelt."""
        known = {part for node in nodes for part in parts_of(node)}
        return sorted((self.second | self.kept) - known)


class Part(NamedTuple):
    """One of several parts of the second ring, numbered from 1."""

    number: int
    of: int

    def has(self, key: str) -> bool:
        """Say whether the part has the tests with this key; all parts together have every test."""
        return zlib.crc32(key.encode()) % self.of == self.number - 1


def read_part(text: str) -> Part:
    """Read `2/3`.

    Raises:
        ValueError: It is no such part.
    """
    found = re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", text)
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(f"--part {text}: give a number and how many parts there are, as in 2/3")
    return Part(int(found[1]), int(found[2]))


def key_of(item: pytest.Item) -> str:
    """Return what decides a test's part.

    Rows of submissions that are graded in one batch are divided, those of timed cheats as well;
    the tests of another file stay together, since they share what is slow.
    """
    is_row = "graded" in item.keywords or "grade_all" in getattr(item, "fixturenames", ())
    return item.nodeid if is_row else item.nodeid.split("::")[0]


def read_second_ring(text: str) -> SecondRing:
    """Read the list: an id a line, `+` before one that stays in the first ring, `#` comments."""
    lines = [line.partition("  #")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    kept = frozenset(line.removeprefix(KEPT) for line in lines if line.startswith(KEPT))
    return SecondRing(frozenset(line for line in lines if not line.startswith(KEPT)), kept)


def covers(ids: frozenset[str], node: str) -> bool:
    """Say whether one of the ids is a test's, or that of a table, class, file or folder of it."""
    return not ids.isdisjoint(parts_of(node))


def parts_of(node: str) -> Iterator[str]:
    """Yield an id, and those of all that a test lies in, its folders included."""
    yield node
    head, bracket, _ = node.partition("[")  # a row may have "::" and "/" in its name
    if bracket:
        yield head
    while "::" in head:
        head = head.rpartition("::")[0]
        yield head
    yield from (str(folder) for folder in Path(head).parents if folder.name)


ALONE = frozenset({"timed", "hurried"})
"""The marks of tests that want the machine to themselves: all of them are in the second ring."""


def mark(items: Iterable[pytest.Item], ring: SecondRing) -> None:
    """Mark the tests of the second ring as `slow`; a test may have the mark of its own."""
    for item in items:
        if ring.has(item.nodeid) or not ALONE.isdisjoint(item.keywords):
            item.add_marker(pytest.mark.slow)
