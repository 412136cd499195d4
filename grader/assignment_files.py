"""The files of an assignment: its `assignment.toml` with variants, and what it gives.

A variant is the same assignment under another rubric: `assignments/<slug>/variants/<name>/` has an
`assignment.toml` that says what is different there.

`given.json` beside `assignment.toml` lists the modules that are given. It holds digests
(`ir/form.py`) and no code, so handouts that are not the course's to publish can be known as well.
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


GIVEN_FILE = "given.json"


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forms of functions and modules that are never paid for.

    `given` are no answer under any name. `shown` are answers where a text shows how it is done and
    the exercise is to do it again: they count under the name that was asked for, and not where
    nobody gave them one.
    """

    given: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()

    def refuses(self, form: str, *, by_name: bool) -> bool:
        """Say whether what has a form is no answer, under the name asked for or another one."""
        return form in self.given or (form in self.shown and not by_name)


_DECODER = msgspec.json.Decoder(Given)


def load_given(folder: Path) -> Given:
    """Return what the assignment in a folder gives; nothing where no file says. Raises CourseError.

    The file is the course's own.
    """
    path = folder / GIVEN_FILE
    if not path.exists():
        return Given()
    try:
        return _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise CourseError(
            say("{path} cannot be read: {error}", path=str(path), error=str(error)),
            say("Make it again with tools/make_given.py; see docs/assignment.md."),
        ) from error


def encode_given(given: Given) -> bytes:
    """Return the file's content: sorted, one form on a line."""
    lists = {"given": sorted(given.given), "shown": sorted(given.shown - given.given)}
    return msgspec.json.format(msgspec.json.encode(lists), indent=2) + b"\n"
