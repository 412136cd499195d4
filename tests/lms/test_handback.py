"""Grades and pages from a folder of reports."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from grader.errors import UsageError
from grader.language import foreign
from grader.lms.collect import MANIFEST, Collected, CollectedAttempt, CollectedStudent
from grader.lms.handback import (
    GradedWork,
    Works,
    attempt_number,
    grades_of,
    pack_pages,
    page_digest,
    page_names,
    read_works,
    student_page,
)
from grader.render.final_grade import FinalGrade, ToldObjection, ToldReply
from grader.report import Report, encode_report
from tests.sample_reports import nothing_to_grade, typical

# Which attempt of whose a report grades, by what was collected.


FILES = ("earlier/ada/1", "earlier/ada/2", "submissions/ada")
ADA = CollectedStudent(
    "ada", "ada", "Ada Lovelace", {}, tuple(CollectedAttempt(each, "", "a.zip") for each in FILES)
)


def collected(folder: Path, *contents: bytes) -> Path:
    """Return a folder into which these attempts of one student were collected."""
    for place, content in zip(FILES, contents, strict=True):
        path = folder / place / "week 1" / "hw.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    (folder / MANIFEST).write_bytes(msgspec.json.encode(Collected((ADA,))))
    return folder


def of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_an_attempt_is_known_by_its_file(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    found = [attempt_number(folder, ADA, of(each)) for each in (b"one", b"two", b"three")]
    assert [1, 2, 3] == found


def test_of_the_same_file_it_is_the_last(tmp_path: Path) -> None:
    assert 3 == attempt_number(collected(tmp_path, b"one", b"two", b"one"), ADA, of(b"one"))


def test_another_file_is_no_attempt(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    assert None is attempt_number(folder, ADA, of(b"four"))
    assert None is attempt_number(tmp_path / "elsewhere", ADA, of(b"one"))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = collected(tmp_path / "class", b"one", b"two", b"three")
    (tmp_path / "four").write_bytes(b"four")
    (folder / "submissions" / "ada" / "link").symlink_to(tmp_path / "four")
    assert None is attempt_number(folder, ADA, of(b"four"))


NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
ADA_OF_MOODLE = CollectedStudent(
    "ada",
    "ada",
    "Ada_Lovelace",
    {"moodle": "12", "canvas": "1234"},
    (CollectedAttempt("submissions/ada", "", "a.zip", given="lovelaceada_1234_99_hw.ipynb"),),
)


def graded(**fields: object) -> Report:
    return msgspec.structs.replace(typical(), graded=NOW, **fields)


def works(tmp_path: Path, reports: dict[str, Report], *students: CollectedStudent) -> Works:
    for name, report in {**reports, "summary": None}.items():
        path = tmp_path / "reports" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}" if report is None else encode_report(report))
    return read_works(tmp_path / "reports", Collected(tuple(students)))


def test_a_grade_is_all_points_of_the_report(tmp_path: Path) -> None:
    found = works(tmp_path, {"ada/hw": graded(score=82.5, max_score=100.0)}, ADA_OF_MOODLE)
    (grade,), _ = grades_of(found)
    assert ("ada", "Ada_Lovelace") == (grade.student, grade.name)
    assert (Decimal("82.5"), Decimal("100.0")) == (grade.points, grade.max_points)


def test_who_was_not_collected_is_known_by_the_folder(tmp_path: Path) -> None:
    grades, _ = grades_of(works(tmp_path, {"min": graded()}))
    assert ["min"] == [grade.student for grade in grades]


def test_what_could_not_be_graded_is_no_grade(tmp_path: Path) -> None:
    report = msgspec.structs.replace(nothing_to_grade(), graded=None)
    found = works(tmp_path, {"ada/hw": report})
    assert (([], ()), ("ada",)) == (grades_of(found), found.ungraded)


def test_of_several_reports_none_counts(tmp_path: Path) -> None:
    found = works(tmp_path, {"ada/hw": graded(), "ada/old": graded()})
    assert (([], ()), ("ada",)) == (grades_of(found), found.several)


def test_reports_of_another_assignment_are_left_out_on_demand(tmp_path: Path) -> None:
    """A class's two assignments were graded into one folder: every student had several reports."""
    other = replace(typical().assignment, slug="other")
    mine = typical().assignment.slug
    works(
        tmp_path,
        {"ada/hw": graded(), "ada/b": graded(assignment=other), "ben/b": graded(assignment=other)},
    )
    found = read_works(tmp_path / "reports", Collected(), slug=mine)
    assert (["ada"], (), ()) == ([e.folder for e in found.each], found.ungraded, found.several)


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder of reports"):
        read_works(tmp_path, Collected())


def test_a_file_that_is_no_report_is_named(tmp_path: Path) -> None:
    works(tmp_path, {"ada/hw": graded()})
    (tmp_path / "reports" / "other.json").write_text("{}")
    with pytest.raises(UsageError, match=r"other\.json is not a report"):
        read_works(tmp_path / "reports", Collected())


def test_a_report_of_a_later_grader_is_not_to_be_removed(tmp_path: Path) -> None:
    """It was "not a report", with the advice to remove what `grader batch` did not write."""
    works(tmp_path, {"ada/hw": graded()})
    path = tmp_path / "reports" / "ada" / "hw.json"
    path.write_bytes(re.sub(rb'"schema_version": \d+', b'"schema_version": 99', path.read_bytes()))
    with pytest.raises(UsageError, match=r"ada/hw\.json is a report of a later version") as caught:
        read_works(tmp_path / "reports", Collected())
    assert "Use the grader that wrote it" in caught.value.hint.english


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("moodle", "Ada Lovelace_12_assignfeedback_file_/report.html"),
        ("canvas", "lovelaceada_1234_99_hw.html"),
    ],
)
def test_an_archive_has_the_names_by_which_pages_are_known(
    tmp_path: Path, form: str, name: str
) -> None:
    found = works(tmp_path, {"ada/hw": graded(), "min/hw": graded()}, ADA_OF_MOODLE)
    content, left_out = pack_pages(found.each, form, NOW)  # type: ignore[arg-type]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [name] == archive.namelist()
        assert archive.read(name).startswith(b"<!doctype html>")
    assert ("min",) == left_out


def test_a_page_shows_what_students_may_see(tmp_path: Path) -> None:
    report = graded()
    part = report.parts[0]
    check = msgspec.structs.replace(part.checks[0], title=foreign("kept back"))
    hidden = msgspec.structs.replace(check, visibility="hidden")
    for each, is_seen in ((check, True), (hidden, False)):
        parts = (msgspec.structs.replace(part, checks=(each, *part.checks[1:])), *report.parts[1:])
        found = works(tmp_path, {"ada": msgspec.structs.replace(report, parts=parts)})
        assert is_seen is (b"kept back" in student_page(found.each[0], NOW))


def test_a_page_says_how_the_grade_comes_about_unless_that_tells_what_is_kept_back() -> None:
    report = graded()
    part = report.parts[0]
    lines = (foreign("Part a: 3 of 4."), foreign("All 3, <b>bold</b>."))
    for visibility, is_told in (("visible", True), ("score_only", True), ("hidden", False)):
        check = msgspec.structs.replace(part.checks[0], visibility=visibility)
        parts = (msgspec.structs.replace(part, checks=(check, *part.checks[1:])), *report.parts[1:])
        own = msgspec.structs.replace(report, parts=parts)
        final = FinalGrade(3.0, 4.0, 0.0, lines)
        work = GradedWork("ada", lambda own=own: own, None, final=final)
        page = student_page(work, NOW).decode()
        assert is_told is ("<title>ada – 3 of 4 points" in page)
        assert "before adjustments and lateness" in page
        assert is_told is ("Part a: 3 of 4" in page)
        assert is_told is ("All 3, &lt;b&gt;bold&lt;/b&gt;" in page)


def test_a_page_has_the_address_to_ask_at_with_the_id_of_the_roster(tmp_path: Path) -> None:
    works(tmp_path, {"ada/hw": graded(), "min/hw": graded()})
    found = read_works(tmp_path / "reports", Collected((ADA_OF_MOODLE,)), tmp_path)
    pages = [
        student_page(msgspec.structs.replace(each, ask_at="mailto:ta@x.org"), NOW).decode()
        for each in found.each
    ]
    for page, student in zip(pages, (ADA_OF_MOODLE.id or ADA_OF_MOODLE.folder, "min"), strict=True):
        assert f"mailto:ta@x.org?subject=e2e-conv%2C%20{student}" in page
    assert all(b"mailto:" not in student_page(each, NOW) for each in found.each)


def test_a_page_is_another_one_when_an_objection_is_answered() -> None:
    reply = ToldReply(foreign("So."), "eve", "2026-12-01", 1.0)
    asked = ToldObjection("schedule", foreign("Why?"), "2026-12-01")
    grades = [
        FinalGrade(3.0, 4.0, 0.0, (foreign("3 of 4."),), objections=each)
        for each in ((), (asked,), (asked._replace(replies=(reply,)),))
    ]
    works = [GradedWork("ada", graded, None, final=each) for each in grades]
    works.append(msgspec.structs.replace(works[-1], ask_at="mailto:ta@x.org"))
    assert 4 == len({page_digest(each, NOW) for each in works})


def test_pages_have_names_of_their_own(tmp_path: Path) -> None:
    found = works(tmp_path, {"Ada": graded(), "ada": graded(), "summary.x": graded()})
    names = page_names(found.each)
    assert 3 == len({name.casefold() for name in names.values()})


def test_a_page_says_whose_attempt_it_is_where_that_is_certain(tmp_path: Path) -> None:
    reports, folder = tmp_path / "reports", tmp_path / "class"
    works(tmp_path, {"ada/hw": graded(), "min/hw": graded()})
    file = folder / "submissions" / "ada" / "hw.ipynb"
    file.parent.mkdir(parents=True)
    for content, told in ((b"graded", "Ada_Lovelace, attempt 1 – "), (b"newer", "Ada_Lovelace – ")):
        file.write_bytes(content)
        sha256 = hashlib.sha256(b"graded").hexdigest()
        submission = msgspec.structs.replace(typical().submission, sha256=sha256)
        (reports / "ada" / "hw.json").write_bytes(encode_report(graded(submission=submission)))
        found = read_works(reports, Collected((ADA_OF_MOODLE,)), folder)
        ada, min_ = (student_page(work, NOW).decode() for work in found.each)
        assert f"<title>{told}" in ada
        assert "<title>min – " in min_
