"""Grades for a learning management system: the file that it takes without an edit.

Canvas and Moodle have written a file themselves, which is filled in: they know their students by
numbers of their own, and take nothing whose headers are other than theirs. What is written anew has
what the others need to know whose a grade is.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

import msgspec

from grader.errors import UsageError
from grader.files import indented_json
from grader.language import in_a_row, say
from grader.lms.choices import Form, Key
from grader.lms.delivery import Delivery
from grader.lms.roster import Roster, RosterPerson
from grader.moodle_worksheet import Worksheet, find_columns, participant_of
from grader.tables import ReadTable, harmless, write_table

FILLED_IN = frozenset({"canvas", "moodle", "brightspace"})
"""Those that a file of the system's own is needed for."""

_WITH_COLUMN = frozenset({"canvas", "brightspace"})
"""Those of them that have a column for each assignment."""


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
    that are others than ours; `exempt` have a grade here, and are excused or locked there.
    """

    content: bytes
    unknown: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()
    scaled: tuple[Scaled, ...] = ()
    exempt: tuple[str, ...] = ()


def export_grades(
    form: Form,
    grades: Iterable[ExportedGrade],
    own: ReadTable | None = None,
    column: str | None = None,
) -> Exported:
    """Return the file of a form.

    `own` is the file that the system has written, for Canvas its gradebook and for Moodle the
    grading worksheet; `column` is the assignment's in the gradebook of Canvas or Brightspace.
    Raises UsageError where one of them is needed, or is not what it should be, or nothing takes it.
    """
    for option, given, forms in (("--into", own, FILLED_IN), ("--column", column, _WITH_COLUMN)):
        if given is not None and form not in forms:
            raise UsageError(
                say("option-only-for-forms", option=option, forms=in_a_row(sorted(forms))),
                say("leave-out-option-or-choose-one-of-them", option=option),
            )
    grades = sorted(grades, key=lambda grade: grade.student)
    if form in FILLED_IN:
        if own is None:
            raise UsageError(
                say("accepts-only-file-that-has-written-itself", form=form.capitalize()),
                say("export-gradebook-or-grading-worksheet-and-name"),
            )
        if form == "moodle":
            return _moodle(grades, own)
        return (_canvas if form == "canvas" else _brightspace)(grades, own, column)
    return Exported(_WRITTEN_ANEW[form](grades))


# --- Canvas ---------------------------------------------------------------------------------------

_IDENTIFYING = (
    *("Student", "LastName", "FirstName", "ID"),
    *("SIS User ID", "SIS Login ID", "Integration ID", "Root Account", "Section"),
)
_TRIAL_STUDENT = "student, test"
_NOT_GRADED = frozenset({"ex", "n/a"})
"""What Canvas writes of who is excused, and of who has not been given the assignment."""


def _canvas(grades: list[ExportedGrade], own: ReadTable, column: str | None) -> Exported:
    """Fill in Canvas' gradebook: the columns that say who it is, and the assignment's.

    Columns of other assignments are left out: Canvas leaves alone what is not in the file, and
    somebody may have changed grades there since it was exported. Of the others, only cells of
    students who were graded here change.
    """
    header = [each.strip() for each in own.header]
    if "ID" not in header or not ("Student" in header or {"LastName", "FirstName"} <= {*header}):
        raise UsageError(
            say("this-not-canvas-gradebook-has-no-columns"),
            say("choose-export-in-canvas-gradebook-and-name"),
        )
    at = header.index(_canvas_column(header, column))
    kept = [header.index(each) for each in _IDENTIFYING if each in header]
    rows = _CanvasRows(header, own.rows, at)
    by_row, unknown = _matched(grades, [rows.person(n) for n in rows.students])
    scale = _Scale(rows.maximum)
    cells: dict[tuple[int, int], str] = {}
    ungraded, exempt = [], []
    for n in rows.students:
        cell = own.rows[n][at].strip()
        if n not in by_row:
            ungraded.append(rows.name(n))
        elif cell.casefold() in _NOT_GRADED:
            exempt.append(rows.name(n))
        elif _number(cell) != _number(points := scale(by_row[n])):
            cells[n, at] = points
        cells |= _harmless_names(n, own.rows[n], rows.names)
    content = own.raw.replaced(cells, sorted({*kept, at}))
    return Exported(content, unknown, tuple(ungraded), scale.scaled, tuple(exempt))


class _CanvasRows:
    """The rows of Canvas' gradebook: students, and above them points and how they are posted."""

    def __init__(self, header: list[str], rows: list[list[str]], at: int) -> None:
        """`at` is the column of the assignment."""
        self._header, self._rows = header, rows
        whole = [header.index("Student")] if "Student" in header else []
        self.names = whole or [header.index("LastName"), header.index("FirstName")]
        numbers = [row[header.index("ID")].strip() for row in rows]
        self.students = [
            n for n, number in enumerate(numbers) if number and not self._is_on_trial(n)
        ]
        above = (row[at] for row, number in zip(rows, numbers, strict=True) if not number)
        self.maximum = next((cell for cell in above if _number(cell) is not None), "")

    def name(self, number: int) -> str:
        """Return how Canvas calls a student: "Lovelace, Ada"."""
        cells = (self._rows[number][each].strip() for each in self.names)
        return ", ".join(filter(None, cells))

    def person(self, number: int) -> RosterPerson:
        """Return who a row is."""
        keys = _keys_of_canvas(self._header, self._rows[number])
        return RosterPerson(str(number), self.name(number), keys)

    def _is_on_trial(self, number: int) -> bool:
        return self.name(number).casefold() == _TRIAL_STUDENT


def _harmless_names(number: int, row: list[str], names: list[int]) -> dict[tuple[int, int], str]:
    """Return the cells of names that a spreadsheet would take for formulas, as text.

    Canvas and Moodle know students by numbers, and pass over the name.
    """
    changed = ((each, harmless(row[each])) for each in names)
    return {(number, each): text for each, text in changed if text != row[each]}


def _canvas_column(header: list[str], wanted: str | None) -> str:
    """Return the header of the assignment's column: its whole text, or its title without number."""
    others = [each for each in header if each not in _IDENTIFYING]
    found = [each for each in others if wanted in (each, each.rpartition(" (")[0])]
    if len(found) == 1:
        return found[0]
    names = in_a_row(each for each in others if each.endswith(")"))
    raise UsageError(
        say("canvas-gradebook-has-no-column", wanted=wanted)
        if wanted
        else say("canvas-gradebook-has-many-columns"),
        say("name-assignments-with-column", names=names),
    )


def _keys_of_canvas(header: list[str], row: list[str]) -> dict[Key, str]:
    named: Mapping[str, Key] = {"ID": "canvas", "SIS User ID": "sid", "SIS Login ID": "user"}
    found = {key: row[header.index(n)].strip() for n, key in named.items() if n in header}
    return {key: value for key, value in found.items() if value}


# --- Brightspace ----------------------------------------------------------------------------------

_BRIGHTSPACE_KEYS: Mapping[str, Key] = {
    "OrgDefinedId": "sid",
    "Username": "user",
    "Email": "email",
}
_BRIGHTSPACE_NAMES = ("First Name", "Last Name")
_END_OF_LINE = "End-of-Line Indicator"
_POINTS_GRADE = " Points Grade"
_MAX_POINTS = re.compile(r"MaxPoints:(?P<most>[0-9.,]+)")


def _brightspace(grades: list[ExportedGrade], own: ReadTable, column: str | None) -> Exported:
    """Fill in Brightspace's exported grades: who it is, one grade item, and the end of each line.

    Other items are left out, as in Canvas' file.
    """
    header = [each.strip() for each in own.header]
    keys = {key: header.index(name) for name, key in _BRIGHTSPACE_KEYS.items() if name in header}
    if _END_OF_LINE not in header or not keys.keys() & {"sid", "user"}:
        raise UsageError(
            say("this-not-export-brightspaces-grades-has", name=_END_OF_LINE),
            say("export-grades-with-both-keys-and-points"),
        )
    at = header.index(_brightspace_column(header, column))
    names = [header.index(each) for each in _BRIGHTSPACE_NAMES if each in header]
    people = [_person_of_brightspace(n, row, keys, names) for n, row in enumerate(own.rows)]
    by_row, unknown = _matched(grades, people)
    most = _MAX_POINTS.search(header[at])
    scale = _Scale("" if most is None else most["most"])
    cells: dict[tuple[int, int], str] = {}
    for n, row in enumerate(own.rows):
        if n in by_row and _number(row[at]) != _number(points := scale(by_row[n])):
            cells[n, at] = points
        cells |= _harmless_names(n, row, names)
    kept = sorted({*keys.values(), *names, at, header.index(_END_OF_LINE)})
    ungraded = tuple(each.name or str(n + 1) for n, each in enumerate(people) if n not in by_row)
    return Exported(own.raw.replaced(cells, kept), unknown, ungraded, scale.scaled)


def _brightspace_column(header: list[str], wanted: str | None) -> str:
    """Return the header of a grade item: the whole text, or the item's name."""
    items = [each for each in header if _POINTS_GRADE in each]
    found = [each for each in items if wanted in (each, each.partition(_POINTS_GRADE)[0])]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        say("brightspaces-export-has-no-grade-item", wanted=wanted)
        if wanted
        else say("brightspaces-export-has-several-grade-items-name"),
        say(
            "name-assignments-with-column",
            names=in_a_row(each.partition(_POINTS_GRADE)[0] for each in items),
        ),
    )


def _person_of_brightspace(
    number: int, row: list[str], keys: Mapping[Key, int], names: list[int]
) -> RosterPerson:
    found: dict[Key, str] = {key: row[at].strip() for key, at in keys.items() if row[at].strip()}
    return RosterPerson(str(number), " ".join(row[at].strip() for at in names), found)


# --- Moodle ---------------------------------------------------------------------------------------


def _moodle(grades: list[ExportedGrade], own: ReadTable) -> Exported:
    """Fill in Moodle's grading worksheet, whole: it is refused without one of its columns."""
    sheet = find_columns(own)
    rows = range(len(own.rows))
    by_row, unknown = _matched(grades, [_person_of_moodle(n, own.rows[n], sheet) for n in rows])
    cells: dict[tuple[int, int], str] = {}
    scale = _Scale(sheet.maximum(own.rows))
    ungraded: list[str] = []
    exempt: list[str] = []
    for n, row in enumerate(own.rows):
        grade = by_row.get(n)
        names = [] if sheet.name is None else [sheet.name]
        if grade is None or sheet.is_locked(row):
            left = ungraded if grade is None else exempt
            left.append(row[sheet.identifier if sheet.name is None else sheet.name])
        else:
            if _number(row[sheet.grade]) != _number(points := scale(grade)):
                cells[n, sheet.grade] = points
            if sheet.comments is not None and grade.comment:
                cells[n, sheet.comments] = harmless(grade.comment)
        cells |= _harmless_names(n, row, names)
    return Exported(own.raw.replaced(cells), unknown, tuple(ungraded), scale.scaled, tuple(exempt))


def _person_of_moodle(number: int, row: list[str], sheet: Worksheet) -> RosterPerson:
    found: dict[Key, str] = {"moodle": participant_of(row[sheet.identifier])}
    found |= {key: row[at].strip() for key, at in sheet.keys.items()}
    keys: dict[Key, str] = {key: value for key, value in found.items() if value}
    return RosterPerson(str(number), "" if sheet.name is None else row[sheet.name], keys)


# --- those that are written anew ------------------------------------------------------------------


def _written(
    header: list[str], cells: Callable[[ExportedGrade], Iterable[str]]
) -> Callable[[list[ExportedGrade]], bytes]:
    """Return what writes a table of a header and of these cells of each grade."""
    return lambda grades: write_table(header, map(cells, grades))


def _own_cells(grade: ExportedGrade) -> tuple[str, ...]:
    named = grade.student, grade.name, grade.section
    return *named, _points(grade.points), _points(grade.max_points), grade.comment


def _gradescope_cells(grade: ExportedGrade) -> tuple[str, ...]:
    first, _, last = grade.name.rpartition(" ")
    sid, email = grade.keys.get("sid", grade.student), grade.keys.get("email", "")
    named = first or last, last if first else "", sid, email
    return *named, _points(grade.points), _points(grade.max_points)


def _classroom_cells(grade: ExportedGrade) -> tuple[str, ...]:
    named = grade.keys.get("login", ""), grade.student
    return *named, _points(grade.points), _points(grade.max_points)


_WRITTEN_ANEW: Mapping[Form, Callable[[list[ExportedGrade]], bytes]] = {
    "csv": _written(["student", "name", "section", "points", "max_points", "comment"], _own_cells),
    "json": indented_json,
    "gradescope": _written(
        ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points"], _gradescope_cells
    ),
    "classroom": _written(
        ["github_username", "roster_identifier", "points_awarded", "points_available"],
        _classroom_cells,
    ),
}
"""As Gradescope's own table of grades begins, and `gh classroom assignment-grades`."""


# --- what they share ------------------------------------------------------------------------------


def _matched(
    grades: list[ExportedGrade], people: list[RosterPerson]
) -> tuple[dict[int, ExportedGrade], tuple[str, ...]]:
    """Return the grade of each row, by the number that is its id, and who is in none."""
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
    """Writes points out of the system's maximum where that is another than ours."""

    def __init__(self, maximum: str) -> None:
        """Raises UsageError for a maximum that is no number; without one, points stay."""
        self._theirs = _number(maximum)
        self._met: dict[Scaled, None] = {}
        if maximum.strip() and self._theirs is None:
            raise UsageError(
                say("maximum-no-number", text=repr(maximum.strip())),
                say("correct-in-file-otherwise-points-would-refer"),
            )

    @property
    def scaled(self) -> tuple[Scaled, ...]:
        """The maxima that were met and are not ours."""
        return tuple(self._met)

    def __call__(self, grade: ExportedGrade) -> str:
        """Return a grade's points out of the maximum; without one, out of our own."""
        ours, theirs = grade.max_points, self._theirs
        if theirs is None or not (ours > 0 and theirs > 0 and ours != theirs):
            return _points(grade.points)
        self._met[Scaled(_points(ours), _points(theirs))] = None
        return _points(grade.points * theirs / ours)


_GROUPED = re.compile(r"[+-]?\d{1,3}([.,])\d{3}(?:\1\d{3})*")


def _number(text: str) -> Decimal | None:
    """Return a number as a system writes it in its language: 1000, "1,000.00", "1 000,00".

    Of points and commas the last one divides whole from parts; one comma before three digits does
    not, as points have two decimals: Canvas writes "1,000".
    """
    plain = "".join(each for each in text if each not in "'’" and not each.isspace())
    grouped = _GROUPED.fullmatch(plain)
    if grouped is not None and (grouped[1] == "," or plain.count(".") > 1):
        plain = plain.replace(grouped[1], "")
    whole, mark, parts = plain.replace(",", ".").rpartition(".")
    try:
        value = Decimal(whole.replace(".", "") + mark + parts)
    except ArithmeticError:
        return None
    return value if value.is_finite() else None


def _points(points: Decimal) -> str:
    """Write points with two digits at most, as all of these systems take them."""
    return f"{points.quantize(Decimal('0.01'), ROUND_HALF_UP).normalize():f}"
