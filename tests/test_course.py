"""Finding a course and choosing the assignment of a notebook."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from grader.course import choose_assignment, find_course, load_course
from grader.course_folder import course_folder
from grader.errors import CourseError, UsageError
from grader.language import NOTHING
from grader.reading.submission import read_submission

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def course():
    return load_course(ROOT)


def submission(folder: Path, source: str = "x = 1", **grader: object):
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"grader": grader}, "cells": [cell]}
    path = folder / "submission.ipynb"
    path.write_text(json.dumps(document))
    return read_submission(path)


def two_parts(slug: str) -> str:
    """Return an assignment of two modules: MyModule, and one called like the assignment."""
    parts = [
        f"""
[[part]]
id = "{part}"
title = "A part"
entry_kind = "module"
entry = ["{name}"]
check = [{{ id = "equal", kind = "equivalence", points = 1 }}]
"""
        for part, name in (("one", "MyModule"), ("two", slug))
    ]
    return f"""
slug = "{slug}"
title = "Two parts"
version = 1
points = 2
oracle = {{ input_shape = [4], output_shape = [4] }}
{"".join(parts)}"""


class TestChooseAssignment:
    def test_the_metadata_decide(self, course, tmp_path):
        chosen, note = choose_assignment(course, submission(tmp_path, assignment="e2e-conv"), None)
        assert ("e2e-conv", NOTHING) == (chosen.assignment.slug, note)

    def test_the_command_line_counts_more_than_the_students_metadata(self, course, tmp_path):
        chosen, note = choose_assignment(
            course, submission(tmp_path, assignment="easier"), "e2e-conv"
        )
        assert ("e2e-conv", True) == (chosen.assignment.slug, "easier" in note.english)

    def test_entry_points_decide_when_nothing_else_does(self, course, tmp_path):
        given = submission(tmp_path, "def create_model_via_emit_te():\n    pass")
        assert "e2e-conv" == choose_assignment(course, given, None)[0].assignment.slug

    def test_the_assignment_with_most_entry_points_there_is_meant(self, tmp_path):
        for slug in ("first", "second"):
            folder = tmp_path / "assignments" / slug
            folder.mkdir(parents=True)
            (folder / "assignment.toml").write_text(two_parts(slug))
        given = submission(tmp_path, "class MyModule:\n    pass\nsecond = MyModule")
        chosen, _ = choose_assignment(load_course(tmp_path), given, None)
        assert "second" == chosen.assignment.slug
        both = submission(tmp_path, "class MyModule:\n    pass")
        with pytest.raises(UsageError):
            choose_assignment(load_course(tmp_path), both, None)

    def test_nothing_that_decides_is_a_usage_error_that_lists_the_assignments(
        self, course, tmp_path
    ):
        with pytest.raises(UsageError) as caught:
            choose_assignment(course, submission(tmp_path), None)
        assert "e2e-conv" in caught.value.hint.english

    def test_an_unknown_slug_is_a_usage_error(self, course, tmp_path):
        with pytest.raises(UsageError, match="no-such"):
            choose_assignment(course, submission(tmp_path), "no-such")


class TestFindCourse:
    def test_a_folder_above_is_found(self, tmp_path):
        shutil.copytree(ROOT / "assignments", tmp_path / "assignments")
        below = tmp_path / "submissions" / "ada"
        below.mkdir(parents=True)
        assert tmp_path == find_course(None, (below,)).root

    def test_the_built_in_course_is_the_last_resort(self, tmp_path):
        assert "e2e-conv" in find_course(None, (tmp_path,)).assignments

    def test_a_named_folder_without_assignments_is_an_error(self, tmp_path):
        with pytest.raises(CourseError, match="No assignment"):
            find_course(tmp_path, ())

    def test_a_slug_that_differs_from_its_folder_is_an_error(self, tmp_path):
        shutil.copytree(ROOT / "assignments" / "e2e-conv", tmp_path / "assignments" / "other")
        with pytest.raises(CourseError, match="other"):
            load_course(tmp_path)


@pytest.mark.parametrize("place", ["submissions/mallory", "earlier/mallory/1/hw.zip"])
def test_what_a_student_handed_in_is_no_course(tmp_path: Path, place: str) -> None:
    """The `oracle.py` of an archive was run where somebody graded in the student's folder."""
    for folder in (tmp_path, tmp_path / "class" / place):
        planted = folder / "assignments/hw/assignment.toml"
        planted.parent.mkdir(parents=True)
        planted.touch()
    (tmp_path / "class/collected.json").touch()
    assert tmp_path == course_folder(None, (tmp_path / "class" / place,))
