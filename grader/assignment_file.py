"""Reading `assignment.toml`, and variants of it.

A variant is the same assignment under another rubric: `assignments/<slug>/variants/<name>/` has an
`assignment.toml` that says what is different there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from grader.assignment import Assignment
from grader.errors import CourseError
from grader.language import say

Tables = dict[str, Any]

_DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def load_assignment(path: Path) -> Assignment:
    """Read `assignment.toml`. Raises CourseError, naming the file and the field."""
    try:
        return _checked(msgspec.toml.decode(_read(path), type=Assignment))
    except _DAMAGE as error:
        raise _invalid(path, error) from None


def load_variant(path: Path, original: Path, slug: str) -> Assignment:
    """Read a variant of the assignment in the file `original`; it is called `slug`.

    Raises CourseError, naming the file and the field.
    """
    try:
        tables = merged(*(msgspec.toml.decode(_read(each)) for each in (original, path)))
        return _checked(msgspec.convert({**tables, "slug": slug}, Assignment))
    except _DAMAGE as error:
        raise _invalid(path, error) from None


def merged(tables: Tables, changes: Tables) -> Tables:
    """Return tables with what is different in a variant.

    Tables are merged key by key. So are tables in a list that have the same `id`; one that says
    `remove = true` is taken out, one with an `id` of its own stands at the end. All else takes the
    place of what was there. Raises ValidationError where nothing is there to take out.
    """
    found = dict(tables)
    for key, change in changes.items():
        original = found.get(key)
        if isinstance(original, dict) and isinstance(change, dict):
            found[key] = merged(original, change)
        elif _has_ids(original) and _has_ids(change):
            found[key] = _merged_lists(original, change)
        else:
            found[key] = change
    return found


def _has_ids(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and "id" in each for each in value
    )


def _merged_lists(originals: Any, changes: Any) -> list[Tables]:
    found = {each["id"]: each for each in originals}
    for change in changes:
        name = change["id"]
        if not change.get("remove", False):
            found[name] = merged(found.get(name, {}), change)
        elif found.pop(name, None) is None:
            raise msgspec.ValidationError(f"there is no {name!r} to remove")
    return list(found.values())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(
            say("Cannot read {path}: {strerror}.", path=str(path), strerror=str(error.strerror)),
            say("Check the path."),
        ) from None


def _invalid(path: Path, error: Exception) -> CourseError:
    return CourseError(
        say("{path} is not a valid assignment: {error}.", path=str(path), error=str(error)),
        say("See docs/assignment.md."),
    )


def _checked(assignment: Assignment) -> Assignment:
    """Return what a file says. Raises ValidationError for arguments of which there is nothing."""
    named = assignment.arguments
    if named.parameters and not assignment.data.parameters:
        raise msgspec.ValidationError("`parameters` under [arguments] need those of [data]")
    if assignment.oracle is None and (named.batch_size or named.input_shape or named.image):
        raise msgspec.ValidationError("batches under [arguments] need an [oracle]")
    if named.module and named.module_of not in {part.id for part in assignment.part}:
        raise msgspec.ValidationError("`module` under [arguments] needs a part in `module_of`")
    return assignment
