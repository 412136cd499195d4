"""Fetching a course's test images and parameters while an image for grading is made."""

from collections.abc import Mapping
from pathlib import Path

from grader.course import load_course
from grader.data.resolve import resolve_data
from grader.progress import Silent


def fetch_data(course: Path, environment: Mapping[str, str]) -> list[str]:
    """Put what a course's assignments need into the cache; return the name of each one's data.

    Without a network that is the built-in set. Raises CourseError and DataError.
    """
    assignments = load_course(course).assignments.values()
    return [
        resolve_data(
            each.assignment.data, directory=None, environment=environment, progress=Silent()
        ).name
        for each in assignments
    ]
