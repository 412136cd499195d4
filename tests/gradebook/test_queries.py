"""A larger class takes no more queries, and reports are read where they are counted anew alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from rich.console import Console

from grader.cli.gradebook import CommandOutput
from grader.cli.lms import ExportOptions, run_export
from grader.cli.regrade import RegradeOptions, run_regrade
from grader.cli.student_grades import explain_grade, list_grades
from grader.grading.preparation import GradingOptions
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import SLUG, Class


@contextmanager
def statements() -> Iterator[list[str]]:
    """Note what is asked of any database in the body of a with statement."""
    found: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        found.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def made(folder: Path, students: int) -> Class:
    """Make a class in which everybody is graded."""
    folder.mkdir()
    found = Class(folder)
    logins = [f"s{number}" for number in range(students)]
    enrol(found.book, *logins)
    found.grade_all(dict.fromkeys(logins, 0.5))
    return found


def listed(course: Path) -> None:
    list_grades(None, None, course, CommandOutput(), everybody=False)


def explained(course: Path) -> None:
    explain_grade("s1", SLUG, course, CommandOutput())


def exported(course: Path) -> None:
    options = ExportOptions("csv", assignment=SLUG, course=course)
    assert run_export(options, Console(), lambda _: None)


def regraded(course: Path) -> None:
    asked = RegradeOptions(GradingOptions(SLUG, course=course), changed=True)
    assert run_regrade(asked, CommandOutput(), Console())


@pytest.mark.parametrize("command", [listed, explained, exported, regraded])
def test_a_larger_class_takes_no_more_queries_and_no_reports(
    tmp_path: Path, command: Callable[[Path], None]
) -> None:
    asked = []
    for students in (2, 9):
        world = made(tmp_path / str(students), students)
        with statements() as found:
            command(world.folder)
        world.book.close()
        assert not [each for each in found if "grading.report" in each or "content" in each]
        asked.append(found)
    assert asked[0] == asked[1]


def test_points_are_counted_anew_with_two_looks_at_a_hundred_reports(tmp_path: Path) -> None:
    asked = []
    for students in (2, 9):
        world = made(tmp_path / str(students), students)
        world.weigh(9)
        with statements() as found:
            regraded(world.folder)
        assert {8.5} == {*world.points().values()}
        world.book.close()
        asked.append(found)
        assert 2 == sum("grading.report" in each and "SELECT" in each for each in found)
        assert 1 == sum("INSERT INTO grading" in each for each in found)
    assert len(asked[0]) == len(asked[1])
