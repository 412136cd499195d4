"""The files of a recipe, and writing them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from grader.ci.fill import fill
from grader.ci.options import Choices, find_course_of, submissions_pattern
from grader.ci.wheel import Checkout, lock_files
from grader.errors import UsageError
from grader.files import write_whole

GITHUB = Path(".github/workflows/grade.yml")
GITLAB = Path(".gitlab-ci.yml")
LOCK = Path(".grader")
"""Where in the repository stands what a recipe installs: the wheel, and the lock beside it."""

_OWN_LOCK = "grader/ci"
"""The same in a checkout of this project."""


def github_files(choices: Choices) -> dict[Path, bytes]:
    """Return the workflow of GitHub Actions and what it installs.

    Raises GraderError for choices that cannot be.
    """
    return {GITHUB: _recipe("github.yml", choices), **_locked(choices)}


def gitlab_files(choices: Choices) -> dict[Path, bytes]:
    """Return the pipeline of GitLab and what it installs.

    Raises GraderError for choices that cannot be.
    """
    return {GITLAB: _recipe("gitlab.yml", choices), **_locked(choices)}


def write_new(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Write files, each whole or not at all. Raises UsageError when another is there already.

    With `force` they are overwritten. What is there as it would be written stays: a release may
    have brought the wheel.
    """
    taken = [path for path in files if os.path.lexists(path) and not _is(path, files[path])]
    if taken and not force:
        raise UsageError(
            f"{taken[0]} is there already.", "Give --force to overwrite it, or move it away first."
        )
    for path, content in files.items():
        _write(path, content)


def _is(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror}.", "Check the folder and its permissions."
        ) from None


def _locked(choices: Choices) -> dict[Path, bytes]:
    if isinstance(choices.install, Checkout):
        return {}  # they are in it
    return {LOCK / name: content for name, content in lock_files(choices.install).items()}


def _recipe(name: str, choices: Choices) -> bytes:
    find_course_of(choices)
    checkout = choices.install.folder if isinstance(choices.install, Checkout) else ""
    words = {
        "SUBMISSIONS": submissions_pattern(choices.submissions),
        "ASSIGNMENT": choices.assignment or "",
        "COURSE": "" if choices.course is None else choices.course.as_posix(),
        "THRESHOLD": "" if choices.threshold is None else f"{choices.threshold:g}",
        "LOCK": str(Path(checkout) / _OWN_LOCK if checkout else LOCK),
        "CHECKOUT": checkout,
    }
    plain = {"MINUTES": str(choices.minutes), "DIGEST": _digest(choices)}
    return fill(name, words, json.dumps, plain).encode()


def _digest(choices: Choices) -> str:
    """Return a short name for what is installed, for the key of a cache."""
    files = lock_files(choices.install)
    listed = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in files)
    return hashlib.sha256(listed.encode()).hexdigest()[:12]
