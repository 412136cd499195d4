"""The autograder of Gradescope: an archive with the course's assignment and two scripts."""

from __future__ import annotations

import io
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from grader.ci.fill import fill
from grader.ci.options import Choices
from grader.ci.wheel import Wheel, lock_files
from grader.course import Course, CourseAssignment, load_course
from grader.errors import CourseError, UsageError

ARCHIVE = Path("autograder.zip")

_SPARE_SECONDS = 30
"""Of the time that Gradescope gives: for rendering, after the grader has been ended."""

_IGNORED = {"__pycache__", "mutants.toml"}
_EXECUTABLE, _PLAIN = 0o755, 0o600
_REGULAR_FILE = 0o100000
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that an archive can hold: the same course makes the same archive."""


def gradescope_files(choices: Choices) -> dict[Path, bytes]:
    """Return the archive. Raises GraderError for choices that cannot be."""
    root = choices.directory if choices.course is None else choices.directory / choices.course
    chosen = _choose(load_course(root), choices.assignment)
    if not isinstance(choices.install, Wheel):
        raise UsageError(
            f"Gradescope cannot install the folder {choices.install.folder}.",
            "Leave --install out, or name a wheel: `make wheel` makes one.",
        )
    slug = chosen.assignment.slug
    seconds = {"SECONDS": str(choices.minutes * 60 - _SPARE_SECONDS)}
    grading = fill("run_autograder", {"ASSIGNMENT": slug}, shlex.quote, seconds)
    scripts = {
        "setup.sh": fill("setup.sh", {}, shlex.quote).encode(),
        "run_autograder": grading.encode(),
    }
    files = {
        **lock_files(choices.install),
        **_assignment_files(chosen.folder, PurePosixPath("course/assignments", chosen.folder.name)),
    }
    return {ARCHIVE: _pack(scripts, files)}


def _choose(course: Course, slug: str | None) -> CourseAssignment:
    """Return the assignment: Gradescope has one for each of its own. Raises GraderError."""
    if slug is None and len(course.assignments) > 1:
        known = ", ".join(sorted(course.assignments))
        raise UsageError(
            "An autograder of Gradescope is for one assignment.",
            f"Name it with --assignment SLUG: {known}.",
        )
    chosen = course.get(slug or next(iter(course.assignments)))
    if chosen.assignment.sandbox.minimum == "none":
        raise CourseError(
            "Gradescope grades as root, and this assignment may be graded without isolation:"
            " a submission would have the oracle, and write its own points.",
            'Let `minimum` under [sandbox] in assignment.toml be "basic" or "minimal".',
        )
    return chosen


def _assignment_files(folder: Path, inside: PurePosixPath) -> dict[str, bytes]:
    return {
        str(inside / path.relative_to(folder).as_posix()): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _IGNORED.intersection(path.relative_to(folder).parts)
    }


def _pack(scripts: Mapping[str, bytes], files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in scripts.items():
            archive.writestr(_entry(name, _EXECUTABLE), content)
        for name, content in files.items():
            archive.writestr(_entry(name, _PLAIN), content)
    return buffer.getvalue()


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix: only then are the permissions read
    entry.external_attr = (_REGULAR_FILE | mode) << 16
    return entry
