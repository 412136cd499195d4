"""The files of a recipe: what an instructor chooses, filled in, as files or as an archive."""

import hashlib
import io
import json
import os
import re
import shlex
import string
import zipfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path, PurePosixPath

import msgspec

from grader.ci.wheel import Checkout, Installed, lock_files
from grader.course import Course, CourseAssignment, load_course
from grader.errors import CourseError, UsageError
from grader.files import write_whole
from grader.language import say


class _Blanks(string.Template):
    """A text with blanks such as `@@{COURSE}`: neither shells nor workflows have such a thing."""

    delimiter = "@@"
    idpattern = "[A-Z]+"
    flags = re.RegexFlag(0)


_SPECIAL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029$`\\]|\{\{")
"""What a service would replace in a value before a shell or `grader` sees it, and line ends."""


def fill(
    name: str,
    words: Mapping[str, str],
    quote: Callable[[str], str],
    plain: Mapping[str, str] | None = None,
) -> str:
    """Return the text of the recipe's file `name` with its blanks filled.

    `words` come from people: each is quoted, as one word of the file's language. `plain` stands as
    it is. Raises UsageError for a word that a service would not take as it is.
    """
    for word in words.values():
        if _SPECIAL.search(word):
            raise UsageError(
                say("not-allowed-in-recipe", word=repr(word)),
                say("leave-out-and-unprintable-characters"),
            )
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    quoted = {key: quote(word) for key, word in words.items()}
    return _Blanks(text).substitute(quoted, **(plain or {}))


NOTEBOOKS = "**/*.ipynb"

_PATTERN = re.compile(r"[*?\[]")


class Choices(msgspec.Struct, frozen=True):
    """The arguments of `grader ci init`, as they were given.

    `threshold` is in points, `minutes` is the time for all of a push, or for one submission on
    Gradescope. `course` is relative to `directory`, which is the repository; None is the directory
    itself. `install` is what pip installs beside what is locked.
    """

    directory: Path
    install: Installed
    assignment: str | None = None
    threshold: float | None = None
    submissions: str = "submissions"
    course: Path | None = None
    minutes: int = 60
    force: bool = False


class BoardChoices(msgspec.Struct, frozen=True):
    """The arguments of `grader ci init leaderboard`, as they were given.

    `reports` is the folder of a `grader batch`, `consent` the table of who wants to be ranked, both
    relative to `directory`; `machine` is in the description of the kind of machine that counts.
    """

    directory: Path
    install: Installed
    reports: Path = Path("reports")
    consent: Path = Path("consent.csv")
    assignment: str | None = None
    machine: str = ""
    force: bool = False


def submissions_pattern(text: str) -> str:
    """Return which files are submissions, as a pattern that git and GitLab read alike.

    A folder stands for all notebooks in it. Raises UsageError for a path that leads out of the
    repository, and for one with no notebooks.
    """
    path = PurePosixPath(text)
    if not text or path.is_absolute() or ".." in path.parts:
        raise UsageError(
            say("not-folder-repository", text=repr(text)),
            say("name-one-relative-root-such-as-submissions"),
        )
    if not _PATTERN.search(text):
        return str(path / NOTEBOOKS)
    if not text.endswith(".ipynb"):
        raise UsageError(
            say("pattern-does-not-end-in-ipynb", text=repr(text)),
            say("submissions-notebooks-submissions-all-in-folder", pattern=NOTEBOOKS),
        )
    return str(path)


def find_course_of(choices: Choices) -> Course | None:
    """Return the course that the recipe will grade with; None if it is not in the repository yet.

    Raises CourseError and UsageError where it is named and is not there, or has no such assignment.
    """
    if choices.course is None:
        if not any(choices.directory.glob("assignments/*/assignment.toml")):
            return None
        course = load_course(choices.directory)
    else:
        _check_inside(choices.course)
        course = load_course(choices.directory / choices.course)
    if choices.assignment is not None:
        course.get(choices.assignment)
    return course


def _check_inside(course: Path) -> None:
    if course.is_absolute() or ".." in course.parts:
        raise CourseError(
            say("not-folder-repository", text=str(course)),
            say("course-must-in-repository-that-graded-name"),
        )


GITHUB = Path(".github/workflows/grade.yml")
LEADERBOARD = Path(".github/workflows/leaderboard.yml")
GITLAB = Path(".gitlab-ci.yml")
LOCK = Path(".grader")
"""Where in the repository stands what a recipe installs: the wheel, and the lock beside it."""

_OWN_LOCK = "grader/ci"
"""The same in a checkout of this project."""


def github_files(choices: Choices) -> dict[Path, bytes]:
    """Return the workflow of GitHub Actions and what it installs. Raises GraderError."""
    return {GITHUB: _recipe("github.yml", choices), **_locked(choices.install)}


def gitlab_files(choices: Choices) -> dict[Path, bytes]:
    """Return the pipeline of GitLab and what it installs. Raises GraderError."""
    return {GITLAB: _recipe("gitlab.yml", choices), **_locked(choices.install)}


_BOARD_MINUTES = 20
"""For a leaderboard: most of it is to install the grader where nothing is cached."""


def leaderboard_files(choices: BoardChoices) -> dict[Path, bytes]:
    """Return the workflow that publishes ranks, and what it installs. Raises GraderError."""
    for path in (choices.reports, choices.consent):
        if path.is_absolute() or ".." in path.parts:
            raise UsageError(
                say("not-in-repository", path=str(path)),
                say("name-what-in-repository-relative-root"),
            )
    words = {
        "REPORTS": choices.reports.as_posix(),
        "PUSHED": f"{choices.reports.as_posix()}/**",
        "CONSENT": choices.consent.as_posix(),
        "ASSIGNMENT": choices.assignment or "",
        "MACHINE": choices.machine,
        **_source(choices.install),
    }
    plain = {"MINUTES": str(_BOARD_MINUTES), "DIGEST": _digest(choices.install)}
    recipe = fill("leaderboard.yml", words, json.dumps, plain).encode()
    return {LEADERBOARD: recipe, **_locked(choices.install)}


def write_new(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Write files, each whole or not at all. Raises UsageError when another is there already.

    With `force` they are overwritten. What is there as it would be written stays: a release may
    have brought the wheel.
    """
    taken = [path for path in files if os.path.lexists(path) and not _is(path, files[path])]
    if taken and not force:
        raise UsageError(
            say("exists-already", path=str(taken[0])),
            say("use-force-overwrite-or-move-away-first"),
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
            say("cannot-write-path", path=str(path), reason=str(error.strerror)),
            say("check-folder-and-permissions"),
        ) from None


def _locked(install: Installed) -> dict[Path, bytes]:
    if isinstance(install, Checkout):
        return {}  # they are in it
    return {LOCK / name: content for name, content in lock_files(install).items()}


def _source(install: Installed) -> dict[str, str]:
    checkout = install.folder if isinstance(install, Checkout) else ""
    lock = Path(checkout) / _OWN_LOCK if checkout else LOCK
    return {"LOCK": str(lock), "CHECKOUT": checkout}


def _recipe(name: str, choices: Choices) -> bytes:
    find_course_of(choices)
    words = {
        "SUBMISSIONS": submissions_pattern(choices.submissions),
        "ASSIGNMENT": choices.assignment or "",
        "COURSE": "" if choices.course is None else choices.course.as_posix(),
        "THRESHOLD": "" if choices.threshold is None else f"{choices.threshold:g}",
        **_source(choices.install),
    }
    plain = {"MINUTES": str(choices.minutes), "DIGEST": _digest(choices.install)}
    return fill(name, words, json.dumps, plain).encode()


def _digest(install: Installed) -> str:
    """Return a short name for what is installed, for the key of a cache."""
    files = lock_files(install)
    listed = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in files)
    return hashlib.sha256(listed.encode()).hexdigest()[:12]


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
    chosen = _choose(load_course(root), choices.assignment, "Gradescope")
    refuse_checkout(choices.install, "Gradescope")
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


def refuse_checkout(install: Installed, service: str) -> None:
    """Raise UsageError for what a service cannot install: it has no checkout of this project."""
    if isinstance(install, Checkout):
        raise UsageError(
            say("cannot-install-folder", service=service, folder=install.folder),
            say("leave-out-install-or-name-wheel-make"),
        )


def _choose(course: Course, slug: str | None, service: str) -> CourseAssignment:
    """Return the assignment: a service has one for each of its own. Raises GraderError."""
    if slug is None and len(course.assignments) > 1:
        known = ", ".join(sorted(course.assignments))
        raise UsageError(
            say("autograder-for-one-assignment", service=service),
            say("name-with-assignment-slug", known=known),
        )
    chosen = course.get(slug or next(iter(course.assignments)))
    if chosen.assignment.sandbox.minimum == "none":
        raise CourseError(
            say("writes-points-where-submissions-run", service=service),
            say("let-minimum-under-sandbox-in-assignment-toml"),
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


AUTOGRADER = Path("autograder.py")
RELEASE = "release.json"
"""What `grader release` leaves in the folder that it writes."""


def classroom50_files(choices: Choices) -> dict[Path, bytes]:
    """Return the bundle of an assignment in Classroom 50. Raises GraderError for what cannot be.

    Classroom 50 publishes bundles, so it takes a release: of a course it would publish the
    reference and hidden parts.
    """
    root = choices.directory if choices.course is None else choices.directory / choices.course
    if not (root / RELEASE).is_file():
        raise UsageError(
            say("no-release-and-classroom-50-publishes-bundles", course=str(root)),
            say("make-release-and-name-folder-grader-release"),
        )
    chosen = _choose(load_course(root), choices.assignment, "Classroom 50")
    refuse_checkout(choices.install, "Classroom 50")
    plain = {"SECONDS": str(choices.minutes * 60), "DIGEST": json.dumps(_digest(choices.install))}
    words = {"ASSIGNMENT": chosen.assignment.slug}
    script = fill("classroom50_autograder", words, json.dumps, plain)
    inside = PurePosixPath("course/assignments", chosen.folder.name)
    files = {
        **lock_files(choices.install),
        **_assignment_files(chosen.folder, inside),
        f"course/{RELEASE}": (root / RELEASE).read_bytes(),
    }
    return {AUTOGRADER: script.encode(), **{Path(name): each for name, each in files.items()}}
