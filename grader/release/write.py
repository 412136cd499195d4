"""A release: the files of a folder that students may read, and the public assignments in it."""

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import tomli_w

from grader.assignment import ArgumentNames, Assignment, CheckTable, PartTable
from grader.assignment_files import GIVEN_FILE
from grader.authoring.master import has_master
from grader.authoring.template import build_templates
from grader.checks import kinds as registered
from grader.ci.wheel import Wheel, lock_files
from grader.course import Course, CourseAssignment
from grader.decoding import prepared
from grader.errors import CourseError, UsageError
from grader.evidence.registry import find_check
from grader.files import write_whole
from grader.language import say
from grader.release.secret import Digest, SolutionFingerprint, fingerprints
from grader.release.trim import named, of_kind, refuse_names, without_definitions, without_models

assert registered.__all__  # importing the package registers the checks

_LISTED = ("visible", "score_only")
"""What students are shown before the due date, in full or by its points."""

HEADER = "# Made by `grader release` from the complete assignment, which the instructors have.\n"


def public_assignment(assignment: Assignment) -> Assignment:
    """Return what students may read of an assignment.

    Hidden parts are left out, and so are checks that students hear of late or never. What decides
    the points of a check without its reason is withheld, and so is timing: the reference schedule
    is a solution. A part that a person marks is there without its rubric, which may tell the
    answer. Raises CourseError for a check of an unknown kind, UsageError where nothing is
    public.
    """
    kept = (_public_part(part) for part in assignment.part if not part.hidden)
    parts = tuple(part for part in kept if part.check)
    hidden = (_listed(part) for part in assignment.part if part.hidden)
    used = {part.computation for part in parts}
    manual = tuple(msgspec.structs.replace(part, item=()) for part in assignment.manual)
    return msgspec.structs.replace(
        assignment,
        part=parts,
        manual=manual,
        points=sum(part.points for part in parts) + sum(part.points for part in manual),
        withheld=assignment.withheld + sum(check.points for part in hidden for check in part),
        computation=tuple(each for each in assignment.computation if each.id in used),
        oracle=assignment.oracle if None in used else None,
        arguments=_public_arguments(assignment, parts, has_oracle=None in used),
        guide=tuple(
            each
            for each in assignment.guide
            if not each.part or any(each.is_for(part.id) for part in parts)
        ),
    )


def _public_arguments(
    assignment: Assignment, parts: tuple[PartTable, ...], *, has_oracle: bool
) -> ArgumentNames:
    """Return what entry points are given, as far as it is still there."""
    declared = assignment.arguments
    if not has_oracle:
        declared = msgspec.structs.replace(declared, batch_size=(), input_shape=(), image=())
    if all(part.id != declared.module_of for part in parts):
        declared = msgspec.structs.replace(declared, module_of="", module=())
    return declared


def hidden_names(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the functions of `oracle.py` that only what is hidden needs."""
    computations = {each.id for each in assignment.computation if not each.model}
    left = computations - {each.id for each in public.computation}
    of_model = {"expected", "model"} if assignment.oracle and not public.oracle else set()
    return frozenset({each.replace("-", "_") for each in left} | of_model)


def hidden_models(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the models of `models.py` that only hidden parts need."""
    kept = {each.model for each in public.computation}
    return frozenset(each.model for each in assignment.computation if each.model) - kept


def hidden_kinds(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the kinds of checks that only what is hidden needs."""
    every, kept = (
        {table.kind for part in each.part for table in part.check} for each in (assignment, public)
    )
    return frozenset(every - kept)


def encode_assignment(assignment: Assignment) -> bytes:
    """Return `assignment.toml` as it is made of a value: without comments, which may tell more."""
    return (HEADER + tomli_w.dumps(_plain(assignment))).encode()


def _public_part(part: PartTable) -> PartTable:
    checks = tuple(_public_check(part, table) for table in _listed(part))
    return msgspec.structs.replace(part, check=checks)


def _listed(part: PartTable) -> tuple[CheckTable, ...]:
    return tuple(table for table in part.check if part.visibility_of(table) in _LISTED)


def _public_check(part: PartTable, table: CheckTable) -> CheckTable:
    visibility = part.visibility_of(table)
    is_timed = "timing" in find_check(table).needs
    if visibility == "visible" and not is_timed:
        return table
    # A check that is withheld is not passed: were it required, it would block all others.
    options = table.options if visibility == "visible" else {}
    return msgspec.structs.replace(
        table, required=False, options=options, visibility=visibility, withheld=True
    )


def _plain(value: Any) -> Any:
    """Return a value as TOML knows it: a struct as a table of what is not its default."""
    if isinstance(value, msgspec.Struct):
        fields = {field.name: field for field in msgspec.structs.fields(value)}
        found = {name: getattr(value, name) for name in fields}
        return {
            name: _plain(each) for name, each in found.items() if each != _default(fields[name])
        }
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


MANIFEST = "release.json"
REFERENCE = "reference"
"""The function of `workload.py` that holds the course's own schedule."""

_GUIDE_FILE = "SELFCHECK.md"
_FOLDERS = ("assignments", "templates", ".grader")
_NAME_LENGTH = 256

_OF_ORACLE = ("expected", "model", "expected_workload")
_OF_WORKLOAD = ("VARIANTS", "baseline", "target")

GUIDE = """\
# Check your notebook

Install the grader in your notebook's environment. This adds 70 MB and keeps your PyTorch:

```
pip install .grader/{wheel}
```

Keep the notebook in this folder or below it, and run in it, as often as you like:

```
%load_ext grader
%grader check
```

If an import fails, `grader doctor` names the missing package.

`grader run NOTEBOOK` grades a whole notebook without hidden parts and the speed of schedules. It
needs `pip install '.grader/{wheel}[grading]'`.
"""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`release.json`: the SHA-256 of the archive that belongs to it, if there is one, and more.

    `files` are those of the release but this one, `solutions` what solutions are known by.
    """

    format: int
    files: tuple[str, ...]
    secret: Digest | None = None
    solutions: tuple[SolutionFingerprint, ...] = ()


def release_files(course: Course, wheel: Wheel, secret: str | None) -> dict[str, bytes]:
    """Return the files of a release by their names in it.

    `secret` is the SHA-256 of the archive of the complete course, None where there is none. Raises
    CourseError for what cannot be divided into public and hidden.
    """
    files = {_GUIDE_FILE: GUIDE.format(wheel=wheel.name).encode()}
    files |= {f".grader/{name}": content for name, content in lock_files(wheel).items()}
    for chosen in course.assignments.values():
        files |= public_files(chosen)
        files |= dict(_templates(course.root, chosen))
    manifest = Manifest(1, tuple(sorted(files)), secret, fingerprints(course))
    files[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
    return files


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a release, None where there is none. Raises CourseError."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=prepared(Manifest))
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CourseError(
            say("cannot-read", path=str(folder / MANIFEST), reason=str(error)),
            say("write-release-again"),
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
            say("course-itself", folder=str(folder)),
            say("choose-folder-outside-students-get-this-one"),
        )
    earlier = read_manifest(folder)
    known = set() if earlier is None else {*earlier.files, MANIFEST}
    gone = sorted(filter(_is_of_release, known - files.keys()))
    _refuse_links(folder, (*files, *gone))
    in_the_way = [name for name in files if name not in known and (folder / name).exists()]
    if in_the_way:
        raise UsageError(
            say("exists-already-and-not-earlier-release", path=str(folder / in_the_way[0])),
            say("move-away-or-name-another-folder"),
        )
    for name in gone:
        if (folder / name).is_file():
            (folder / name).unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def _refuse_links(folder: Path, names: Iterable[str]) -> None:
    ways = {folder / name: None for name in names}
    places = {each: None for way in ways for each in (way, *way.parents) if each != folder}
    link = next((each for each in places if folder in each.parents and each.is_symlink()), None)
    if link is not None:
        raise UsageError(say("path-link", path=str(link)), say("remove-release-written-one-folder"))


def _is_of_release(name: str) -> bool:
    """Say whether a release may have written a file: students may have written its manifest.

    By theirs `.git/config` was deleted.
    """
    path = PurePosixPath(name)
    is_path = all(part != ".." and len(part.encode()) < _NAME_LENGTH for part in path.parts)
    is_in_folder = len(path.parts) > 1 and path.parts[0] in _FOLDERS
    return name.isprintable() and is_path and (name in (MANIFEST, _GUIDE_FILE) or is_in_folder)


def public_files(chosen: CourseAssignment) -> dict[str, bytes]:
    """Return an assignment's files of a release by their names in it. Raises CourseError."""
    return dict(_assignment_files(chosen))


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
