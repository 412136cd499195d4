"""The files of an assignment: its `assignment.toml` with variants, and what it gives.

A variant is the same assignment under another rubric: `assignments/<slug>/variants/<name>/` has an
`assignment.toml` that says what is different there.

`given.json` beside `assignment.toml` lists the modules that are given. It holds digests
(`ir/form.py`) and no code, so handouts that are not the course's to publish can be known as well.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grader.assignment import Assignment
from grader.decoding import prepared
from grader.errors import CourseError, Mistake, MistakeError
from grader.language import say
from grader.refusals import Place, places
from grader.refusals import told as told_refusal

Tables = dict[str, Any]

_DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def load_assignment(path: Path) -> Assignment:
    """Read `assignment.toml`. Raises CourseError, naming the file and the field."""
    return decode_assignment(path, _read(path))


def decode_assignment(path: Path, content: bytes) -> Assignment:
    """Return what a file would say with this content. Raises CourseError, naming the field."""
    try:
        return _checked(msgspec.toml.decode(content, type=prepared(Assignment)))
    except _DAMAGE as error:
        raise _invalid(path, error, content) from None


def load_variant(path: Path, original: Path, slug: str) -> Assignment:
    """Read the variant `slug` of the assignment in the file `original`. Raises CourseError."""
    try:
        tables = merged(*(msgspec.toml.decode(_read(each)) for each in (original, path)))
        return _checked(msgspec.convert({**tables, "slug": slug}, prepared(Assignment)))
    except _DAMAGE as error:
        raise _invalid(path, error, path.read_bytes()) from None


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
            say("cannot-read", path=str(path), reason=str(error.strerror)),
            say("check-path"),
        ) from None


def _invalid(path: Path, error: Exception, content: bytes) -> MistakeError:
    told = _BEGINS_WITH_A_MARK if content.startswith(BOM_UTF8) else told_refusal(error, Assignment)
    problem = say("not-valid-assignment", error=told)
    line = find_line(content.decode("utf-8", "replace"), str(error))
    return MistakeError(Mistake("toml", path, line, problem, say("see-docs-assignment-md")))


_BEGINS_WITH_A_MARK = say("starts-with-byte-order-mark-save")


# --- where in a TOML file -------------------------------------------------------------------------
# msgspec names the field (`$.part[0].check[1]`), and an editor wants its line.

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?\Z")
_KEY = re.compile(r"\s*([\w.-]+)\s*=\s*(?:[\"']([^\"']*)[\"'])?")
_AT = re.compile(r" - at `\$([^`]*)`")
_SAYS_LINE = re.compile(r"at line (\d+)")


class _Entry(NamedTuple):
    place: Place
    line: int
    value: str = ""


def find_line(text: str, message: str) -> int | None:
    """Return the line of a TOML file that a decoder's message is about; None for all of it.

    Without a path in the message it is the line of a key, or of the table of an id, that it names.
    """
    told = _SAYS_LINE.search(message)
    if told:
        return int(told[1])
    entries = list(_entries(text))
    at = _AT.search(message)
    place = places(at[1] if at else "")
    keys = re.findall(r"`([\w-]+)`", message.split(" - at ")[0])
    shortened = (place[:length] for length in range(len(place), 0, -1))
    for wanted in (*((*place, key) for key in keys), *shortened):
        line = next((each.line for each in entries if each.place == wanted), None)
        if line is not None:
            return line
    words = set(re.findall(r"[\w-]+", message))
    named = (each.line for each in entries if each.place[-1] == "id" and each.value in words)
    return next(named, None)


def _entries(text: str) -> Iterator[_Entry]:
    """Return the tables and keys of a file. Of what spans several lines the first counts."""
    counts: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _place_of_table(header[2], header[1] == "[[", counts)
            yield _Entry(table, number)
        elif key:
            yield _Entry((*table, *key[1].split(".")), number, key[2] or "")


def _place_of_table(name: str, is_list: bool, counts: dict[Place, int]) -> Place:
    """Return where a table is: `part.check` is in the part that was begun last."""
    place: Place = ()
    *outer, last = (each.strip(" \"'") for each in name.split("."))
    for step in outer:
        place = (*place, step)
        place = (*place, counts[place] - 1) if place in counts else place
    place = (*place, last)
    if is_list:
        counts[place] = counts.get(place, 0) + 1
        place = (*place, counts[place] - 1)
    return place


def _checked(assignment: Assignment) -> Assignment:
    """Return what a file says. Raises ValidationError for arguments of which there is nothing."""
    named = assignment.arguments
    if named.parameters and not assignment.data.parameters:
        raise msgspec.ValidationError("`parameters` under [arguments] need those of [data]")
    if assignment.oracle is None and (named.batch_size or named.input_shape or named.image):
        raise msgspec.ValidationError("batches under [arguments] need an [oracle]")
    has_base = named.module_of in {part.id for part in assignment.part}
    if named.module and not has_base:
        raise msgspec.ValidationError("`module` under [arguments] needs a part in `module_of`")
    if not has_base and any(part.entry_kind == "space" for part in assignment.part):
        raise msgspec.ValidationError(
            "a space is of a part's module: [arguments] needs `module_of`"
        )
    return assignment


GIVEN_FILE = "given.json"


class GivenForms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


_DECODER = msgspec.json.Decoder(prepared(GivenForms))


def load_given(folder: Path) -> GivenForms:
    """Return what an assignment gives; nothing without the file. Raises CourseError."""
    path = folder / GIVEN_FILE
    if not path.exists():
        return GivenForms()
    try:
        return _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise CourseError(
            say("cannot-read", path=str(path), reason=str(error)),
            say("make-again-with-tools-make-given-py"),
        ) from error
