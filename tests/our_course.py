"""The course of this repository, read once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from grader.course import Course, load_course


@cache
def our_course() -> Course:
    """Return the course. Six assignments are read, which takes longer than most tests."""
    return load_course(Path(__file__).parents[1])
