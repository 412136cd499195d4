"""Grades for a learning management system: the file that it takes without an edit.

Canvas and Moodle have written a file themselves, which is filled in: they know their students by
numbers of their own, and take nothing whose headers are other than theirs. What is written anew has
what the others need to know whose a grade is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

import msgspec

from grader.errors import UsageError
from grader.language import in_a_row, say
from grader.lms.choices import Form, Key
from grader.lms.delivery import Delivery
from grader.lms.roster import Roster, RosterPerson
from grader.tables import ReadTable, harmless, write_table

FILLED_IN = frozenset({"canvas", "moodle"})
"""Those that a file of the system's own is needed for."""


class ExportedGrade(msgspec.Struct, frozen=True, gc=False):
    """The grade of a student in an assignment. `comment` is plain text for the student."""

    student: str
    name: str
    points: Decimal
    max_points: Decimal
    keys: Mapping[Key, str] = {}
    section: str = ""
    comment: str = ""


class Scaled(NamedTuple):
    """Points out of `ours` that became points out of `theirs`, as an export writes them."""

    ours: str
    theirs: str


class Exported(msgspec.Struct, frozen=True):
    """A file, and what is not in it: students with a grade whom the system does not know, and its
    students who have none, whose cells stay as they were. `scaled` are the maxima of the system
    that are others than ours.
    """

    content: bytes
    unknown: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()
    scaled: tuple[Scaled, ...] = ()


def export_grades(
    form: Form,
    grades: Iterable[ExportedGrade],
    own: ReadTable | None = None,
    column: str | None = None,
) -> Exported:
    """Return the file of a form.

    `own` is the file that the system has written, for Canvas its gradebook and for Moodle the
    grading worksheet; `column` is the assignment's in Canvas' gradebook. Raises UsageError where
    one of them is needed, or is not what it should be.
    """
    grades = sorted(grades, key=lambda grade: grade.student)
    if form in FILLED_IN:
        if own is None:
            raise UsageError(
                say(
                    "{form} takes the file back that it has written itself.", form=form.capitalize()
                ),
                say(
                    "Export its gradebook, or the grading worksheet, and name it with --into FILE."
                ),
            )
        return _canvas(grades, own, column) if form == "canvas" else _moodle(grades, own)
    return Exported(_WRITTEN_ANEW[form](grades))


# --- Canvas ---------------------------------------------------------------------------------------

_IDENTIFYING = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_POINTS_ROW = "points possible"


def _canvas(grades: list[ExportedGrade], own: ReadTable, column: str | None) -> Exported:
    """Fill in Canvas' gradebook: the columns that say who it is, and the assignment's.

    All else is left out: Canvas leaves alone what is not in the file, and grades of others might
    have changed since. The row of points possible stays, as Canvas finds its columns by it.
    """
    header = [each.strip() for each in own.header]
    if "Student" not in header or "ID" not in header:
        raise UsageError(
            say("That is no gradebook of Canvas: it has no columns Student and ID."),
            say("Choose Export in Canvas' gradebook, and name the file."),
        )
    at = header.index(_canvas_column(header, column))
    kept = [header.index(each) for each in _IDENTIFYING if each in header]
    name = header.index("Student")
    points_row = next((r for r in own.rows if r[name].strip().casefold() == _POINTS_ROW), None)
    rows = [row for row in own.rows if _is_student_of_canvas(row[name])]
    by_row, unknown = _matched(grades, rows, lambda row: _keys_of_canvas(header, row), name)
    scale = _Scale()
    maximum = points_row[at] if points_row is not None else ""
    filled = [
        [*_identifying(row, kept, name), scale(by_row[n], maximum) if n in by_row else ""]
        for n, row in enumerate(rows)
    ]
    if points_row is not None:
        filled.insert(0, [*(points_row[each] for each in kept), points_row[at]])
    content = write_table([*(own.header[each] for each in kept), own.header[at]], filled)
    ungraded = tuple(row[name] for n, row in enumerate(rows) if n not in by_row)
    return Exported(content, unknown, ungraded, scale.scaled)


def _identifying(row: list[str], kept: list[int], name: int) -> list[str]:
    """Return the cells that say who it is: Canvas knows a student by the number, not the name."""
    return [harmless(row[each]) if each == name else row[each] for each in kept]


def _is_student_of_canvas(name: str) -> bool:
    return name.strip().casefold() not in (_POINTS_ROW, "student, test", "")


def _canvas_column(header: list[str], wanted: str | None) -> str:
    """Return the header of the assignment's column: its whole text, or its title without number."""
    others = [each for each in header if each not in _IDENTIFYING]
    found = [each for each in others if wanted in (each, each.rpartition(" (")[0])]
    if len(found) == 1:
        return found[0]
    names = in_a_row(each for each in others if each.endswith(")") and each != "Root Account")
    raise UsageError(
        say('Canvas\' gradebook has no column "{wanted}".', wanted=wanted)
        if wanted
        else say("Canvas' gradebook has many columns."),
        say("Name the assignment's with --column: {names}.", names=names),
    )


def _keys_of_canvas(header: list[str], row: list[str]) -> dict[Key, str]:
    named: Mapping[str, Key] = {"ID": "canvas", "SIS User ID": "sid", "SIS Login ID": "user"}
    found = {key: row[header.index(n)].strip() for n, key in named.items() if n in header}
    return {key: value for key, value in found.items() if value}


# --- Moodle ---------------------------------------------------------------------------------------

_FROZEN = "no"


def _moodle(grades: list[ExportedGrade], own: ReadTable) -> Exported:
    """Fill in Moodle's grading worksheet, whole: it is refused without one of its columns."""
    header = [each.strip() for each in own.header]
    missing = [each for each in ("Identifier", "Grade") if each not in header]
    if missing:
        raise UsageError(
            say(
                "That is no grading worksheet of Moodle: it has no column {names}.",
                names=in_a_row(missing),
            ),
            say("Switch Moodle to English, download the grading worksheet, and name the file."),
        )
    at, name = header.index("Grade"), _place(header, "Full name")
    maximum, frozen = _place(header, "Maximum Grade"), _place(header, "Grade can be changed")
    comments = _place(header, "Feedback comments")
    by_row, unknown = _matched(grades, own.rows, lambda row: _keys_of_moodle(header, row), name)
    filled, ungraded, scale = [], [], _Scale()
    for number, row in enumerate(own.rows):
        grade, cells = by_row.get(number), list(row)
        label = row[name] if name is not None else row[header.index("Identifier")]
        if grade is None or (frozen is not None and row[frozen].strip().casefold() == _FROZEN):
            ungraded.append(label)
        else:
            cells[at] = scale(grade, row[maximum] if maximum is not None else "")
            if comments is not None and grade.comment:
                cells[comments] = harmless(grade.comment)
        if name is not None:
            cells[name] = harmless(row[name])
        filled.append(cells)
    return Exported(write_table(own.header, filled), unknown, tuple(ungraded), scale.scaled)


def _place(header: list[str], name: str) -> int | None:
    return header.index(name) if name in header else None


def _keys_of_moodle(header: list[str], row: list[str]) -> dict[Key, str]:
    digits = "".join(each for each in row[header.index("Identifier")] if each.isdecimal())
    found: dict[Key, str] = {"moodle": digits}
    named: Mapping[str, Key] = {"Email address": "email", "ID number": "sid"}
    found |= {key: row[header.index(n)].strip() for n, key in named.items() if n in header}
    return {key: value for key, value in found.items() if value}


# --- those that are written anew ------------------------------------------------------------------


def _csv(grades: list[ExportedGrade]) -> bytes:
    header = ["student", "name", "section", "points", "max_points", "comment"]
    rows = [
        [
            harmless(grade.student),
            harmless(grade.name),
            harmless(grade.section),
            _points(grade.points),
            _points(grade.max_points),
            harmless(grade.comment),
        ]
        for grade in grades
    ]
    return write_table(header, rows)


def _json(grades: list[ExportedGrade]) -> bytes:
    """Return all there is; points are texts with all their digits."""
    return msgspec.json.format(msgspec.json.encode(grades), indent=2) + b"\n"


def _gradescope(grades: list[ExportedGrade]) -> bytes:
    """Return what Gradescope's own table of grades begins with."""
    header = ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points"]
    rows = []
    for grade in grades:
        first, _, last = grade.name.rpartition(" ")
        sid = grade.keys.get("sid", grade.student)
        cells = [first or last, last if first else "", sid, grade.keys.get("email", "")]
        points = [_points(grade.points), _points(grade.max_points)]
        rows.append([*(harmless(each) for each in cells), *points])
    return write_table(header, rows)


def _classroom(grades: list[ExportedGrade]) -> bytes:
    """Return the columns of `gh classroom assignment-grades` that say whose a grade is."""
    header = ["github_username", "roster_identifier", "points_awarded", "points_available"]
    rows = [
        [
            harmless(grade.keys.get("login", "")),
            harmless(grade.student),
            _points(grade.points),
            _points(grade.max_points),
        ]
        for grade in grades
    ]
    return write_table(header, rows)


_WRITTEN_ANEW: Mapping[Form, Callable[[list[ExportedGrade]], bytes]] = {
    "csv": _csv,
    "json": _json,
    "gradescope": _gradescope,
    "classroom": _classroom,
}


# --- what they share ------------------------------------------------------------------------------


def _matched(
    grades: list[ExportedGrade],
    rows: list[list[str]],
    keys_of: Callable[[list[str]], dict[Key, str]],
    name: int | None,
) -> tuple[dict[int, ExportedGrade], tuple[str, ...]]:
    """Return the grade of each row, by its number, and the students who have none."""
    people = [
        RosterPerson(str(number), row[name] if name is not None else "", keys_of(row))
        for number, row in enumerate(rows)
    ]
    roster = Roster(people)
    by_row: dict[int, ExportedGrade] = {}
    unknown = []
    for grade in grades:
        keys: dict[Key, str] = {"folder": grade.student, **grade.keys}
        person = roster.find(Delivery(grade.name, keys, ()))
        if person is None or int(person.id) in by_row:
            unknown.append(grade.student)
        else:
            by_row[int(person.id)] = grade
    return by_row, tuple(unknown)


class _Scale:
    """Writes points as they are where the system has another maximum than we, and knows which."""

    def __init__(self) -> None:
        self._met: dict[Scaled, None] = {}

    @property
    def scaled(self) -> tuple[Scaled, ...]:
        """The maxima that were met and are not ours."""
        return tuple(self._met)

    def __call__(self, grade: ExportedGrade, maximum: str) -> str:
        """Return a grade's points out of the maximum; without one, out of our own."""
        try:
            theirs = Decimal(maximum.strip().replace(",", "."))
        except ArithmeticError:
            return _points(grade.points)
        ours = grade.max_points
        if not (ours > 0 and theirs > 0 and ours != theirs):
            return _points(grade.points)
        self._met[Scaled(_points(ours), _points(theirs))] = None
        return _points(grade.points * theirs / ours)


def _points(points: Decimal) -> str:
    """Write points with two digits at most, as all of these systems take them."""
    return f"{points.quantize(Decimal('0.01'), ROUND_HALF_UP).normalize():f}"
