"""Subjects of commits: imperative, at most 72 characters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.check_subjects import fault_of, faults, subjects


@pytest.mark.parametrize(
    "subject",
    [
        "Add a check of subjects",
        "Pass the clock in",
        "Bring a compiler along",
        "Proceed after an error",
        "Merge branch 'a' of a place whose name is far longer than any subject is allowed to be",
        "Refuse archives with bzip2 members",
    ],
)
def test_an_imperative_is_right(subject: str) -> None:
    assert fault_of(subject) is None


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("A" + "b" * 72, "73 characters"),
        ("Adds a check", "imperative"),
        ("Added a check", "imperative"),
        ("Adding a check", "imperative"),
        ("add a check", "capital"),
        ("", "capital"),
    ],
)
def test_what_is_none_is_refused(subject: str, fault: str) -> None:
    assert fault in (fault_of(subject) or "")


def test_a_clone_without_the_first_commit_of_the_rule_has_its_last_one_checked(
    tmp_path: Path,
) -> None:
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "adds one")):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    (found,) = faults(subjects(tmp_path))
    assert "'adds one': begin with a capital letter" in found


def test_sources_without_a_repository_have_none(tmp_path: Path) -> None:
    assert [] == subjects(tmp_path)
