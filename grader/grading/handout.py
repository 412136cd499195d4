"""The cells of an assignment that students were given: those of the course's templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.decoding import prepared


class _Cell(msgspec.Struct):
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []


def as_given(source: str) -> str:
    """Return a cell's text as it is compared: editors change the spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def handout_cells(assignment: Path) -> frozenset[str]:
    """Return the cells of an assignment's templates in all languages, each as `as_given` has it.

    `assignment` is its folder. There are none where the course has no templates beside its
    `assignments/`, as where students were given something else; one that is damaged is passed over.
    """
    folder, slug = assignment.resolve().parents[1] / "templates", assignment.name
    paths = (folder / f"{slug}.ipynb", *sorted(folder.glob(f"{slug}.*.ipynb")))
    return frozenset(filter(None, map(as_given, (each for one in paths for each in _sources(one)))))


def _sources(path: Path) -> Iterator[str]:
    try:
        cells = msgspec.json.decode(path.read_bytes(), type=prepared(_Notebook)).cells
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return
    for cell in cells:
        yield cell.source if isinstance(cell.source, str) else "".join(cell.source)
