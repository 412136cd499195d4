"""The example submissions, and their gradings: all of a kind in one batch."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from grader.assignment import PartTable
from tests.endtoend.command import ROOT
from tests.expectation import (
    PartExpectation,
    Range,
    Score,
    load_expectation,
)
from tests.our_course import our_course

SUFFIX = ".verdict.toml"
EXAMPLES = {
    f"{path.parent.name}/{path.name.removesuffix(SUFFIX)}": path
    for path in sorted((ROOT / "examples").glob(f"*/*{SUFFIX}"))
}
"""The verdict files, by "assignment/example"."""

BRISK = re.compile(r"\bspeed\b.*?options = \{", re.DOTALL)
"""Where a brisk course has its speed check measure no longer than it must."""


FEW = 120
"""Most inputs that a part is run on: a fifth of those that there are, of which a third is hidden
inputs. To run all of them was a third of what such gradings took."""

_SAMPLES = re.compile(r"^samples = (\d+)", re.MULTILINE)


@cache
def is_timed(name: str) -> bool:
    """Say whether an example's verdict names the check of speed, or depends on its points."""
    assignment = our_course().get(name.split("/")[0]).assignment
    parts = {part.id: part for part in assignment.part}
    expected = load_expectation(EXAMPLES[name]).part
    return any(_needs_speed(parts[part], each) for part, each in expected.items())


def _needs_speed(part: PartTable, expected: PartExpectation) -> bool:
    """Say so of a part: it is to get more than all its other checks are worth, or says its speed's
    verdict.
    """
    for check in part.check:
        if check.kind == "speed":
            other_points = part.points - check.points
            return check.id in expected.check or _least(expected.score) > other_points
    return False


def _least(score: Score | None) -> float:
    return (score.min or 0.0) if isinstance(score, Range) else (score or 0.0)


def example_notebooks(names: Iterable[str]) -> dict[str, bytes]:
    """Return examples as they are handed in."""
    return {
        name: EXAMPLES[name].with_name(f"{name.split('/')[1]}.ipynb").read_bytes() for name in names
    }


def chosen(items: Iterable[pytest.Item]) -> list[str]:
    """Return the examples that tests are about, each once."""
    found = [getattr(item, "callspec", None) for item in items]
    names = [each.params.get("example") for each in found if each is not None]
    return list(dict.fromkeys(name for name in names if name is not None))


def brisk_course(folder: Path, budget: float = 0.1) -> Path:
    """Make a copy of the course in which a schedule is timed for `budget` seconds, not ten."""
    shutil.copytree(
        ROOT / "assignments",
        folder / "assignments",
        ignore=shutil.ignore_patterns("__pycache__", "variants"),
    )
    for table in folder.glob("assignments/*/assignment.toml"):
        text = table.read_text(encoding="utf-8")
        for place in reversed(list(BRISK.finditer(text))):
            text = (
                f"{text[: place.end()]} budget_seconds = {budget}, {text[place.end() :].lstrip()}"
            )
        table.write_text(text, encoding="utf-8")
    return folder


def quick_course(folder: Path, budget: float = 0.1) -> Path:
    """Make a brisk copy of the course whose parts are run on few of the model's inputs."""
    course = brisk_course(folder, budget)
    for table in course.glob("assignments/*/assignment.toml"):
        table.write_text(on_few_inputs(table.read_text(encoding="utf-8")), encoding="utf-8")
    return course


def on_few_inputs(text: str) -> str:
    """Return an `assignment.toml` whose parts are run on few of the model's inputs."""
    head, *parts = text.split("[[part]]\n")
    return "[[part]]\n".join([head, *(_part_on_few(each) for each in parts)])


def _part_on_few(text: str) -> str:
    if not _SAMPLES.search(text):
        return text if "\ncomputation = " in text else f"samples = {FEW}\n{text}"
    return _SAMPLES.sub(lambda found: f"samples = {min(FEW, int(found[1]))}", text)
