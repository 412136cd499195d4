"""Grades in the forms of learning management systems."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from grader.errors import UsageError
from grader.lms.export import Exported, ExportedGrade, export_grades
from grader.tables import ReadTable, read_table

ADA = ExportedGrade(
    "ada", "Ada Lovelace", Decimal("82.5"), Decimal(100), {"canvas": "1234"}, "Mon", "=x"
)
KIM = ExportedGrade(
    "min", "김 민", Decimal(100), Decimal(100), {"moodle": "13", "email": "m@e.org"}
)
GRACE = ExportedGrade("grace", "Grace Hopper", Decimal("33.335"), Decimal(100), {"sid": "s9"})

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,hw (12),other (13),Current Score
    Points Possible,,,,,100,10,(read only)
"Lovelace, Ada",1234,,,Mon,,5,50
"=HYPERLINK(1), x",77,,,Tue,1,,
"Hopper, Grace",78,s9,gh,Tue,,,
"Student, Test",9,,,Mon,,,
"""

MOODLE = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 12","Ada Lovelace",ada@e.org,"Submitted for grading - ",,10.00,Yes,-,-,
"Participant 13","김 민",m@e.org,"Submitted for grading - ",,10.00,Yes,-,-,old
"Participant 14","Grace Hopper",g@e.org,"Submitted",7.00,10.00,No,-,-,
"""


def table(tmp_path: Path, text: str) -> ReadTable:
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def rows(exported: Exported) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported.content.decode())))


def test_canvas_gets_its_gradebook_with_one_column_filled_in(tmp_path: Path) -> None:
    exported = export_grades("canvas", [ADA, GRACE], table(tmp_path, CANVAS), "hw")
    points, ada, _, grace, _ = rows(exported)
    assert ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw (12)"] == list(ada)
    assert ("    Points Possible", "100") == (points["Student"], points["hw (12)"])
    assert ("1234", "82.5") == (ada["ID"], ada["hw (12)"])
    assert ("78", "33.34") == (grace["ID"], grace["hw (12)"])


def test_who_has_no_grade_stays_as_it_was_and_is_named(tmp_path: Path) -> None:
    exported = export_grades("canvas", [ADA], table(tmp_path, CANVAS), "hw (12)")
    assert ("=HYPERLINK(1), x", "Hopper, Grace") == exported.ungraded
    assert ["1"] == [row["hw (12)"] for row in rows(exported) if row["ID"] == "77"]


def test_a_name_in_canvas_is_no_formula(tmp_path: Path) -> None:
    exported = export_grades("canvas", [ADA], table(tmp_path, CANVAS), "hw")
    assert "'=HYPERLINK(1), x" in [row["Student"] for row in rows(exported)]


def test_points_are_those_of_the_other_maximum(tmp_path: Path) -> None:
    exported = export_grades("canvas", [ADA], table(tmp_path, CANVAS), "other")
    assert "8.25" == next(row["other (13)"] for row in rows(exported) if row["ID"] == "1234")
    assert (("100", "10"),) == exported.scaled


def test_each_grade_is_scaled_from_its_own_maximum(tmp_path: Path) -> None:
    grace = msgspec.structs.replace(GRACE, points=Decimal(55), max_points=Decimal(110))
    exported = export_grades("canvas", [ADA, grace], table(tmp_path, CANVAS), "other")
    points = {row["ID"]: row["other (13)"] for row in rows(exported)}
    assert ("8.25", "5") == (points["1234"], points["78"])
    assert (("100", "10"), ("110", "10")) == exported.scaled


def test_points_that_stay_as_they_are_are_not_told_as_scaled(tmp_path: Path) -> None:
    assert () == export_grades("canvas", [ADA], table(tmp_path, CANVAS), "hw").scaled
    own = table(tmp_path, CANVAS.replace(",100,10,", ",,10,"))
    assert () == export_grades("canvas", [ADA], own, "hw").scaled


def test_whom_canvas_does_not_know_is_named(tmp_path: Path) -> None:
    assert ("min",) == export_grades("canvas", [KIM], table(tmp_path, CANVAS), "hw").unknown


@pytest.mark.parametrize("column", [None, "exam"])
def test_canvas_columns_are_named_where_none_is_meant(tmp_path: Path, column: str | None) -> None:
    with pytest.raises(UsageError) as raised:
        export_grades("canvas", [ADA], table(tmp_path, CANVAS), column)
    assert "hw (12), other (13)" in raised.value.hint.english


def test_moodle_gets_its_worksheet_back_whole(tmp_path: Path) -> None:
    own = table(tmp_path, MOODLE)
    exported = export_grades("moodle", [ADA, KIM, GRACE], own)
    ada, kim, grace = rows(exported)
    assert own.header == list(ada)
    assert ["8.25", "10", "7.00"] == [
        ada["Grade"],
        kim["Grade"],
        grace["Grade"],
    ]
    assert ["'=x", "old"] == [ada["Feedback comments"], kim["Feedback comments"]]
    assert ((), ("Grace Hopper",)) == (exported.ungraded, exported.exempt)  # it is locked
    assert (("100", "10"),) == exported.scaled


@pytest.mark.parametrize(("form", "text"), [("canvas", "a,b\n"), ("moodle", "Kennung,Note\n")])
def test_another_file_is_refused(tmp_path: Path, form: str, text: str) -> None:
    with pytest.raises(UsageError, match="This is not a"):
        export_grades(form, [ADA], table(tmp_path, text))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["canvas", "moodle"])
def test_their_own_file_is_needed(form: str) -> None:
    with pytest.raises(UsageError, match="that this system exported"):
        export_grades(form, [ADA])  # type: ignore[arg-type]


def test_a_table_for_everybody(tmp_path: Path) -> None:
    ada, kim = rows(export_grades("csv", [KIM, ADA]))
    assert {
        "student": "ada",
        "name": "Ada Lovelace",
        "section": "Mon",
        "points": "82.5",
        "max_points": "100",
        "comment": "'=x",
    } == ada
    assert "김 민" == kim["name"]


def test_json_has_all_digits() -> None:
    found = json.loads(export_grades("json", [GRACE]).content)
    assert ["33.335"] == [each["points"] for each in found]


def test_gradescope_knows_a_student_by_number_and_address() -> None:
    (kim,) = rows(export_grades("gradescope", [KIM]))
    assert ("김", "민", "min", "m@e.org") == tuple(kim.values())[:4]


def test_classroom_knows_a_student_by_the_login() -> None:
    grade = ExportedGrade("ada", "Ada", Decimal(7), Decimal(10), {"login": "adalove"})
    (found,) = rows(export_grades("classroom", [grade]))
    assert ["adalove", "ada", "7", "10"] == list(found.values())
