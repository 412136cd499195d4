"""Objections in the gradebook: entered once, answered, and what they move is an adjustment."""

from __future__ import annotations

from decimal import Decimal

import pytest

from grader.errors import UsageError
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Student
from grader.gradebook.grades import Account, derive
from grader.gradebook.objections import (
    LONGEST,
    NewObjection,
    checked_part,
    checked_text,
    objection_lines,
)
from tests.gradebook.factory import SLUG, conv, enrol, hand_in


@pytest.fixture
def ada(book: Gradebook) -> Student:
    book.take_rules([conv()])
    student = enrol(book, "ada")
    hand_in(book, student)
    return student


def account(book: Gradebook, student: Student) -> Account:
    return book.accounts(student.id)[student.id][SLUG]


def ask(book: Gradebook, student: Student, text: str = "why?", part: str = "schedule") -> int:
    ((number, _),) = book.enter_objections([NewObjection(student.id, SLUG, part, text)], who="eve")
    return number


def answer(
    book: Gradebook, student: Student, number: int, points: str | None = None, seen: int = 0
) -> int | None:
    (attempt,) = account(book, student).attempts
    return book.answer_objection(
        number,
        "because",
        seen=seen,
        who="eve",
        attempt=attempt.id,
        points=None if points is None else Decimal(points),
    )


def test_an_objection_is_open_until_it_is_answered(book: Gradebook, ada: Student) -> None:
    number = ask(book, ada)
    (asked,) = account(book, ada).objections
    assert (number, "schedule", "why?", "open") == (
        asked.id,
        asked.part,
        asked.text,
        asked.state(()),
    )
    answer(book, ada, number)
    found = account(book, ada)
    (asked,) = found.objections
    assert ("answered", 0) == (asked.state(found.adjustments), asked.moved(found.adjustments))
    assert ["because"] == [each.text for each in asked.replies]
    assert derive(found).points == Decimal("77.5")


def test_points_are_moved_by_an_adjustment_of_its_part(book: Gradebook, ada: Student) -> None:
    number = ask(book, ada)
    adjustment = answer(book, ada, number, "+2.5")
    found = account(book, ada)
    assert derive(found).points == Decimal("80")
    (entry,) = found.adjustments
    told = (entry.id, entry.part, entry.points, entry.reason, entry.who)
    assert (adjustment, "schedule", Decimal("2.5"), f"objection {number}", "eve") == told
    (asked,) = found.objections
    assert "moved" == asked.state(found.adjustments)


def test_what_is_taken_back_is_no_longer_moved(book: Gradebook, ada: Student) -> None:
    number = ask(book, ada)
    adjustment = answer(book, ada, number, "+2.5")
    assert adjustment is not None
    book.take_back(adjustment, reason="no", who="eve")
    found = account(book, ada)
    assert "answered" == found.objections[0].state(found.adjustments)
    assert derive(found).points == Decimal("77.5")


def test_the_same_words_are_entered_once(book: Gradebook, ada: Student) -> None:
    new = NewObjection(ada.id, SLUG, "schedule", "why?\0")
    other = NewObjection(ada.id, SLUG, "", "why?\0")
    ((first, is_new), (again, is_new_again), (another, _)) = book.enter_objections(
        [new, new, other], who="eve"
    )
    assert (first, True, False) == (again, is_new, is_new_again)
    assert another != first
    assert 2 == len(account(book, ada).objections)


def test_an_unknown_assignment_enters_none(book: Gradebook, ada: Student) -> None:
    several = [NewObjection(ada.id, slug, "", "why?") for slug in (SLUG, "nothing")]
    with pytest.raises(UsageError):
        book.enter_objections(several, who="eve")
    assert () == account(book, ada).objections


def test_two_who_answer_do_not_both_give_points(book: Gradebook, ada: Student) -> None:
    number = ask(book, ada)
    answer(book, ada, number, "+2.5")
    with pytest.raises(UsageError, match="Another person has answered"):
        answer(book, ada, number, "+2.5")
    assert derive(account(book, ada)).points == Decimal("80")
    answer(book, ada, number, "-1", seen=1)
    found = account(book, ada)
    assert Decimal("1.5") == found.objections[0].moved(found.adjustments)


def test_who_handed_in_nothing_may_ask(book: Gradebook, ada: Student) -> None:
    ben = enrol(book, "ben")
    ask(book, ben, part="")
    found = account(book, ben)
    assert ((), 1) == (found.attempts, len(found.objections))
    assert derive(found).points is None


def test_an_unknown_number_is_refused(book: Gradebook, ada: Student) -> None:
    with pytest.raises(UsageError, match="There is no objection 99"):
        answer(book, ada, 99)


def test_it_is_explained_with_its_answer(book: Gradebook, ada: Student) -> None:
    number = ask(book, ada)
    ask(book, ada, "And in all?", "")
    answer(book, ada, number, "+2.5")
    found = account(book, ada)
    told = objection_lines(found.objections, found.attempts, derive(found).attempt)
    lines = [each.english for each in told]
    assert [
        f"Objection {number}, part schedule, 2026",
        "Answered by eve, 2026",
        f"Objection {number + 1}, 2026",
        "Not answered yet.",
    ] == [each.partition("-")[0] for each in lines]
    assert lines[1].endswith(", +2.5 points: because")


def test_points_of_an_attempt_that_does_not_count_are_no_points_of_the_grade(
    book: Gradebook, ada: Student
) -> None:
    """It was said "+2.5 points" of a later attempt, whose grade has none of them."""
    number = ask(book, ada)
    answer(book, ada, number, "+2.5")
    (reply,) = derive(account(book, ada)).objections[0].replies
    assert 2.5 == reply.points
    hand_in(book, ada, b"a better one", 90)
    found = account(book, ada)
    grade = derive(found)
    assert (2, 90) == (grade.attempt, grade.points)
    last = objection_lines(found.objections, found.attempts, grade.attempt)[-1].english
    assert last.endswith(", +2.5 points for attempt 1, which does not count: because")
    (reply,) = grade.objections[0].replies
    assert (None, "because") == (reply.points, reply.text.english)


@pytest.mark.parametrize("text", ["", " \n\t", "x" * (LONGEST + 1)])
def test_a_text_says_something_in_bounds(text: str) -> None:
    with pytest.raises(UsageError):
        checked_text(text)


def test_a_part_is_one_of_the_assignments() -> None:
    assert ("", "a") == (checked_part("", "hw", ("a",)), checked_part("a", "hw", ("a",)))
    with pytest.raises(UsageError, match="hw has no part 'b'"):
        checked_part("b", "hw", ("a",))
