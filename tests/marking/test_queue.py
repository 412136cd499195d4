"""What there is to mark, who comes next, and what is written down; on both databases."""

from __future__ import annotations

from decimal import Decimal

import pytest

from grader.errors import UsageError
from grader.gradebook.book import Gradebook, OvertakenError
from grader.marking.queue import (
    AnswerToMark,
    Session,
    attempts_that_may_count,
    comments_on,
    first_unmarked,
    following,
    preceding,
)
from tests.gradebook.factory import conv
from tests.marking.factory import ASSIGNMENT, grade_of, hand_in


@pytest.fixture
def session(classbook: Gradebook) -> Session:
    return Session(classbook, ASSIGNMENT, "eve")


def named(answers: tuple[AnswerToMark, ...]) -> list[tuple[str, str]]:
    return [(each.table.id, each.student.login) for each in answers]


def test_answers_come_part_by_part_and_student_by_student(session: Session) -> None:
    students = ("ada", "bob", "leilei")
    expected = [(part, login) for part in ("why", "plot") for login in students]
    assert expected == named(session.answers())


def test_a_marking_is_a_grade_at_once_and_says_what_was_chosen(session: Session) -> None:
    first = session.answers()[0]
    session.mark(first, ["memory", "numbers"], "Well said.", seen=0)
    grade = grade_of(session.book, "ada")
    assert (Decimal(14), Decimal(16), Decimal(4)) == (grade.points, grade.possible, grade.open)
    line = next(each for each in grade.lines if "why: marked" in each.english)
    told = (
        "Says that `lv0` is not written to memory and read again (+3); Compares two measured times"
        " (+3); Well said."
    )
    assert line.english.endswith(told) and " by eve, " in line.english
    assert "比较了两个实测时间" in line.in_("zh")
    assert "잰 시간 두 개를 견준다" in line.in_("ko")


def test_what_is_not_marked_is_neither_lost_nor_possible(session: Session) -> None:
    grade = grade_of(session.book, "ada")
    assert (8, 10, 10) == (grade.points, grade.possible, grade.open)
    assert "8 of 10, 10 not marked yet" in grade.lines[-1].english


def test_nothing_chosen_is_a_marking_of_no_points(session: Session) -> None:
    session.mark(session.answers()[0], [], "", seen=0)
    grade = grade_of(session.book, "ada")
    assert (8, 16, 4) == (grade.points, grade.possible, grade.open)


def test_a_second_marking_takes_the_first_back_by_an_entry(session: Session) -> None:
    session.mark(session.answers()[0], ["memory"], "", seen=0)
    first = session.answers()[0]
    session.mark(first, ["locality"], "On reflection.", seen=first.seen)
    (again,) = session.answers()[0].given
    assert (Decimal("1.5"), "On reflection.") == (
        again.points,
        again.marking and again.marking.comment,
    )
    entries = session.answers()[0].attempt.adjustments
    assert [None, entries[0].id, None] == [each.takes_back for each in entries]
    assert Decimal("9.5") == grade_of(session.book, "ada").points


def test_of_two_who_mark_at_once_the_second_hears_of_the_first(session: Session) -> None:
    """Both had it before them unmarked; nothing of the second one's is written."""
    before = session.answers()[0]
    other = Session(session.book, ASSIGNMENT, "mallory")
    session.mark(before, ["memory"], "", seen=before.seen)
    with pytest.raises(OvertakenError) as raised:
        other.mark(before, [], "", seen=before.seen)
    assert raised.value.entry is not None
    assert ("eve", Decimal(3)) == (raised.value.entry.who, raised.value.entry.points)
    assert Decimal(11) == grade_of(session.book, "ada").points


def test_a_marking_that_is_taken_back_leaves_the_points_open(session: Session) -> None:
    session.mark(session.answers()[0], ["memory"], "", seen=0)
    session.take_back(session.answers()[0], session.answers()[0].seen)
    assert (8, 10) == (grade_of(session.book, "ada").points, grade_of(session.book, "ada").open)
    with pytest.raises(OvertakenError):
        session.take_back(session.answers()[0], seen=1)


def test_points_that_were_typed_are_a_marking_that_the_page_takes_back(session: Session) -> None:
    first = session.answers()[0]
    for points in ("4", "1"):
        session.book.adjust(
            first.attempt.id, part="why", points=Decimal(points), reason="by hand", who="eve"
        )
    assert (13, 4) == (grade_of(session.book, "ada").points, grade_of(session.book, "ada").open)
    first = session.answers()[0]
    assert Decimal(5) == first.points
    session.mark(first, ["memory"], "", seen=first.seen)
    assert Decimal(11) == grade_of(session.book, "ada").points


def test_items_that_cannot_be_chosen_together_are_not_written(session: Session) -> None:
    with pytest.raises(ValueError, match="cannot be chosen"):
        session.mark(session.answers()[0], ["memory", "locality"], "", seen=0)
    assert 10 == grade_of(session.book, "ada").open


def test_comments_are_offered_again_newest_first_and_once(session: Session) -> None:
    for answer, comment in zip(session.answers(), ("short", "long", "short"), strict=False):
        session.mark(answer, [], comment, seen=0)
    assert ("short", "long") == comments_on(session.answers(), "why")
    assert () == comments_on(session.answers(), "plot")


def test_unmarked_answers_are_gone_through_from_the_last_to_the_first(session: Session) -> None:
    answers = session.answers()
    session.mark(answers[1], [], "", seen=0)
    now = session.answers()
    places = [each.place for each in now]
    assert places[0] == first_unmarked(now)
    assert places[2] == following(now, places[0], unmarked=True)
    assert places[0] == following(now, places[-1], unmarked=True)
    assert places[1] == following(now, places[0], unmarked=False)
    assert following(now, places[-1], unmarked=False) is None
    assert (None, places[0]) == (preceding(now, places[0]), preceding(now, places[1]))


def test_without_names_students_have_numbers_in_another_order_of_each_run(
    classbook: Gradebook,
) -> None:
    sessions = [Session(classbook, ASSIGNMENT, "eve", is_anonymous=True) for _ in range(12)]
    orders = {tuple(each.student.login for each in one.answers()[:3]) for one in sessions}
    assert len(orders) > 1
    assert [1, 2, 3] == [each.number for each in sessions[0].answers()[:3]]


def test_of_the_best_attempt_what_may_become_better_is_to_be_marked_too(session: Session) -> None:
    student = session.answers()[0].student
    hand_in(session.book, student, "A later one.", score=9)
    account = session.book.accounts(student.id)[student.id]["written"]
    assert [1, 2] == [each.number for each in attempts_that_may_count(account)]
    hand_in(session.book, student, "The last one.", score=10)
    for answer in session.answers():
        if answer.attempt.number == 3:
            session.mark(
                answer, ["memory", "numbers"] if answer.table.id == "why" else ["axes"], "", 0
            )
    account = session.book.accounts(student.id)[student.id]["written"]
    assert [2, 3] == [each.number for each in attempts_that_may_count(account)]


def test_an_assignment_without_such_parts_is_refused(classbook: Gradebook) -> None:
    with pytest.raises(UsageError, match="has no part to mark by hand"):
        Session(classbook, conv(), "eve")
