"""`course.toml`: what it says, and what is said of one that says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course_settings import CourseSettings, load_settings
from grader.errors import MistakeError


def test_a_course_without_one_has_the_defaults(tmp_path: Path) -> None:
    assert CourseSettings() == load_settings(tmp_path)
    (tmp_path / "file").touch()
    assert CourseSettings() == load_settings(tmp_path / "file")


def test_it_says_where_students_ask(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text('[objections]\naddress = "https://x.org/"\n')
    assert "https://x.org/" == load_settings(tmp_path).objections.address


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[objections]\nadress = 1\n", "course.toml:2: it is not valid: "),
        (b"[objections]\n\naddress = 1\n", "course.toml:3: it is not valid: "),
        (b'[objections]\naddress = "nowhere"\n', "course.toml:2: it is not valid: `address` is"),
        (b"[objections\n", "course.toml:1: it is not valid: "),
        (b"\xff", "it is not UTF-8 text"),
        (b"\xef\xbb\xbf[objections]\n", "course.toml:1: it is not valid: it starts with"),
        (b"#" * 70_000, "it is larger than 64 kB"),
        (b"a = " + b"[" * 60_000, "it is not valid: "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "course.toml").write_bytes(content)
    with pytest.raises(MistakeError) as caught:
        load_settings(tmp_path)
    assert reason in str(caught.value)
