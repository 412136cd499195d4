"""What a student asked, on the page: beside its part, in bounds, and with no address of its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader.language import foreign
from grader.render.asking import AskAddress
from grader.render.final_grade import FinalGrade, ToldObjection, ToldReply
from grader.render.html import render_html
from tests import sample_reports
from tests.render.html.reading import flat, read

LINE = (foreign("The grade: 77.5 of 100."),)
TIME = "2026-12-01 10:00:00+00:00"
ASK = AskAddress("https://x.org/ask?about={part}", "e2e-conv", "ada")
REPLY = ToldReply(foreign("Because."), "eve", TIME, 2.5)


def final(*asked: ToldObjection, is_told: bool = True) -> FinalGrade:
    return FinalGrade(77.5, 100.0, 0.0, LINE, is_told=is_told, objections=asked)


def page(*asked: ToldObjection, is_told: bool = True) -> str:
    grade = final(*asked, is_told=is_told)
    return flat(read(render_html(sample_reports.typical(), final=grade)).text)


def asked(part: str, *replies: ToldReply, text: str = "Why?") -> ToldObjection:
    return ToldObjection(part, foreign(text), TIME, replies)


def test_it_stands_with_its_answer_in_its_part() -> None:
    text = page(asked("schedule", REPLY))
    assert f"Your question, {TIME} Why? Answer, eve, {TIME}, +2.5 points Because." in text
    assert "Questions about the grade" not in text


def test_about_no_part_it_stands_above_them() -> None:
    for part in ("", "withheld-part"):
        text = page(asked(part))
        assert f"Questions about the grade Your question, {TIME} Why? Not answered yet" in text
        assert "withheld-part" not in text


def test_points_are_not_told_where_the_grade_is_not() -> None:
    assert f"Answer, eve, {TIME} Because." in page(asked("schedule", REPLY), is_told=False)


def test_every_part_and_the_whole_have_an_address() -> None:
    document = render_html(sample_reports.typical(), ask=ASK)
    found = read(document)
    assert [] == found.unbalanced
    links = [each for each in found.values("href") if each.startswith("https://x.org/ask")]
    parts = [each.id for each in sample_reports.typical().parts]
    assert [f"https://x.org/ask?about={each}" for each in ("", *parts)] == links
    assert "x.org/ask" not in render_html(sample_reports.typical()).decode()


@pytest.mark.parametrize("part", ["schedule", ""])
def test_many_long_ones_leave_room_for_the_rest(part: str) -> None:
    long = ToldReply(foreign("<&" * 4_000), "eve" * 99, TIME)
    many = [asked(part, *[long] * 20, text="&李" * 2_000)] * 40
    document = render_html(sample_reports.typical(), final=final(*many, asked(part, text="Last")))
    assert len(document) < 2_900_000
    assert all(each.title.english in document.decode() for each in sample_reports.typical().parts)
    assert "Last" in document.decode()


def test_it_is_in_the_language_of_the_report() -> None:
    report = replace(sample_reports.typical(), language="zh")
    text = flat(read(render_html(report, final=final(asked("schedule", REPLY)), ask=ASK)).text)
    assert "Your question" not in text and "Ask about" not in text
