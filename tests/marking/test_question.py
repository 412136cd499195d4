"""The question beside the answer: the course's own, or what stands before it in the notebook."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader.gradebook.book import Gradebook
from grader.grading.rescoring import decided, rubric_digest
from grader.marking.pages import question_before, view_of
from grader.marking.queue import Session
from grader.render.html.local_pages import render_marking
from grader.report import Cell, Report
from tests.marking.factory import ASSIGNMENT, HOSTILE, report_of

QUESTION = "Why is a **fused loop** faster?"
WHY, PLOT = ASSIGNMENT.manual
ASKING = replace(
    ASSIGNMENT, manual=(replace(WHY, question=QUESTION, questions={"zh": "为什么更快？"}), PLOT)
)


def asked(text: str) -> Report:
    """Return a report in whose notebook a text stands before the answer to the first part."""
    report = report_of(b"a notebook", "Because.")
    cells = (*report.cells[:2], Cell("markdown", text), *report.cells[2:])
    parts = tuple(
        replace(each, answer=tuple(at + 1 for at in each.answer)) for each in report.parts
    )
    return replace(report, cells=cells, parts=parts)


def page(book: Gradebook, report: Report, asking: bool = False, lang: str = "en") -> str:
    session = Session(book, ASKING if asking else ASSIGNMENT, "eve")
    answers = session.answers()
    view = view_of(session, answers, answers[0], shows_all=False, shows_notebook=False)
    places = report.parts[1].answer
    return render_marking(view, report, places, lang, question_before(report, places)).decode()


def test_the_courses_question_stands_above_the_answer(classbook: Gradebook) -> None:
    text = page(classbook, asked("Something else."), asking=True)
    before, _, after = text.partition("</details>")
    assert "<summary>Question</summary>" in before
    assert "Why is a <strong>fused loop</strong> faster?" in before
    assert "Because." in after and "Something else." not in text
    assert "为什么更快？" in page(classbook, asked("x"), asking=True, lang="zh")


def test_without_one_it_is_what_stands_before_the_answer(classbook: Gradebook) -> None:
    before, _, after = page(classbook, asked("Why so?")).partition("</details>")
    assert "<summary>Before the answer, in the notebook</summary>" in before
    assert "Why so?" in before and "Because." not in before
    assert "Because." in after and "Why so?" not in after


def test_what_stands_before_it_is_text_and_no_other_answer() -> None:
    report = asked("Why so?")
    assert (2,) == question_before(report, (3,))
    assert () == question_before(report, (4,))  # before it is the answer to another part
    assert () == question_before(report, ()) == question_before(report, (0,))
    many = replace(report, cells=tuple(Cell("markdown", "x") for _ in range(9)))
    assert (5, 6, 7) == question_before(many, (8,))


def test_nothing_of_it_is_markup(classbook: Gradebook) -> None:
    text = page(classbook, asked(HOSTILE))
    assert 1 == text.count("<script") == text.count("<form id")
    assert "<img" not in text and 'href="javascript' not in text


@pytest.mark.parametrize("digest", [rubric_digest, decided])
def test_a_question_changes_no_points(digest: object) -> None:
    assert callable(digest)
    assert digest(ASSIGNMENT) == digest(ASKING)


def test_the_digest_is_what_it_was_before_there_were_questions() -> None:
    """Else the next `regrade --changed` would recount all reports of a course."""
    assert rubric_digest(ASSIGNMENT).startswith("643561aeb4779098")


def test_an_assignment_may_say_it() -> None:
    assert ("", QUESTION) == (WHY.asked.english, ASKING.manual[0].asked.english)
    assert "为什么更快？" == ASKING.manual[0].asked.in_("zh")
