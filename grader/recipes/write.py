"""The files of a recipe, and writing them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from grader.errors import UsageError
from grader.files import write_whole
from grader.recipes.fill import fill
from grader.recipes.options import (
    Choices,
    check_install,
    digest,
    find_course_of,
    submissions_pattern,
)

GITHUB = Path(".github/workflows/grade.yml")
GITLAB = Path(".gitlab-ci.yml")


def github_files(choices: Choices) -> dict[Path, bytes]:
    """Return the workflow of GitHub Actions. Raises GraderError for choices that cannot be."""
    return {GITHUB: _recipe("github.yml", choices)}


def gitlab_files(choices: Choices) -> dict[Path, bytes]:
    """Return the pipeline of GitLab. Raises GraderError for choices that cannot be."""
    return {GITLAB: _recipe("gitlab.yml", choices)}


def write_new(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Write files, each whole or not at all. Raises UsageError when one is there already.

    With `force` they are overwritten.
    """
    taken = [path for path in files if os.path.lexists(path)]
    if taken and not force:
        raise UsageError(
            f"{taken[0]} is there already.", "Give --force to overwrite it, or move it away first."
        )
    for path, content in files.items():
        _write(path, content)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror}.", "Check the folder and its permissions."
        ) from None


def _recipe(name: str, choices: Choices) -> bytes:
    find_course_of(choices)
    install = check_install(choices.install)
    words = {
        "SUBMISSIONS": submissions_pattern(choices.submissions),
        "ASSIGNMENT": choices.assignment or "",
        "COURSE": "" if choices.course is None else choices.course.as_posix(),
        "THRESHOLD": "" if choices.threshold is None else f"{choices.threshold:g}",
        "INSTALL": install,
    }
    plain = {"MINUTES": str(choices.minutes), "DIGEST": digest(install)}
    return fill(name, words, json.dumps, plain).encode()
