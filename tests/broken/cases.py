'''Broken notebooks as data: `<name>.toml` says what is handed in and what it must get.

    about = "A cell ends the process."     # what is broken, for people
    cells = ["prelude", "model", "@"]      # shared cells of cells.py; "@" stands for the case's own
    code = """..."""                       # its own cells, each behind a line `# %%`
    file = "notebook"                      # the function of files.py that makes the bytes
    demanded = false                       # whether `--assignment` is given
    patient = false                        # whether time is ample: for what meets another limit
    needs = "none"                         # the weakest isolation at which the verdict holds
    notes = ["exit status 3"]              # the report's notes: as many, each with this text
    errors = ["NameError"]                 # the same of the cells in `expect.problems`
    awaiting = 3                           # in place of both: the cell that a problem or note names

    [expect]                               # an Expectation, see tests/expectation.py
    score = 10
    problems = []

    [expect.part.model]
    reason_contains = ["raised"]

Bombs are bounded: where a limit is missing, a test fails and the machine goes on.
'''

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.sandbox.interface import Level
from tests.broken.cells import CELLS
from tests.expectation import Expectation

FOLDER = Path(__file__).resolve().parent
LEVELS = ("none", "minimal", "basic", "container", "strong")
"""Isolation, from the weakest to the strongest."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One broken submission."""

    about: str
    expect: dict[str, object]
    cells: tuple[str, ...] = ("prelude", "model", "@")
    code: str = ""
    file: str = "notebook"
    demanded: bool = False
    patient: bool = False
    needs: Level = "none"
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    awaiting: int = 0

    @property
    def expectation(self) -> Expectation:
        """The verdict that it must get."""
        return msgspec.convert({"about": self.about, **self.expect}, Expectation)

    @property
    def sources(self) -> list[str]:
        """The text of all code cells in order."""
        own = split_cells(self.code)
        return [source for name in self.cells for source in (own if name == "@" else [CELLS[name]])]


def split_cells(code: str) -> list[str]:
    """Return the cells of a text in which a line `# %%` begins one."""
    cells: list[list[str]] = []
    for line in code.splitlines():
        if line.rstrip() == "# %%":
            cells.append([])
        else:
            assert cells, f"text before the first cell: {line}"
            cells[-1].append(line)
    return ["\n".join(lines).strip("\n") for lines in cells]


def load_case(name: str) -> Case:
    """Read a case. Raises msgspec.ValidationError for what is not one."""
    return msgspec.toml.decode((FOLDER / f"{name}.toml").read_bytes(), type=Case)


def case_names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))
