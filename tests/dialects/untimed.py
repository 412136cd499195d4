"""Courses and notebooks for gradings whose verdict has nothing to do with the clock."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from tests.endtoend.examples import brisk_course, on_few_inputs

SPEED = re.compile(
    r'\[\[part\.check\]\]\nid = "speed"\n.*\npoints = (?P<points>\d+)\n[\s\S]*?(?=\n\n|\Z)'
)

SHORT_CELLS = {"tensorir": 30}
"""Seconds of a cell where an example has one that never ends, and all others take a second."""

ANY_LEVEL = '\n[sandbox]\nminimum = "none"\n'


def untimed_course(folder: Path) -> Path:
    """Make a copy of the course without points for speed, on few inputs, graded at any level."""
    course = brisk_course(folder)
    for table in course.glob("assignments/*/assignment.toml"):
        text = table.read_text(encoding="utf-8")
        for_speed = sum(int(check["points"]) for check in SPEED.finditer(text))
        text = on_few_inputs(SPEED.sub("", text))
        text = text.replace("points = 100", f"points = {100 - for_speed}") + ANY_LEVEL
        seconds = SHORT_CELLS.get(table.parent.name)
        if seconds:
            text = text.replace("cell_seconds = 120", f"cell_seconds = {seconds}")
        table.write_text(text, encoding="utf-8")
    return course


def notebook(slug: str, cells: list[str]) -> bytes:
    """Return a notebook of code cells that says which assignment it is."""
    written = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(cell, id=f"c{number}") for number, cell in enumerate(cells)
        ],
        metadata={"grader": {"assignment": slug}},
    )
    return nbformat.writes(written).encode()
