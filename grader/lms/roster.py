"""Whose something is that was handed in: students, and what each of them is known by.

A student is matched by what identifies one, or by a name that nobody else has.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from grader.gradebook.entries import RosterEntry, folded
from grader.gradebook.entries import read_roster as read_entries
from grader.lms.choices import ENDINGS, Key, Layout
from grader.lms.delivery import Delivery

_KEYS: Mapping[str, Key] = {
    "sis login id": "user",
    "login": "user",
    "username": "user",
    "user name": "user",
    "sis user id": "sid",
    "student id": "sid",
    "id number": "sid",
    "student number": "sid",
    "org defined id": "sid",
    "orgdefinedid": "sid",
    "sid": "sid",
    "canvas id": "canvas",
    "canvas user id": "canvas",
    "moodle user id": "moodle_user",
    "lti user id": "lti",
}
"""What the numbers and words in a column of a roster are, by its header."""

_OF_CANVAS = frozenset({"sis login id", "sis user id"})
"""Columns of Canvas alone: the column ID beside them has its own numbers."""

_MEANT: Mapping[Key, tuple[str, ...]] = {
    "folder": ("id", "sid", "email", "user", "login", "canvas", "folder"),
    "user": ("user", "id"),
}
"""By what a roster may have it: logins of the university are often its ids."""

_DIGITS = re.compile(r"[0-9]+")
_PARTICIPANT = re.compile(r"\D+(\d+)")
"""Of Moodle's grading worksheet: "Participant 1234", in the site's language."""


class RosterPerson(msgspec.Struct, frozen=True):
    """A student of a roster. `id` is unique in it; `keys` are what else identifies the student."""

    id: str
    name: str
    keys: Mapping[Key, str]
    section: str = ""


class Roster:
    """The students of a class, and whose something is that was handed in."""

    def __init__(self, people: Iterable[RosterPerson]) -> None:
        self.people = tuple(people)
        self._by_key: dict[tuple[str, str], RosterPerson | None] = {}
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

    def known_by(self, key: Key) -> frozenset[str]:
        """Return what one student alone is known by, such as a login of GitHub."""
        return frozenset(value for _, value in self._by_key if self._of_key(key, value) is not None)

    def find(self, handed_in: Delivery) -> RosterPerson | None:
        """Return whose it is; None where nothing says so, or it might be two people's."""
        found = self._by_keys(handed_in)
        if not found:
            named = self._of_name(handed_in)
            found = {} if named is None or _is_another(named, handed_in) else {named.id: named}
        return _only(found)

    def _by_keys(self, handed_in: Delivery) -> dict[str, RosterPerson]:
        """Return by their ids all of whom something that identifies students says it."""
        found = {
            person.id: person
            for key, value in handed_in.keys.items()
            if (person := self._of_key(key, _plain(value))) is not None
        }
        numbered = (self._of_number(key, handed_in) for key in ("canvas", "number"))
        return found or {person.id: person for person in numbered if person is not None}

    def _of_number(self, key: Key, handed_in: Delivery) -> RosterPerson | None:
        """Return who has a number that may be Canvas', and the name as well.

        A number of the university alone would be another student's number of Canvas.
        """
        other = "number" if key == "canvas" else "canvas"
        person = self._by_key.get((other, _plain(handed_in.keys.get(key, ""))))
        is_named = person is not None and _squeezed(handed_in.name) in _forms(person.name)
        return person if is_named else None

    def _of_name(self, handed_in: Delivery) -> RosterPerson | None:
        """Return who alone has a name: the one that is told, or that of a folder."""
        name = handed_in.name or handed_in.keys.get("folder", "")
        person = self._by_name.get(_squeezed(name))
        return person if person or "moodle" not in handed_in.keys else self._of_group(name)

    def _of_group(self, name: str) -> RosterPerson | None:
        """Return who is meant by "Team A-Ada Lovelace", as Moodle names works of groups.

        The group has to be the student's: "Jean-Luc Picard" is not Luc Picard.
        """
        found = {}
        for at, letter in enumerate(name):
            person = self._by_name.get(_squeezed(name[at + 1 :])) if letter == "-" else None
            if person is not None and _squeezed(name[:at]) in _groups(person):
                found[person.id] = person
        return _only(found)

    def _of_key(self, key: Key, value: str) -> RosterPerson | None:
        keys = _MEANT.get(key, (key,))
        return _only({p.id: p for each in keys if (p := self._by_key.get((each, value)))})


def _only(found: Mapping[str, RosterPerson]) -> RosterPerson | None:
    return next(iter(found.values())) if len(found) == 1 else None


def _groups(person: RosterPerson) -> set[str]:
    return {_squeezed(each) for each in re.split(r"[,;]", person.section)} - {""}


def _is_another(person: RosterPerson, handed_in: Delivery) -> bool:
    """Say whether somebody has a student's name and is not that student: by another number."""
    return any(_plain(person.keys.get(k, v)) != _plain(v) for k, v in handed_in.keys.items())


def with_logins(
    handed_in: Sequence[Delivery], layout: Layout, roster: Roster
) -> tuple[Delivery, ...]:
    """Return what was handed in with the logins that the names of some layouts end in."""
    if layout not in ENDINGS:
        return tuple(handed_in)
    hyphen, key = ENDINGS[layout]
    names = [each.keys.get("folder", "") for each in handed_in]
    prefix = clone_prefix(names, roster.known_by(key), hyphen)
    return tuple(
        replace(each, keys={**each.keys, key: name.removeprefix(prefix)})
        if prefix and (name := each.keys.get("folder", "")).startswith(prefix) and name != prefix
        else each
        for each in handed_in
    )


def clone_prefix(names: Sequence[str], logins: Container[str], hyphen: str) -> str:
    """Return what clones are called before the login: the assignment and a hyphen.

    Both may have hyphens: `hw-x-ada` is the login `x-ada`, or the assignment `hw-x`. All clones
    begin alike, so it is what most begin with, and then most are in the roster. It is empty where
    that is not certain, as of one clone alone.
    """
    begun = Counter(name[: at + 1] for name in names for at, c in enumerate(name) if c == hyphen)
    counts = {
        prefix: sum(_plain(n[len(prefix) :]) in logins for n in names if n.startswith(prefix))
        for prefix, count in begun.items()
        if count > 1 and 2 * count > len(names)
    }
    most = max(counts.values(), default=0)
    best = [prefix for prefix, count in counts.items() if count == most]
    return best[0] if most and len(best) == 1 else ""


class Acquainted(Roster):
    """Those who were matched before, by what they were known by then.

    A name alone says nothing of them: who else has it may not have handed in before.
    """

    def find(self, handed_in: Delivery) -> RosterPerson | None:
        """Return whose it is; None where no number, address or login says so."""
        return _only(self._by_keys(replace(handed_in, name="")))


def read_roster(path: Path) -> Roster:
    """Read a roster as `grader roster import` does, with the same words for the students.

    Raises UsageError that says which line or header is not as it should be.
    """
    return Roster(_person(entry) for entry in read_entries(path))


def _person(entry: RosterEntry) -> RosterPerson:
    name, section = entry.fields.get("name", ""), entry.fields.get("section", "")
    return RosterPerson(entry.login, name, keys_of(entry), section)


def keys_of(entry: RosterEntry) -> dict[Key, str]:
    """Return what identifies a student elsewhere, by the columns of a roster."""
    ids = {folded(name.replace("_", " ")): value for name, value in entry.lms.items()}
    ids[folded(entry.source.replace("_", " "))] = entry.login
    keys = {_KEYS[name]: value for name, value in ids.items() if name in _KEYS}
    named: Mapping[str, Key] = {"email": "email", "github": "login"}
    keys |= {key: entry.fields[name] for name, key in named.items() if entry.fields.get(name)}
    if "id" in ids and (ids.keys() & _OF_CANVAS or _DIGITS.fullmatch(ids["id"])):
        keys["canvas" if ids.keys() & _OF_CANVAS else "number"] = ids["id"]
    participant = _PARTICIPANT.fullmatch(ids.get("identifier", ""))
    if participant is not None:
        keys["moodle"] = participant[1]
    return keys


def _all_keys(person: RosterPerson) -> list[tuple[str, str]]:
    return [("id", _plain(person.id)), *((k, _plain(v)) for k, v in person.keys.items())]


def _plain(text: str) -> str:
    """Return a text as it is compared. Brightspace puts `#` before numbers, for spreadsheets."""
    return unicodedata.normalize("NFKC", text).strip().removeprefix("#").casefold()


def _squeezed(name: str) -> str:
    """Return the letters and digits of a name, with the marks on them: Canvas writes no others.

    Without its marks one name in Devanagari or Thai would be another one.
    """
    return "".join(each for each in _plain(name) if unicodedata.category(each)[0] in "LMN")


_WORDS = 12


def _forms(name: str) -> set[str]:
    """Return how a name may be written: "Ada Lovelace", "Lovelace, Ada", `lovelaceada`.

    A name of several words has several places where the family's may begin; one of more than
    anybody has, as 10,000 in a display name, has one.
    """
    last, comma, first = name.partition(",")
    words = [*first.split(), *last.split()] if comma else name.split()
    told = [_squeezed(each) for each in words]
    return {"".join(told[at:] + told[:at]) for at in range(min(len(told), _WORDS))} - {""}
