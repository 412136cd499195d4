"""Rosters: who is in a class, from a file with commas that some system has exported.

Headers are recognised as Canvas' gradebook, Moodle's grading worksheet and list of participants,
Gradescope's roster, Brightspace's grades and GitHub Classroom's roster write them, and as one would
write them by hand. A student is matched by what identifies one, or by a name that nobody else has.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.lms.layouts import HandedIn
from grader.lms.names import Key
from grader.lms.tables import read_table

_LONGEST_FIELD = 10_000

_HEADERS: Mapping[str, str] = {
    "id": "id",
    "student id": "sid",
    "sid": "sid",
    "sis user id": "sid",
    "id number": "sid",
    "orgdefinedid": "sid",
    "identifier": "identifier",
    "name": "name",
    "full name": "name",
    "student": "name",
    "student name": "name",
    "first name": "first",
    "firstname": "first",
    "given name": "first",
    "last name": "last",
    "lastname": "last",
    "surname": "last",
    "family name": "last",
    "email": "email",
    "e-mail": "email",
    "email address": "email",
    "login": "user",
    "username": "user",
    "sis login id": "user",
    "github": "login",
    "github_username": "login",
    "github username": "login",
    "canvas id": "canvas",
    "section": "section",
}
"""What a header means, in lower case."""

_MOODLE_IDENTIFIER = re.compile(r"\D+(\d+)")
"""Of a grading worksheet: "Participant 1234", in the site's language."""

_NOT_STUDENTS = frozenset({"points possible", "student, test"})
"""Rows of Canvas' gradebook that are nobody's."""


class Person(msgspec.Struct, frozen=True):
    """A student of a roster. `id` is unique in it; `keys` are what else identifies the student."""

    id: str
    name: str
    keys: Mapping[Key, str]
    section: str = ""


class Roster:
    """The students of a class, and whose something is that was handed in."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(people)
        self._by_key: dict[tuple[str, str], Person | None] = {}
        for person in self.people:
            for key, value in _all_keys(person):
                known = self._by_key.setdefault((key, value), person)
                if known is not person:
                    self._by_key[key, value] = None  # two have it: it says nothing
        counts = Counter(form for person in self.people for form in _forms(person.name))
        self._by_name = {
            form: person
            for person in self.people
            for form in _forms(person.name)
            if counts[form] == 1
        }

    def find(self, handed_in: HandedIn) -> Person | None:
        """Return whose it is; None where nothing says so, or it might be two people's."""
        found = {
            person.id: person
            for key, value in handed_in.keys.items()
            if (person := self._of_key(key, _folded(value))) is not None
        }
        if not found and handed_in.name:
            named = self._by_name.get(_squeezed(handed_in.name))
            found = {} if named is None else {named.id: named}
        return next(iter(found.values())) if len(found) == 1 else None

    def _of_key(self, key: Key, value: str) -> Person | None:
        if key != "folder":
            return self._by_key.get((key, value))
        keys = ("id", "sid", "email", "user", "login", "canvas")
        people = {p.id: p for each in keys if (p := self._by_key.get((each, value))) is not None}
        if not people:  # a clone of GitHub Classroom's: the assignment, a hyphen, the login
            logins = [
                (len(login), person)
                for (kind, login), person in self._by_key.items()
                if kind == "login" and person is not None and value.endswith(f"-{login}")
            ]
            longest = max((length for length, _ in logins), default=0)
            people = {person.id: person for length, person in logins if length == longest}
        return next(iter(people.values())) if len(people) == 1 else None


def read_roster(path: Path) -> Roster:
    """Read a roster. Raises UsageError that says which line or header is not as it should be."""
    table = read_table(path)
    names = [each.strip().casefold() for each in table.header]
    header = [_HEADERS.get(each, "") for each in names]
    if not {"id", "sid", "name", "last", "email", "login", "user"} & set(header):
        raise UsageError(
            f"No header of {path.name} says which column is what.",
            "Let its first line name them, as: id,name,email,github,section",
        )
    found = (_person(_fields(header, row), is_canvas="student" in names) for row in table.rows)
    people = [person for person in found if person is not None]
    _refuse_twins(people, path)
    return Roster(people)


def _fields(header: list[str], row: list[str]) -> dict[str, str]:
    """Return the fields of a row by what they mean; the first of two that mean the same."""
    fields: dict[str, str] = {}
    for meaning, value in zip(header, row, strict=False):
        text = value.strip()[:_LONGEST_FIELD]
        if meaning and text:
            fields.setdefault(meaning, text)
    return fields


def _person(fields: Mapping[str, str], *, is_canvas: bool) -> Person | None:
    """Return the student of a row; None where it is nobody's."""
    name = fields.get("name") or " ".join(
        fields[each] for each in ("first", "last") if each in fields
    )
    if name.casefold() in _NOT_STUDENTS:
        return None
    keys: dict[Key, str] = {key: fields[key] for key in _KEYS if key in fields}
    if is_canvas and "id" in fields:
        keys["canvas"] = fields["id"]
    participant = _MOODLE_IDENTIFIER.fullmatch(fields.get("identifier", ""))
    if participant is not None:
        keys["moodle"] = participant[1]
    own = "" if is_canvas else fields.get("id", "")
    if "identifier" in fields and participant is None:
        own = own or fields["identifier"]
    best = next(
        (each for each in (own, *(keys.get(k, "") for k in _IDS), name) if each),
        "",
    )
    if not best:
        return None
    return Person(best, name, keys, fields.get("section", ""))


_KEYS: tuple[Key, ...] = ("sid", "email", "user", "login", "canvas")
_IDS: tuple[Key, ...] = ("user", "sid", "login", "email", "canvas", "moodle")
"""What a student is called by who has no id, the best first."""


def _refuse_twins(people: Iterable[Person], path: Path) -> None:
    counts = Counter(_folded(person.id) for person in people)
    twins = [each for each, count in counts.items() if count > 1]
    if twins:
        raise UsageError(
            f"Two students of {path.name} are called {twins[0]}.",
            "Give it a column that tells them apart, such as id or email.",
        )


def _all_keys(person: Person) -> list[tuple[str, str]]:
    return [("id", _folded(person.id)), *((k, _folded(v)) for k, v in person.keys.items())]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _squeezed(name: str) -> str:
    """Return the letters and digits of a name: Canvas writes no others."""
    return "".join(each for each in _folded(name) if each.isalnum())


def _forms(name: str) -> set[str]:
    """Return how a name may be written: "Ada Lovelace", "Lovelace, Ada", `lovelaceada`.

    A name of several words has several places where the family's may begin.
    """
    last, comma, first = name.partition(",")
    words = [*first.split(), *last.split()] if comma else name.split()
    turned = (words[at:] + words[:at] for at in range(len(words)))
    return {_squeezed("".join(each)) for each in turned} - {""}
