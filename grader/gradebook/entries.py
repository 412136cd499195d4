"""What the gradebook is about, without its database: students, and what is entered of attempts."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from grader.errors import UsageError
from grader.language import Text, foreign, in_a_row, in_clauses, say
from grader.lateness import NONE
from grader.moodle_worksheet import english_header
from grader.render.wording import one_line
from grader.tables import as_before_harmless, read_table

_HUNDREDTH = Decimal("0.01")


class Value(msgspec.Struct, frozen=True, gc=False):
    """Base of what the gradebook hands out.

    Nothing of it leads back to itself, so that no collector of garbage need look at it: in a large
    class it would do so over and over, and a student would cost the more, the more there are.
    """


class PartPoints(Value, frozen=True):
    """What a grading gave for one part. `open` are points that a person has yet to give."""

    id: str
    score: Decimal
    max_score: Decimal
    open: Decimal = NONE


class Grading(Value, frozen=True):
    """What a run of the grader gave. What is not `settled` is to be graded again.

    `basis` is the digest of what decided, `rubric` that of what it was worth.
    """

    id: int
    score: Decimal
    max_score: Decimal
    parts: tuple[PartPoints, ...]
    settled: bool
    graded: datetime
    grader: str
    basis: str = ""
    rubric: str = ""


class Chosen(Value, frozen=True):
    """An item of a rubric that was chosen, as it was then: what it says, and its points."""

    id: str
    text: str
    points: Decimal
    texts: dict[str, str] = {}


class Marking(Value, frozen=True):
    """What a person chose of a part's rubric, and what they said besides."""

    items: tuple[Chosen, ...] = ()
    comment: str = ""

    @property
    def reason(self) -> Text:
        """The items with their points, and the comment."""
        items = (
            say("item-points", item=foreign(each.text, each.texts), points=signed(each.points))
            for each in self.items
        )
        said = in_clauses(items) if self.items else say("no-rubric-item")
        return in_clauses((said, foreign(self.comment))) if self.comment else said


class Adjustment(Value, frozen=True):
    """Points that are added, or a factor that is multiplied by, to a part or to all if it is empty.

    `takes_back` is the number of another adjustment, which then counts as little as this one.
    `marking` is what the points were given for, where a person has marked the part.
    """

    id: int
    part: str
    points: Decimal | None
    factor: Decimal | None
    takes_back: int | None
    reason: str
    who: str
    recorded: datetime
    marking: Marking | None = None


class Attempt(Value, frozen=True):
    """One file that was handed in. `number` counts a student's attempts at an assignment from 1.

    `handed_in` is None where nobody has said when that was; `gradings` are in order. `told_late`
    says that the LMS calls it late, which Canvas does without a time. Attempts that were handed in
    `together` have the same word there, others an empty one or their own.
    """

    id: int
    number: int
    name: str
    sha256: str
    handed_in: datetime | None
    recorded: datetime
    gradings: tuple[Grading, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    told_late: bool = False
    together: str = ""

    def given(self, part: str) -> tuple[Adjustment, ...]:
        """Return the entries that give a part points, in order; () where it is not marked."""
        return entries_of(self.adjustments, part)


def valid(adjustments: Iterable[Adjustment]) -> tuple[Adjustment, ...]:
    """Return the adjustments that count: those that nobody took back."""
    every = tuple(adjustments)
    undone = {each.takes_back for each in every}
    return tuple(each for each in every if each.takes_back is None and each.id not in undone)


def entries_of(adjustments: Iterable[Adjustment], part: str) -> tuple[Adjustment, ...]:
    """Return the adjustments that count and give points to a part, in order."""
    found = (each for each in valid(adjustments) if each.part == part)
    return tuple(each for each in found if each.points is not None)


class Extension(Value, frozen=True):
    """A later due date for one student; without a date it takes back those before it."""

    due: datetime | None
    reason: str
    who: str
    recorded: datetime


def show(points: Decimal) -> str:
    """Return points with at most two decimals and no zeros at the end: 40, 37.5, 33.33."""
    text = format(rounded(points), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(points: Decimal) -> str:
    """Return points with their sign and all of their digits: +3, -0.5, -0.005.

    Rounded, an adjustment of -0.005 read as -0.01, and two of them took 0.01 in all.
    """
    return f"{points.normalize() + NONE:+f}"


def rounded(points: Decimal) -> Decimal:
    """Return points to a hundredth; half of one counts as a whole."""
    return points.quantize(_HUNDREDTH, ROUND_HALF_UP) + NONE


# Who is in the course: students, how they are found, and rosters as other systems write them.


_TOLD = 5
"""So many people, or columns, are named in a sentence."""

_LOGIN = "login"
_HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    _LOGIN: (
        *("login", "username", "user name", "sis login id", "student id", "identifier"),
        *("sis user id", "id number", "student number", "org defined id", "orgdefinedid", "sid"),
        "id",
    ),
    "name": ("name", "full name", "student name", "student"),
    "first": ("first name", "firstname", "given name"),
    "last": ("last name", "lastname", "surname", "family name"),
    "email": ("email", "email address", "mail"),
    "section": ("section", "sections", "group", "groups"),
    "github": ("github", "github username", "github login"),
    "role": ("role", "roles"),
}
"""What columns are called, in Canvas, Moodle, Gradescope, GitHub Classroom, Classroom 50 and
Brightspace. Of several that would do, the first in this list is taken."""

_OF_CLASSROOM50 = frozenset({"username", "github id"})
"""Columns of students.csv of Classroom 50: the name of a user there is the login on GitHub."""

_OTHER_IDS = ("canvas id", "canvas user id", "moodle user id", "lti user id")
"""Columns that identify students elsewhere, and by which nobody is called here."""

_STUDENTS = frozenset({"student", "learner", "participant", "teilnehmer/in"})
_OTHERS = frozenset(
    {
        *("teacher", "editing teacher", "non-editing teacher", "teacher assistant", "tutor"),
        *("instructor", "ta", "teaching assistant", "grader", "reader", "assistant", "lecturer"),
        *("professor", "designer", "course designer", "course creator", "manager", "observer"),
        *("mentor", "admin", "administrator", "course admin", "owner", "staff", "support"),
        *("test student", "student view", "test user", "testuser", "studentview", "coordinator"),
    }
)
"""Roles that systems write; who has others alone is no student. Canvas adds "Enrollment"."""

_NOBODY = frozenset({"points possible", "student, test"})
"""Names in rows of Canvas that are no student's: points of assignments, and its trial student."""


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


StudentField = Literal["login", "email", "github", "name"]


def find_student(
    students: Sequence[Student],
    word: str,
    by: Sequence[StudentField] = get_args(StudentField),
) -> Student:
    """Return who is meant: by login, e-mail, GitHub login or name, whichever says it first.

    Where a student may have typed the word, it is `by` nothing that a student chooses. Raises
    UsageError where that is nobody, or several.
    """
    exact = [each for each in students if each.login == unicodedata.normalize("NFC", word)]
    wanted = folded(word)
    for kind in by if wanted else ():
        found = exact or [each for each in students if folded(getattr(each, kind)) == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            named = in_a_row(each.login for each in found[:_TOLD])
            if len(found) > _TOLD:
                named = say("named-and-more", named=named, more=len(found) - _TOLD)
            raise UsageError(
                say("students-match", count=len(found), word=repr(word), named=named),
                say("name-one-by-rosters-id"),
            )
    nobody = say("nobody-in-roster-has-id-e-mail", word=repr(word))
    if "name" not in by:
        nobody = say("nobody-in-roster-has-id-or-e-mail", word=repr(word))
    raise UsageError(nobody, say("see-grader-grades-list"))


class RosterEntry(Value, frozen=True):
    """A line of a roster; `fields` are those that it has a column for, `lms` its other ids.

    `source` is the header of the column that `login` is from.
    """

    login: str
    fields: dict[str, str]
    lms: dict[str, str]
    source: str = ""


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


class RosterFile(Value, frozen=True):
    """What a roster says. `left_out` are no students by their role, of `unknown` it is not known.

    Both are what the line calls them, with the role; who has an unknown role is a student.
    """

    entries: tuple[RosterEntry, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()


def read_roster(path: Path) -> tuple[RosterEntry, ...]:
    """Return the students of a roster. Raises UsageError that names the line."""
    return read_roster_file(path).entries


def read_roster_file(path: Path) -> RosterFile:
    """Read a table with recognised headers. Raises UsageError that names the line."""
    table = read_table(path)
    header = [one_line(cell) for cell in table.header]
    if not _named(header):  # Moodle's grading worksheet in another language than English?
        header = [one_line(cell) for cell in english_header(table)]
    columns = _columns(path, header)
    found: dict[str, tuple[int, RosterEntry]] = {}
    left_out, unknown = [], []
    at_role = columns.pop("role", None)
    for number, row in zip(table.lines, table.rows, strict=True):
        cells = [as_before_harmless(one_line(cell)) for cell in row]
        role = "" if at_role is None else cells[at_role]
        if _is_other(role):
            told = next(filter(None, (cells[at] for at in columns.values())), "")
            left_out.append((told, role))
            continue
        entry = _entry(path, number, cells, header, columns)
        if entry is None:
            continue
        if not _is_known(role):
            unknown.append((entry.login, role))
        before = found.setdefault(folded(entry.login), (number, entry))
        if before[0] != number:
            raise UsageError(
                say(
                    "lines-and-both",
                    first=before[0],
                    number=number,
                    name=path.name,
                    login=entry.login,
                ),
                say("each-student-has-one-line-remove-one"),
            )
    entries = tuple(entry for _, entry in found.values())
    return RosterFile(entries, tuple(left_out), tuple(unknown))


def _roles(cell: str) -> set[str]:
    """Return the roles in a cell: systems name several with commas, Canvas `TaEnrollment`."""
    words = (folded(each).removesuffix("enrollment").strip() for each in re.split(r"[,;|]", cell))
    return {*words} - {""}


def _is_other(cell: str) -> bool:
    """Say whether somebody has roles, and all of them are no student's."""
    roles = _roles(cell)
    return bool(roles) and roles <= _OTHERS


def _is_known(cell: str) -> bool:
    roles = _roles(cell)
    return not roles or bool(roles & _STUDENTS) or roles <= _OTHERS


def plan(students: Iterable[Student], entries: Iterable[RosterEntry]) -> Changes:
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


def shared_emails(
    students: Iterable[Student], entries: Iterable[RosterEntry]
) -> dict[str, tuple[str, ...]]:
    """Return who has an e-mail that another has, too, once a roster is read: logins, by e-mail.

    Such a word finds nobody: folders called by it are no one's, and commands refuse it. Who has
    withdrawn counts as long as they are in the gradebook: they are found by it as well.
    """
    emails = {folded(each.login): (each.login, each.email) for each in students}
    for entry in entries:
        login, email = emails.get(folded(entry.login), (entry.login, ""))
        emails[folded(entry.login)] = login, entry.fields.get("email", email)
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for login, email in emails.values():
        if email:
            found[folded(email)][login] = email
    return {next(iter(each.values())): tuple(each) for each in found.values() if len(each) > 1}


def _row(login: str, entry: RosterEntry, lms: Mapping[str, str]) -> dict[str, object]:
    return {"login": login, **entry.fields, "lms": {**lms, **entry.lms}}


def _named(header: Sequence[str]) -> dict[str, int]:
    places = {
        folded(name.replace("_", " ").replace("-", " ")): at for at, name in enumerate(header)
    }
    places = {name.replace("e mail", "email"): at for name, at in places.items()}
    found = {
        field: next(places[name] for name in names if name in places)
        for field, names in _HEADERS.items()
        if any(name in places for name in names)
    }
    if places.keys() >= _OF_CLASSROOM50:
        found.setdefault("github", places["username"])
    return found


def _columns(path: Path, header: Sequence[str]) -> dict[str, int]:
    """Return which column has which field. Raises UsageError where nothing identifies students."""
    found = _named(header)
    if "email" in found and _is_no_login(header, found.get(_LOGIN)):
        found[_LOGIN] = found["email"]
    if _LOGIN not in found:
        seen = in_a_row(header[:_TOLD])
        raise UsageError(
            say("no-column-identifies-students-columns", name=path.name, seen=seen),
            say("needs-column-called-login-username-student-id"),
        )
    return found


def _is_no_login(header: Sequence[str], at: int | None) -> bool:
    """Say whether nothing in a column is what a student is called by for good.

    The identifiers of Moodle's grading worksheet, "Participant 1234", are of one assignment.
    Gradescope's numbers are often missing.
    """
    if at is None:
        return True
    names = [folded(each) for each in header]
    return names[at] == "sid" or (names[at] == "identifier" and "full name" in names)


def _entry(
    path: Path, number: int, cells: Sequence[str], header: Sequence[str], columns: dict[str, int]
) -> RosterEntry | None:
    """Return what a line says, None for the lines of Canvas that are no student's.

    They have the points of assignments, and which are posted by hand: that one names nobody.
    """
    told = {field: cells[at] for field, at in columns.items()}
    if not any(told.values()):
        return None
    login = unicodedata.normalize("NFC", told.pop(_LOGIN))
    last_first = ", ".join(filter(None, (told.get("last"), told.get("first"))))
    if {folded(told.get("name", "")), folded(last_first)} & _NOBODY:
        return None
    if not login:
        raise UsageError(
            say("line-does-not-identify-student", number=number, name=path.name),
            say("fill-in-or-remove-line", column=header[columns[_LOGIN]]),
        )
    names = told.pop("first", ""), told.pop("last", "")
    if any(names):
        told["name"] = told.get("name") or " ".join(filter(None, names))
    ids = {folded(name) for name in (*_HEADERS[_LOGIN], *_OTHER_IDS)}
    lms = {
        name: cells[at]
        for at, name in enumerate(header)
        if at != columns[_LOGIN] and cells[at] and folded(name.replace("_", " ")) in ids
    }
    fields = {name: unicodedata.normalize("NFC", each) for name, each in told.items()}
    return RosterEntry(login, fields, lms, header[columns[_LOGIN]])
