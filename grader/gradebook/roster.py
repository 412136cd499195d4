"""Who is in the course: students, how they are found, and rosters as other systems write them."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from grader.errors import UsageError
from grader.gradebook.grades import Value
from grader.render.wording import one_line

LIMIT: Final = 16 * 2**20
"""Bytes of the largest roster that is read."""

_TOLD = 5
"""So many people, or columns, are named in a sentence."""

_LOGIN = "login"
_HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    _LOGIN: (
        *("login", "username", "user name", "sis login id", "student id", "identifier"),
        *("sis user id", "id number", "student number", "org defined id", "orgdefinedid", "id"),
    ),
    "name": ("name", "full name", "student name", "student"),
    "first": ("first name", "given name"),
    "last": ("last name", "surname", "family name"),
    "email": ("email", "email address", "mail"),
    "section": ("section", "sections", "group", "groups"),
    "github": ("github", "github username", "github login"),
}
"""What columns are called, in Canvas, Moodle, Gradescope, GitHub Classroom and Brightspace. Of
several that would do, the first in this list is taken."""

_POINTS_ROW = "points possible"
"""The name in the row of Canvas that has the points of assignments, and no student."""


class Student(Value, frozen=True):
    """Somebody in the roster. `login` is what an instructor calls them by, and never changes.

    `lms` has their ids elsewhere, by the name of the system. `withdrawn` is when they left.
    """

    id: int
    login: str
    name: str
    email: str
    section: str
    github: str
    lms: dict[str, str]
    withdrawn: datetime | None = None


def folded(word: str) -> str:
    """Return a word as it is compared: however its letters are composed, in either case."""
    return " ".join(unicodedata.normalize("NFC", word).casefold().split())


def find_student(students: Sequence[Student], word: str) -> Student:
    """Return who is meant: by login, e-mail, GitHub login or name, whichever says it first.

    Raises UsageError where that is nobody, or several.
    """
    exact = [each for each in students if each.login == unicodedata.normalize("NFC", word)]
    wanted = folded(word)
    for kind in ("login", "email", "github", "name"):
        found = exact or [each for each in students if folded(getattr(each, kind)) == wanted]
        if len(found) == 1:
            return found[0]
        if found and wanted:
            named = ", ".join(each.login for each in found[:_TOLD])
            more = f" and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
            raise UsageError(
                f"{len(found)} students are called {word!r}: {named}{more}.",
                "Name one by the word that the roster has for them.",
            )
    raise UsageError(f"Nobody in the roster is called {word!r}.", "See: grader grades list")


class Entry(Value, frozen=True):
    """A line of a roster; `fields` are those that it has a column for, `lms` its other ids."""

    login: str
    fields: dict[str, str]
    lms: dict[str, str]


class Changes(Value, frozen=True):
    """What a roster changes, by logins: of who is `changed`, the fields with what they were.

    `missing` are in the gradebook and not in the roster. `rows` is what is to be written.
    """

    added: tuple[str, ...]
    changed: dict[str, dict[str, tuple[str, str]]]
    returned: tuple[str, ...]
    missing: tuple[str, ...]
    unchanged: int
    rows: tuple[dict[str, object], ...]


def read_roster(path: Path) -> tuple[Entry, ...]:
    """Read a table with recognised headers. Raises UsageError that names the line."""
    lines = list(_lines(path))
    if not lines:
        raise UsageError(f"{path.name} is empty.", "Export the roster once more.")
    columns = _columns(path, lines[0][1])
    found: dict[str, tuple[int, Entry]] = {}
    for number, cells in lines[1:]:
        entry = _entry(path, number, cells, lines[0][1], columns)
        if entry is None:
            continue
        before = found.setdefault(folded(entry.login), (number, entry))
        if before[0] != number:
            raise UsageError(
                f"Lines {before[0]} and {number} of {path.name} both are {entry.login}.",
                "Every student has one line: remove one, or give them different ids.",
            )
    return tuple(entry for _, entry in found.values())


def plan(students: Iterable[Student], entries: Iterable[Entry]) -> Changes:
    """Say what a roster changes. Nobody is matched by name: two students may have the same one."""
    known = {folded(each.login): each for each in students}
    added, changed, returned, rows, unchanged = [], {}, [], [], 0
    for entry in entries:
        before = known.pop(folded(entry.login), None)
        if before is None:
            added.append(entry.login)
            rows.append(_row(entry.login, entry, {}))
            continue
        moved = {
            name: (getattr(before, name), value)
            for name, value in entry.fields.items()
            if getattr(before, name) != value
        }
        if moved:
            changed[before.login] = moved
        if before.withdrawn is not None:
            returned.append(before.login)
        if moved or before.withdrawn is not None or not entry.lms.items() <= before.lms.items():
            rows.append(_row(before.login, entry, before.lms))
        else:
            unchanged += 1
    missing = tuple(each.login for each in known.values() if each.withdrawn is None)
    return Changes(tuple(added), changed, tuple(returned), missing, unchanged, tuple(rows))


def _row(login: str, entry: Entry, lms: Mapping[str, str]) -> dict[str, object]:
    return {"login": login, **entry.fields, "lms": {**lms, **entry.lms}}


def _lines(path: Path) -> Iterable[tuple[int, list[str]]]:
    """Yield the lines that are not empty, with their numbers."""
    text = _text(path)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            clean = [one_line(cell) for cell in cells]
            if any(clean):
                yield reader.line_num, clean
    except csv.Error as error:
        raise UsageError(
            f"Line {reader.line_num} of {path.name} is not CSV: {error}.",
            "Export the roster as CSV once more.",
        ) from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.", "Check the name.") from None
    if len(content) > LIMIT:
        raise UsageError(f"{path.name} is larger than {LIMIT >> 20} MB.", "Is it a roster?")
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(
            f"{path.name} is not text in UTF-8.", 'Save it as "CSV UTF-8": names would be wrong.'
        ) from None


def _columns(path: Path, header: Sequence[str]) -> dict[str, int]:
    """Return which column has which field. Raises UsageError where nothing identifies students."""
    places = {
        folded(name.replace("_", " ").replace("-", " ")): at for at, name in enumerate(header)
    }
    places = {name.replace("e mail", "email"): at for name, at in places.items()}
    found = {
        field: next(places[name] for name in names if name in places)
        for field, names in _HEADERS.items()
        if any(name in places for name in names)
    }
    if _LOGIN not in found and "email" in found:
        found[_LOGIN] = found["email"]
    if _LOGIN not in found:
        seen = ", ".join(header[:_TOLD])
        raise UsageError(
            f"Nothing in {path.name} says who is who: its columns are {seen}.",
            "It needs a column called login, username, student id, id or email.",
        )
    return found


def _entry(
    path: Path, number: int, cells: Sequence[str], header: Sequence[str], columns: dict[str, int]
) -> Entry | None:
    """Return what a line says, None for the line of Canvas that is no student's."""
    told = {field: cells[at] if at < len(cells) else "" for field, at in columns.items()}
    login = unicodedata.normalize("NFC", told.pop(_LOGIN))
    if not login:
        if folded(told.get("name", "")) == _POINTS_ROW:
            return None
        raise UsageError(
            f"Line {number} of {path.name} does not say who it is.",
            f"Fill in {header[columns[_LOGIN]]}, or remove the line.",
        )
    names = told.pop("first", ""), told.pop("last", "")
    if any(names):
        told["name"] = told.get("name") or " ".join(filter(None, names))
    ids = {folded(name) for name in _HEADERS[_LOGIN]}
    lms = {
        name: cells[at]
        for at, name in enumerate(header)
        if at != columns[_LOGIN]
        and at < len(cells)
        and cells[at]
        and folded(name.replace("_", " ")) in ids
    }
    return Entry(
        login, {name: unicodedata.normalize("NFC", each) for name, each in told.items()}, lms
    )
