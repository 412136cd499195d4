"""What an export leaves as it was, to the byte, and how systems write numbers and headers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.lms.choices import Form
from grader.lms.export import Exported, ExportedGrade, export_grades
from grader.tables import read_table
from tests.lms.imports import canvas_cells, read_brightspace

ADA = ExportedGrade("ada", "Ada Lovelace", Decimal(9), Decimal(10), {"sid": "7"}, comment="good")
LIU = ExportedGrade("liu", "刘洋", Decimal(5), Decimal(10), {"moodle": "31"})

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,essay (12)
,,,,,Manual Posting
    Points Possible,,,,,10.00
"Lovelace, Ada",11,7,ada,A,
"Hopper, Grace",12,8,grace,A,"7.50"
"Noether, Emmy",13,9,emmy,A,EX
"Student, Test",14,,x,A,
"""

SPLIT = """\
LastName,FirstName,ID,SIS User ID,Section,essay (12)
    Points Possible,,,,,10.00
Lovelace,Ada,11,7,A,
Student,Test,12,,A,
"""

WORKSHEET = """\
标识号,全名,电子邮件地址,状态,成绩,最高分,成绩可被更改,上次修改时间（提交）,上次修改时间（成绩）,反馈评语
参与者 30,Ada Lovelace,ada@e.org,已提交评分,,100.00,是,2026年10月4日,-,
参与者 31,刘洋,liu@e.org,已提交评分,,100.00,是,2026年10月4日,-,
参与者 32,陈静,chen@e.org,已提交评分,3.00,100.00,否,2026年10月4日,-,"""


def export(
    tmp_path: Path, form: Form, content: str | bytes, *grades: ExportedGrade, column: str = "essay"
) -> Exported:
    own = tmp_path / "own.csv"
    own.write_bytes(content.encode() if isinstance(content, str) else content)
    return export_grades(form, grades, read_table(own), None if form == "moodle" else column)


@pytest.mark.parametrize(("form", "option"), [("csv", "--into"), ("moodle", "--column")])
def test_what_a_form_has_no_use_for_is_refused(tmp_path: Path, form: Form, option: str) -> None:
    """Somebody who names it expects that it does something."""
    (tmp_path / "own.csv").write_text(WORKSHEET)
    own = read_table(tmp_path / "own.csv")
    with pytest.raises(UsageError, match=f"{option} is only for"):
        export_grades(form, [ADA], own, "essay" if form == "moodle" else None)


def cells(exported: Exported) -> dict[str, str]:
    return canvas_cells(exported.content, "essay")


def test_points_of_somebody_else_and_excuses_stay_in_canvas(tmp_path: Path) -> None:
    exported = export(tmp_path, "canvas", CANVAS, ADA)
    assert {"11": "9", "12": "7.50", "13": "EX", "14": ""} == cells(exported)


@pytest.mark.parametrize("cell", ["EX", "ex", "N/A"])
def test_who_is_excused_gets_no_points_and_is_named(tmp_path: Path, cell: str) -> None:
    own = CANVAS.replace(",ada,A,", f",ada,A,{cell}")
    exported = export(tmp_path, "canvas", own, ADA)
    assert (own.encode(), ("Lovelace, Ada",)) == (exported.content, exported.exempt)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("separator", "above"), [(",", ""), (";", ""), (";", "sep=;\n")])
def test_one_cell_of_the_file_changes_and_no_other_byte(
    tmp_path: Path, mark: bytes, end: str, separator: str, above: str
) -> None:
    own = CANVAS.replace(", ", "\0").replace(",", separator).replace("\0", ", ")
    own = (above + own).replace("\n", end)
    row = '"Lovelace, Ada",11,7,ada,A,'.replace(",", separator).replace(f"e{separator} ", "e, ")
    exported = export(tmp_path, "canvas", mark + own.encode(), ADA)
    assert mark + own.replace(row + end, f"{row}9{end}").encode() == exported.content


@pytest.mark.parametrize(("form", "own"), [("canvas", CANVAS), ("moodle", WORKSHEET)])
def test_a_file_in_which_nobody_was_graded_is_the_same_file(
    tmp_path: Path, form: Form, own: str
) -> None:
    utf_16 = b"\xff\xfe" + own.encode("utf-16-le")
    assert own.encode() == export(tmp_path, form, own).content
    assert utf_16 == export(tmp_path, form, utf_16).content


BRIGHTSPACE = """\
OrgDefinedId,Username,Last Name,First Name,lab Points Grade,\
essay Points Grade <Numeric MaxPoints:20>,End-of-Line Indicator
#7,ada,Lovelace,Ada,4,,#
#8,grace,Hopper,Grace,5,3.5,#
"""


def test_brightspace_gets_one_item_of_its_export_filled_in(tmp_path: Path) -> None:
    exported = export(tmp_path, "brightspace", BRIGHTSPACE, ADA)
    assert {"7": 18, "8": Decimal("3.5")} == read_brightspace(exported.content, "essay")
    assert (("Grace Hopper",), (("10", "20"),)) == (exported.ungraded, exported.scaled)
    own = BRIGHTSPACE.replace("lab Points Grade,", "").replace("Ada,4,", "Ada,")
    own = own.replace("Grace,5,", "Grace,")
    assert own.encode() == export(tmp_path, "brightspace", BRIGHTSPACE).content


@pytest.mark.parametrize("column", ["exam", ""])
def test_a_grade_item_that_brightspace_does_not_have_is_refused(
    tmp_path: Path, column: str
) -> None:
    with pytest.raises(UsageError) as raised:
        export(tmp_path, "brightspace", BRIGHTSPACE, ADA, column=column)
    assert "lab, essay" in raised.value.hint.english


def test_another_file_is_no_export_of_brightspace(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not an export of Brightspace"):
        export(tmp_path, "brightspace", CANVAS, ADA)


def test_a_second_export_changes_nothing(tmp_path: Path) -> None:
    first = export(tmp_path, "canvas", CANVAS.replace(",ada,A,", ",ada,A,9.00"), ADA)
    assert "9.00" == cells(first)["11"]


def test_columns_of_other_assignments_are_left_out(tmp_path: Path) -> None:
    own = CANVAS.replace("essay (12)", "essay (12),lab (13)").replace("10.00", "10.00,5.00")
    assert CANVAS.encode() == export(tmp_path, "canvas", own).content


def test_names_in_two_columns_are_one_name(tmp_path: Path) -> None:
    grade = ExportedGrade("x", "Ada Lovelace", Decimal(9), Decimal(10))
    exported = export(tmp_path, "canvas", SPLIT, grade)
    assert {"11": "9", "12": ""} == cells(exported)
    assert SPLIT.encode() == export(tmp_path, "canvas", SPLIT).content


@pytest.mark.parametrize(
    ("maximum", "points"),
    [
        ('"1,000.00"', "900"),
        ('"1,000"', "900"),
        ("1.000,00", "900"),
        ("1\u202f000.00", "900"),
        ("1'000", "900"),
        ('"20,00"', "18"),
        ("20.00000", "18"),
        ("10", "9"),
    ],
)
def test_a_maximum_is_read_as_it_is_written_in_each_language(
    tmp_path: Path, maximum: str, points: str
) -> None:
    quoted = f'"{maximum}"' if "," in maximum and '"' not in maximum else maximum
    exported = export(tmp_path, "canvas", CANVAS.replace("10.00", quoted), ADA)
    assert points == cells(exported)["11"]


def test_a_maximum_of_moodle_that_is_no_number_is_refused(tmp_path: Path) -> None:
    own = "Identifier,Grade,Maximum Grade\nParticipant 7,,Scale: good\n"
    with pytest.raises(UsageError, match="not a number"):
        export(tmp_path, "moodle", own, ADA)


def test_a_worksheet_of_moodle_in_another_language_is_filled_in(tmp_path: Path) -> None:
    """Whose grade is locked is left alone: the word for "no" is in the column after the maximum."""
    locked = ExportedGrade("chen", "陈静", Decimal(1), Decimal(10), {"email": "chen@e.org"})
    exported = export(tmp_path, "moodle", WORKSHEET, ADA, LIU, locked)
    ada = "参与者 30,Ada Lovelace,ada@e.org,已提交评分,{},100.00,是,2026年10月4日,-,{}\n"
    liu = "参与者 31,刘洋,liu@e.org,已提交评分,{},100.00,是,2026年10月4日,-,\n"
    own = WORKSHEET.replace(ada.format("", ""), ada.format("90", "good"))
    assert own.replace(liu.format(""), liu.format("50")).encode() == exported.content
    assert ("陈静",) == exported.exempt
