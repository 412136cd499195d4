"""What an assignment gives is read from its file, and kept up to date with its template."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment_files import GIVEN_FILE, GivenForms, load_given
from grader.errors import CourseError
from tools.make_given import encode_given

SLUGS = ("tensorir", "e2e-conv", "e2e-mlp", "from-torch", "quantized")
ASSIGNMENTS = Path(__file__).parents[1] / "assignments"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    given = GivenForms(frozenset({"a", "b"}), frozenset({"c"}))
    (tmp_path / GIVEN_FILE).write_bytes(encode_given(given))
    assert given == load_given(tmp_path)


def test_without_a_file_nothing_is_given(tmp_path: Path) -> None:
    assert GivenForms() == load_given(tmp_path)


def test_a_damaged_file_is_the_course_s_error(tmp_path: Path) -> None:
    (tmp_path / GIVEN_FILE).write_text('{"gifts": []}')
    with pytest.raises(CourseError, match=GIVEN_FILE):
        load_given(tmp_path)


def test_what_is_given_is_refused_under_any_name_and_what_is_shown_under_another_one() -> None:
    given = GivenForms(frozenset({"a"}), frozenset({"c"}))
    assert given.refuses("a", by_name=True)
    assert given.refuses("a", by_name=False)
    assert given.refuses("c", by_name=False)
    assert not given.refuses("c", by_name=True)
    assert not given.refuses("x", by_name=False)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_assignment_of_this_course_has_its_file(slug: str) -> None:
    assert load_given(ASSIGNMENTS / slug).given
