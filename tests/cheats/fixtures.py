"""Reading the cheats: a file each, `<group>/<name>.py`, described at its top (README.md)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import nbformat
from nbformat import NotebookNode

from tests.expectation import Expectation, PartExpectation, Score, Table

FOLDER = Path(__file__).resolve().parent
CELLS = FOLDER / "cells"
ROOT = FOLDER.parents[1]
COURSES = tuple(ROOT / "tests" / "courses" / name for name in ("small", "kinds"))
OWN_CELLS = "@"
"""Stands for all of the cheat's own cells; "@1" is the first of them alone."""

BY_A_MODEL = frozenset({"gpu"})
"""Assignments of ours without a clock."""

Level = Literal["none", "minimal", "basic", "container", "strong"]
LEVELS: tuple[Level, ...] = ("none", "minimal", "basic", "container", "strong")
"""Levels of isolation, weakest first."""

_HEADER = re.compile(r"# /// cheat\n(?P<toml>(?:#(?: .*)?\n)+?)# ///\n(?:#.*\n)*?(?=# %%)")
"""A description between its two marks, and comments; then the first cell begins."""

_COMMENT = re.compile(r"^# ?", re.MULTILINE)
_CELL_START = re.compile(r"^# %%.*\n", re.MULTILINE)


class Expected(Table, frozen=True):
    """What a cheat must get: an Expectation, of which `about` stands at the top of the file."""

    score: Score | None = None
    problems: tuple[int, ...] | None = None
    part: dict[str, PartExpectation] = msgspec.field(default_factory=dict)


class Description(Table, frozen=True):
    """What stands at the top of a cheat's file, as comments: TOML.

    `stops_at` is the weakest level at which the cheat gains nothing, `stops_at_for_root` the same
    where root runs the grader: there sandboxes have a user of their own, and there the cheat may
    succeed without a sandbox where a user's own rights would stop it. `owner_only`: it succeeds
    only where whoever grades may write into the Python environment. `after` names a cheat of the
    same group that must be graded before this one.
    """

    about: str
    assignment: str
    cells: tuple[str, ...]
    expect: Expected
    stops_at: Level = "none"
    stops_at_for_root: Level | None = None
    owner_only: bool = False
    after: str | None = None


@dataclass(frozen=True)
class Cheat:
    """One cheat: what it is, and the text of its own cells."""

    group: str
    name: str
    description: Description
    own_cells: tuple[str, ...]

    @property
    def is_of_the_course(self) -> bool:
        """Whether its assignment is one of ours, and not one that tests have."""
        name = self.description.assignment
        return not any((course / "assignments" / name).is_dir() for course in COURSES)

    @property
    def is_timed(self) -> bool:
        """Whether its points depend on the clock, so that nothing may run beside it: not those of a
        schedule that is refused before it is timed."""
        speeds = [each.check.get("speed") for each in self.description.expect.part.values()]
        by_a_clock = self.description.assignment not in BY_A_MODEL
        return self.is_of_the_course and by_a_clock and "not_graded" not in speeds

    @property
    def expectation(self) -> Expectation:
        """What its report must say."""
        expect = self.description.expect
        return Expectation(
            self.description.about, score=expect.score, problems=expect.problems, part=expect.part
        )

    def is_stopped(self, level: str, *, as_root: bool) -> bool:
        """Whether it gains nothing at a level of isolation."""
        stops_at = self.description.stops_at
        if self.description.owner_only and not os.access(sys.prefix, os.W_OK):
            return True
        if as_root:
            stops_at = self.description.stops_at_for_root or stops_at
        return LEVELS.index(level) >= LEVELS.index(stops_at)

    def notebook(self, values: Mapping[str, str]) -> NotebookNode:
        """Return the submission; in the cheat's own cells each `{name}` becomes `values[name]`."""
        sources: list[str] = []
        for name in self.description.cells:
            if name.startswith(OWN_CELLS):
                number = name.removeprefix(OWN_CELLS)
                cells = self.own_cells[int(number) - 1 : int(number)] if number else self.own_cells
                sources += [fill_in(cell, values) for cell in cells]
            else:
                sources.append(shared_cell(self.description.assignment, name).read_text("utf-8"))
        return nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source.strip("\n")) for source in sources],
            metadata={"grader": {"assignment": self.description.assignment, "version": 1}},
        )


def shared_cell(assignment: str, name: str) -> Path:
    """Return where a cell that several cheats use is kept: for one assignment, or for several."""
    own = CELLS / assignment / f"{name}.py"
    return own if own.exists() else CELLS / "shared" / own.name


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` by its value; all other braces mean what they mean in Python."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def split_cells(text: str) -> tuple[str, ...]:
    """Return the code cells of a text in which `# %%` starts one; what is before is a comment."""
    return tuple(_CELL_START.split(text)[1:])


def read_header(text: str) -> Description:
    """Return the description at the top of a cheat's file.

    Raises ValueError where there is none, or something but comments before the first cell, and
    msgspec's ValidationError, which is one, for a key that no description has.
    """
    header = _HEADER.match(text)
    if header is None:
        raise ValueError("the file does not begin with a cheat's description and a cell")
    return msgspec.toml.decode(_COMMENT.sub("", header["toml"]), type=Description)


def load_cheat(path: Path) -> Cheat:
    """Read a cheat from its file. Raises ValueError where that does not describe it."""
    text = path.read_text("utf-8")
    return Cheat(path.parent.name, path.stem, read_header(text), split_cells(text))


@cache
def all_cheats() -> tuple[Cheat, ...]:
    """Return all cheats, those last that must have the machine to themselves."""
    return tuple(sorted(map(load_cheat, sorted(FOLDER.glob("*/*.py"))), key=_is_timed))


def _is_timed(cheat: Cheat) -> bool:
    return cheat.is_timed
