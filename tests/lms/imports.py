"""What learning management systems read of the files that they are given, by their own rules.

Written from what each of them publishes of its format, and of nothing else: no line of the grader's
is used, so that what it writes is read by somebody else.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from decimal import Decimal

Points = dict[str, Decimal]
"""Points by what the system knows a student by. Who has an empty cell is left out."""


def read_canvas(content: bytes, assignment: str) -> Points:
    """Read a gradebook as Canvas imports it: by the user's number in the column ID.

    The header begins with Student and ID, an assignment's has its number in parentheses at the end.
    The row of points possible comes before the students'; an empty cell changes nothing. More than
    the points possible may be given.
    """
    header, *rows = _rows(content)
    if "Manual Posting" in rows[0]:  # Canvas' own, for columns that are posted by hand
        rows = rows[1:]
    points_possible, *rows = rows
    assert ["Student", "ID"] == header[:2]
    assert "Section" in header
    (column,) = (at for at, name in enumerate(header) if name.startswith(f"{assignment} ("))
    assert re.fullmatch(r".+ \(\d+\)", header[column])
    assert "Points Possible" == points_possible[0].strip()
    assert Decimal(points_possible[column]) > 0
    return _points({row[1]: row[column] for row in rows})


def canvas_cells(content: bytes, assignment: str) -> dict[str, str]:
    """Return what Canvas would take for each user's number: a score, EX for excused, or nothing.

    The names are in one column Student, or in LastName and FirstName where they are split. Rows
    without a number are the points possible, and which columns are read only.
    """
    header, *rows = _rows(content)
    names = 2 if header[:2] == ["LastName", "FirstName"] else 1
    assert names == 2 or "Student" == header[0]
    assert "ID" == header[names]
    (column,) = (at for at, name in enumerate(header) if name.startswith(f"{assignment} ("))
    return {row[names]: row[column] for row in rows if row[names]}


def read_moodle(content: bytes, worksheet: bytes) -> Points:
    """Read a grading worksheet as Moodle takes it back: by the participant's number.

    Every column that it has written itself has to be there. A grade may not be over the maximum.
    """
    header, *rows = _rows(content)
    own, *_ = _rows(worksheet)
    assert own == header
    at = {name: place for place, name in enumerate(header)}
    for row in rows:
        assert re.fullmatch(r"Participant \d+", row[at["Identifier"]])
        grade, maximum = row[at["Grade"]], row[at["Maximum Grade"]]
        assert not grade or Decimal(0) <= Decimal(grade) <= Decimal(maximum)
    return _points({row[0].removeprefix("Participant "): row[at["Grade"]] for row in rows})


def read_brightspace(content: bytes, item: str) -> Points:
    """Read grades as Brightspace imports them: by OrgDefinedId or Username, one item a column.

    The item's column is its name and "Points Grade", and may say its maximum. Every line ends in
    the indicator, a number sign.
    """
    header, *rows = _rows(content)
    assert header[0] in ("OrgDefinedId", "Username")
    assert "End-of-Line Indicator" == header[-1]
    assert {"#"} == {row[-1] for row in rows}
    (column,) = (at for at, name in enumerate(header) if name.startswith(f"{item} Points Grade"))
    return _points({row[0].removeprefix("#"): row[column] for row in rows})


def read_gradescope(content: bytes) -> Points:
    """Read a table of grades that begins as Gradescope's: by the student's number."""
    header, *rows = _rows(content)
    known = ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points"]
    assert known == header
    return _points({row[2]: row[4] for row in rows})


def read_classroom(content: bytes) -> Points:
    """Read what GitHub's `gh classroom assignment-grades` calls its columns: by the login."""
    header, *rows = _rows(content)
    at = {name: place for place, name in enumerate(header)}
    return _points({row[at["github_username"]]: row[at["points_awarded"]] for row in rows})


def read_csv(content: bytes) -> Points:
    """Read the grader's own table, as docs/collecting.md describes it."""
    header, *rows = _rows(content)
    at = {name: place for place, name in enumerate(header)}
    return _points({row[at["student"]]: row[at["points"]] for row in rows})


def read_json(content: bytes) -> Points:
    """Read the grader's own list; points are texts with all their digits."""
    return {each["student"]: Decimal(each["points"]) for each in json.loads(content)}


def read_feedback_of_moodle(content: bytes) -> dict[str, str]:
    """Read an archive of feedback files as Moodle does: pages by participants' numbers.

    What stands before the first underscore is the name, then comes the number and what it is.
    """
    pages = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            folder, _, file = name.partition("/")
            _, participant, kind, *rest = folder.split("_")
            assert ("assignfeedback", ["file", ""]) == (kind, rest)
            assert file
            pages[participant] = archive.read(name).decode()
    return pages


def read_feedback_of_canvas(content: bytes, submissions: bytes) -> dict[str, str]:
    """Read an archive as Canvas' "Upload Submissions" does: pages by users' numbers.

    A file belongs to the submission whose archive had one of the same name but for its ending.
    """
    with zipfile.ZipFile(io.BytesIO(submissions)) as archive:
        given = {name.rpartition(".")[0]: name for name in archive.namelist()}
    pages = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            match = re.fullmatch(r"\w+?_(?:LATE_)?(\d+)_\d+_.+", given[name.rpartition(".")[0]])
            assert match is not None
            pages[match[1]] = archive.read(name).decode()
    return pages


def _rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def _points(cells: dict[str, str]) -> Points:
    return {who: Decimal(cell) for who, cell in cells.items() if cell.strip()}
