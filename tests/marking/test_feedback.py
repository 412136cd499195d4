"""What a student reads of the marking, on the page that `grader feedback` writes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from grader.batch.collect import Entry
from grader.batch.recording import RecordingStore
from grader.cli.lms import FeedbackOptions, run_feedback
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import find_student
from grader.lms.handback import GradedWork, student_page
from grader.marking.queue import AnswerToMark, Session
from grader.render.html import render_html
from grader.report import Report, encode_report
from tests.marking.factory import ASSIGNMENT, GRADED, grade_of, report_of
from tests.render.html.reading import flat, read

Mark = Callable[..., None]


@pytest.fixture
def mark(classbook: Gradebook) -> Mark:
    """Marks a part of a student's, by what is chosen of its rubric and a comment."""
    session = Session(classbook, ASSIGNMENT, "eve")

    def do(login: str, part: str, *chosen: str, comment: str = "") -> None:
        answer = _answer(session, login, part)
        session.mark(answer, list(chosen), comment, seen=answer.seen)

    return do


def _answer(session: Session, login: str, part: str) -> AnswerToMark:
    found = (each for each in session.answers() if each.student.login == login)
    return next(each for each in found if each.table.id == part)


def adjust(book: Gradebook, login: str, part: str = "", **change: Decimal | None) -> None:
    attempt = attempt_of(book, login)
    told = {"points": None, "factor": None, **change}
    book.adjust(attempt, part=part, reason="a decision of mine", who="eve", **told)


def attempt_of(book: Gradebook, login: str) -> int:
    student = find_student(book.students(), login)
    return book.accounts(student.id)[student.id]["written"].attempts[0].id


def page(book: Gradebook, login: str, **fields: object) -> bytes:
    """The page of a student, of a report in which these fields are other ones."""

    def report() -> Report:
        found = book.report_of(attempt_of(book, login))
        assert found is not None
        return replace(found, **fields)

    return student_page(GradedWork(login, report, None, final=grade_of(book, login).final), GRADED)


def part(document: bytes, place: int) -> str:
    """What is written in a part, which are counted from 1."""
    pieces = document.decode().split('<article id="part-')
    found = next(each for each in pieces if each.startswith(f"{place}"))
    article = f'<article id="part-{found}'.partition("</article>")[0]
    return flat(read(article.encode()).text)


def head(document: bytes) -> str:
    return flat(read(document.partition(b'<nav class="contents"')[0]).text)


def listed(document: bytes) -> list[str]:
    """The points of the parts, as the table of all parts has them."""
    table = document.decode().partition('<table class="overview">')[2].partition("</table>")[0]
    return re.findall(r'<td class="points">([^<]*)</td>', table)


def test_a_part_that_is_marked_has_its_points_what_was_chosen_and_the_comment(
    classbook: Gradebook, mark: Mark
) -> None:
    mark("ada", "why", "memory", "numbers", "long", comment="Well said.")
    text = part(page(classbook, "ada"), 2)
    assert text.startswith("Why a fused loop is faster 5.5 of 6 This part was marked by hand.")
    assert "Says that lv0 is not written to memory and read again+3" in text
    assert "Compares two measured times+3" in text
    assert "Longer than half a page-0.5 Well said." in text


def test_it_is_not_said_to_be_not_marked_and_the_other_one_is(
    classbook: Gradebook, mark: Mark
) -> None:
    mark("ada", "why", "memory")
    document = page(classbook, "ada")
    assert ["8 of 10", "3 of 6", "4 not marked yet"] == listed(document)
    assert "not" not in part(document, 2).partition("Says that")[0]
    assert "This part is marked by hand, and has not been marked yet." in part(document, 3)


def test_where_nothing_was_chosen_that_is_said(classbook: Gradebook, mark: Mark) -> None:
    mark("ada", "why", comment="Where is it?")
    text = part(page(classbook, "ada"), 2)
    assert "0 of 6" in text
    assert text.endswith("No rubric item was chosen. Where is it?")


def test_what_is_marked_is_no_adjustment_that_the_score_was_before(
    classbook: Gradebook, mark: Mark
) -> None:
    mark("ada", "why", "memory")
    mark("ada", "plot", "axes", "curve")
    text = head(page(classbook, "ada"))
    assert "15 / 20" in text
    assert "before" not in text


def test_a_part_that_was_adjusted_says_by_what_below_its_checks(classbook: Gradebook) -> None:
    adjust(classbook, "ada", "model", points=Decimal(1))
    adjust(classbook, "ada", "model", factor=Decimal("0.5"))
    text = part(page(classbook, "ada"), 1)
    assert text.startswith("The layer 4.5 of 10")
    assert "Same outputs8 of 10" in text
    assert "a decision of mine+1" in text
    assert text.endswith("a decision of mine× 0.5")


def test_parts_with_what_concerns_all_come_to_the_score(classbook: Gradebook, mark: Mark) -> None:
    mark("ada", "why", "memory", "numbers", "long")
    adjust(classbook, "ada", "model", points=Decimal(1))
    adjust(classbook, "ada", points=Decimal("-0.5"))
    document = page(classbook, "ada")
    assert ["9 of 10", "5.5 of 6", "4 not marked yet"] == listed(document)
    assert "14 / 16" in head(document)
    assert "13.5 of 16 before adjustments and lateness" in head(document)


def test_what_was_marked_by_a_number_alone_has_its_reason(classbook: Gradebook) -> None:
    adjust(classbook, "ada", "why", points=Decimal(4))
    text = part(page(classbook, "ada"), 2)
    assert "4 of 6 This part was marked by hand." in text
    assert text.endswith("a decision of mine+4")


def test_what_was_marked_again_is_the_newest_alone(classbook: Gradebook, mark: Mark) -> None:
    mark("ada", "why", "memory", comment="At first.")
    mark("ada", "why", "locality", comment="On reflection.")
    text = part(page(classbook, "ada"), 2)
    assert "1.5 of 6" in text and "On reflection." in text
    assert "Says that" not in text and "At first." not in text


def test_a_factor_marks_nothing(classbook: Gradebook) -> None:
    adjust(classbook, "ada", "why", factor=Decimal("0.5"))
    text = part(page(classbook, "ada"), 2)
    assert "6 not marked yet" in text and "has not been marked yet" in text


def test_nothing_of_another_students_marking_is_on_a_page(classbook: Gradebook, mark: Mark) -> None:
    mark("bob", "why", "locality", comment="Of Bob alone.")
    document = page(classbook, "ada").decode()
    assert "Of Bob alone." not in document
    assert "Speaks of caches" not in document
    assert "6 not marked yet" in document


def test_it_is_told_also_where_a_check_is_kept_back(classbook: Gradebook, mark: Mark) -> None:
    mark("ada", "why", "memory")
    adjust(classbook, "ada", "model", points=Decimal(1))
    found = classbook.report_of(attempt_of(classbook, "ada"))
    assert found is not None
    model, *others = found.parts
    (check,) = model.checks
    hidden = replace(check, id="hidden", visibility="hidden", title=check.title)
    parts = (replace(model, checks=(check, hidden), score=16.0, max_score=20.0), *others)
    document = page(classbook, "ada", parts=parts, score=16.0, max_score=20.0)
    assert ["8 of 10", "3 of 6", "4 not marked yet"] == listed(document)
    assert "11 / 16" in head(document)
    assert "before adjustments and lateness" in head(document)
    assert "a decision of mine" not in document.decode()


@pytest.mark.parametrize(
    ("language", "item", "said"),
    [
        ("zh", "比较了两个实测时间", "这一部分已由人批阅。"),
        ("ko", "잰 시간 두 개를 견준다", "이 파트는 사람이 채점했습니다."),
    ],
)
def test_it_is_in_the_students_language(
    classbook: Gradebook, mark: Mark, language: str, item: str, said: str
) -> None:
    mark("ada", "why", "numbers")
    text = part(page(classbook, "ada", language=language), 2)
    assert item in text and said in text


def test_a_comment_is_words_and_no_page(classbook: Gradebook, mark: Mark) -> None:
    mark("ada", "why", comment="<script>alert(1)</script>\x1b[31m")
    document = page(classbook, "ada").decode()
    assert "<script>" not in document and "\x1b" not in document
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in document


def test_the_page_of_a_batch_has_it_and_no_grade(
    classbook: Gradebook, mark: Mark, tmp_path: Path
) -> None:
    mark("ada", "why", "memory", comment="Well said.")
    adjust(classbook, "ada", "model", points=Decimal(1))
    attempt = attempt_of(classbook, "ada")
    found = classbook.report_of(attempt)
    assert found is not None
    path = tmp_path / "class" / "ada" / "hw.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(classbook.content(attempt))
    store = RecordingStore(tmp_path / "reports", classbook)
    known = store.handed_in_by(Entry(path, "ada/hw.ipynb", "ada/hw", tmp_path), found)
    document = render_html(found, *known[:3])
    assert "Well said." in part(document, 2)
    assert ["8 of 10", "3 of 6", "4 not marked yet"] == listed(document)
    assert "11 of 16 points 4 not marked yet before adjustments and lateness" in head(document)


def feedback(folder: Path, report: Report) -> str:
    """What `grader feedback` says of a folder with this one report."""
    reports = folder / "reports"
    reports.mkdir()
    (reports / "summary.json").write_text("{}")
    (reports / "ada.json").write_bytes(encode_report(report))
    told = io.StringIO()
    options = FeedbackOptions(folder / "pages", reports)
    assert run_feedback(options, Console(file=told, width=500))
    return told.getvalue()


def test_of_reports_it_is_said_that_markings_are_elsewhere(tmp_path: Path) -> None:
    said = feedback(tmp_path, report_of(b"a notebook", "Because."))
    assert "Not marked by hand yet, and shown so on the page (1): ada." in said
    assert (
        "only in the gradebook. To write pages with them: grader feedback --assignment SLUG" in said
    )


def test_nothing_is_said_of_markings_where_nothing_is_to_be_marked(tmp_path: Path) -> None:
    report = report_of(b"a notebook", "Because.")
    said = feedback(tmp_path, replace(report, parts=report.parts[:1]))
    assert "marked" not in said
    assert said.endswith("pages, with 1 page\n")
