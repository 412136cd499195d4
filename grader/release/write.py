"""A release: the files of a folder that students may read, made of a course."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from grader.assignment import Assignment
from grader.authoring.build import build_templates
from grader.authoring.master import has_master
from grader.ci.wheel import Wheel, lock_files
from grader.course import Course, CourseAssignment
from grader.errors import CourseError, UsageError
from grader.files import write_whole
from grader.given import GIVEN_FILE
from grader.release.public import (
    encode_assignment,
    hidden_kinds,
    hidden_models,
    hidden_names,
    public_assignment,
)
from grader.release.solutions import Digest, Fingerprint, fingerprints
from grader.release.trim import (
    named,
    of_kind,
    refuse_names,
    without_definitions,
    without_models,
)

MANIFEST = "release.json"
REFERENCE = "reference"
"""The function of `workload.py` that holds the course's own schedule."""

_OF_ORACLE = ("expected", "model", "expected_workload")
_OF_WORKLOAD = ("VARIANTS", "baseline", "target")

GUIDE = """\
# Check yourself

Install the grader where your notebook runs:

```
pip install .grader/{wheel}
```

Then ask in the notebook, as often as you like:

```
%load_ext grader
%grader check
```

The line leaves your PyTorch as it is and adds some sixty megabytes. Should a cell of imports fail,
`grader doctor` says what is missing.

Keep the notebook in this folder or below it: that is how the assignments are found.
`grader run NOTEBOOK` grades a whole notebook by what is here, and needs more:
`pip install '.grader/{wheel}[grading]'`. What is hidden, and the speed of schedules, your
instructors grade.
"""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`release.json`: the SHA-256 of the archive that belongs to it, if there is one, and more.

    `files` are those of the release but this one, `solutions` what solutions are known by.
    """

    format: int
    files: tuple[str, ...]
    secret: Digest | None = None
    solutions: tuple[Fingerprint, ...] = ()


def release_files(course: Course, wheel: Wheel, secret: str | None) -> dict[str, bytes]:
    """Return the files of a release by their names in it.

    `secret` is the SHA-256 of the archive of the complete course, None where there is none. Raises
    CourseError for what cannot be divided into public and hidden.
    """
    files = {"SELFCHECK.md": GUIDE.format(wheel=wheel.name).encode()}
    files |= {f".grader/{name}": content for name, content in lock_files(wheel).items()}
    for chosen in course.assignments.values():
        files |= dict(_assignment_files(chosen))
        files |= dict(_templates(course.root, chosen))
    manifest = Manifest(1, tuple(sorted(files)), secret, fingerprints(course))
    files[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    return files


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a release, None where there is none. Raises CourseError."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CourseError(
            f"{folder / MANIFEST} cannot be read: {error}.", "Make the release anew."
        ) from None


def write_release(folder: Path, files: dict[str, bytes], course: Course) -> None:
    """Write a release, over an earlier one: what that had and this has not is deleted.

    Other files in the folder stay. Raises UsageError for the course's own folder, and where another
    file or a link is in the way: students may push to where a release is kept.
    """
    if folder.resolve().is_relative_to((course.root / "assignments").resolve()) or (
        folder.resolve() == course.root.resolve()
    ):
        raise UsageError(
            f"{folder} is the course itself.", "Name a folder outside: students are to have it."
        )
    earlier = read_manifest(folder)
    known = set() if earlier is None else {*earlier.files, MANIFEST}
    gone = sorted(filter(_is_inside, known - files.keys()))
    _refuse_links(folder, (*files, *gone))
    in_the_way = [name for name in files if name not in known and (folder / name).exists()]
    if in_the_way:
        raise UsageError(
            f"{folder / in_the_way[0]} is there already, and of no earlier release.",
            "Move it away, or name another folder.",
        )
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def _refuse_links(folder: Path, names: Iterable[str]) -> None:
    ways = {folder / name: None for name in names}
    places = {each: None for way in ways for each in (way, *way.parents) if each != folder}
    link = next((each for each in places if folder in each.parents and each.is_symlink()), None)
    if link is not None:
        raise UsageError(f"{link} is a link.", "Remove it: a release is written to one folder.")


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _assignment_files(chosen: CourseAssignment) -> Iterator[tuple[str, bytes]]:
    """Yield what grading what is public needs: every other file of the assignment stays secret."""
    chosen.load_checks()
    whole = chosen.assignment
    public = public_assignment(whole)
    if not public.part:
        return
    folder = f"assignments/{whole.slug}"
    yield f"{folder}/assignment.toml", encode_assignment(public)
    oracle = (chosen.folder / "oracle.py").read_text(encoding="utf-8")
    needed = {*_OF_ORACLE, *(each.id.replace("-", "_") for each in public.computation)}
    hidden = named(hidden_names(whole, public))
    yield f"{folder}/oracle.py", _trimmed(oracle, f"{folder}/oracle.py", hidden, needed)
    if any(each.model for each in public.computation):
        models = without_models(chosen.models(), hidden_models(whole, public))
        yield f"{folder}/models.py", models.encode()
    if _has_target(public):
        text, file = chosen.workload(), f"{folder}/workload.py"
        yield file, _trimmed(text, file, named({REFERENCE}), _OF_WORKLOAD)
    given = chosen.folder / GIVEN_FILE
    if given.exists():  # digests of what students have
        yield f"{folder}/{GIVEN_FILE}", given.read_bytes()
    checks = chosen.folder / "checks.py"
    if checks.exists():
        text, file = checks.read_text(encoding="utf-8"), f"{folder}/checks.py"
        kinds = hidden_kinds(whole, public)
        trimmed = _trimmed(text, file, of_kind(kinds))
        refuse_names(trimmed.decode(), file, kinds)
        yield file, trimmed


def _trimmed(
    text: str, file: str, is_hidden: Callable[[ast.stmt], bool], needed: Iterable[str] = ()
) -> bytes:
    return without_definitions(text, file, is_hidden, needed).encode()


def _has_target(public: Assignment) -> bool:
    """Say whether a check that is made here reads `workload.py`: timing is withheld."""
    tables = (table for part in public.part for table in part.check)
    return any(table.kind == "target" and not table.withheld for table in tables)


def _templates(root: Path, chosen: CourseAssignment) -> Iterator[tuple[str, bytes]]:
    """Yield the templates: made of the master, or as they are where there is none."""
    slug = chosen.assignment.slug
    if has_master(root, slug):
        for name, content in build_templates(root, chosen).items():
            yield f"templates/{name}", content
        return
    folder = root / "templates"
    for path in (folder / f"{slug}.ipynb", *sorted(folder.glob(f"{slug}.*.ipynb"))):
        if path.exists():
            yield f"templates/{path.name}", path.read_bytes()
