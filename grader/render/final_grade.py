"""What a gradebook makes of a report, as the page of the report shows it."""

from __future__ import annotations

from typing import NamedTuple

from grader.language import Text


class FinalGrade(NamedTuple):
    """A grade: `points` of `possible`, and how it comes about, a line for each step.

    The last line is the grade itself. `open` are points that a person has yet to give, which are in
    neither of the two. Where `is_told` is false they are not for the page's reader, as they would
    tell what is kept back.
    """

    points: float
    possible: float
    open: float
    lines: tuple[Text, ...]
    is_told: bool = True
