"""What is written into a gradebook is there, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.database import file_of, open_database
from grader.gradebook.entries import Marking, RosterEntry, Student, plan
from grader.gradebook.grades import Account, derive_all
from grader.gradebook.objections import NewObjection
from grader.lateness import LatePolicy
from tests.gradebook.factory import CONTENT, DUE, SLUG, conv, enrol, hand_in, report_of


@pytest.fixture
def ada(book: Gradebook) -> Student:
    """Somebody in a course with one assignment."""
    book.take_rules([conv()])
    return enrol(book, "ada")


def account(book: Gradebook, student: Student) -> Account:
    return book.accounts(student.id)[student.id][SLUG]


def points(book: Gradebook, student: Student) -> Decimal | None:
    return derive_all([account(book, student)])[SLUG].points


def test_what_assignments_say_is_taken_over_when_it_changes(book: Gradebook) -> None:
    policy = LatePolicy(percent=Decimal("12.5"), free_days=3, closes_after_hours=72)
    assert (SLUG,) == book.take_rules([conv()])
    assert () == book.take_rules([conv()])
    assert (SLUG,) == book.take_rules([conv(policy, "last")])
    rules = book.rules()[SLUG]
    assert (policy, "last", DUE, 100) == (rules.late, rules.counts, rules.due, rules.points)
    assert ("emit_te", "torch_extern", "schedule") == rules.parts


def test_a_report_is_kept_with_its_file(book: Gradebook, ada: Student) -> None:
    hand_in(book, ada, handed_in=DUE)
    (attempt,) = account(book, ada).attempts
    assert (1, "hw.ipynb", DUE) == (attempt.number, attempt.name, attempt.handed_in)
    (grading,) = attempt.gradings
    assert (Decimal("77.5"), True) == (grading.score, grading.settled)
    assert [40, 15, Decimal("22.5")] == [part.score for part in grading.parts]
    assert report_of() == book.find_report(attempt.sha256)
    assert Decimal("77.5") == points(book, ada)


def test_what_is_told_twice_is_there_once(book: Gradebook, ada: Student) -> None:
    for _ in range(2):
        hand_in(book, ada)
    assert [1] == [len(each.gradings) for each in account(book, ada).attempts]
    hand_in(book, ada, seed=2)
    assert [2] == [len(each.gradings) for each in account(book, ada).attempts]


def test_when_it_was_handed_in_can_be_told_later_and_is_not_changed(
    book: Gradebook, ada: Student
) -> None:
    for when in (None, DUE, DUE + timedelta(days=1)):
        hand_in(book, ada, handed_in=when)
    assert [DUE] == [each.handed_in for each in account(book, ada).attempts]


def test_attempts_are_in_the_order_in_which_they_were_handed_in(
    book: Gradebook, ada: Student
) -> None:
    hand_in(book, ada, b"second", 50, DUE)
    hand_in(book, ada, b"first", 60, DUE - timedelta(days=1))
    found = [(each.number, each.gradings[-1].score) for each in account(book, ada).attempts]
    assert [(1, 60), (2, 50)] == found


def test_what_could_not_be_graded_is_an_attempt_without_a_grade(
    book: Gradebook, ada: Student
) -> None:
    book.record_all([Recording(HandedIn(ada.id, SLUG, "hw.ipynb", CONTENT), None)])
    assert [()] == [each.gradings for each in account(book, ada).attempts]
    assert points(book, ada) is None


def test_an_unknown_assignment_is_refused_and_nothing_is_kept(
    book: Gradebook, ada: Student
) -> None:
    with pytest.raises(UsageError, match="no assignment 'softmax'"):
        given = HandedIn(ada.id, "softmax", "hw.ipynb", CONTENT)
        book.record_all([Recording(given, report_of())])
    assert {} == book.accounts()


def test_adjustments_are_added_and_taken_back_and_never_deleted(
    book: Gradebook, ada: Student
) -> None:
    hand_in(book, ada)
    (attempt,) = account(book, ada).attempts
    first = book.adjust(attempt.id, points=Decimal("0.1"), reason="a", who="eve")
    book.adjust(attempt.id, part="schedule", factor=Decimal("0.5"), reason="b", who="eve")
    assert Decimal("66.35") == points(book, ada)
    book.take_back(first, reason="c", who="eve")
    assert Decimal("66.25") == points(book, ada)
    entries = account(book, ada).attempts[0].adjustments
    assert [("a", None), ("b", None), ("c", first)] == [
        (each.reason, each.takes_back) for each in entries
    ]


def test_an_adjustment_is_taken_back_once(book: Gradebook, ada: Student) -> None:
    hand_in(book, ada)
    (attempt,) = account(book, ada).attempts
    first = book.adjust(attempt.id, points=Decimal(1), reason="a", who="eve")
    back = book.take_back(first, reason="b", who="eve")
    for number, said in ((first, "already been undone"), (back, "no adjustment"), (99, "no adj")):
        with pytest.raises(UsageError, match=said):
            book.take_back(number, reason="c", who="eve")


def test_extensions_hold_until_they_are_taken_back(book: Gradebook, ada: Student) -> None:
    later = DUE + timedelta(days=3)
    book.extend(ada.id, SLUG, later, reason="ill", who="eve")
    assert later == account(book, ada).due
    book.extend(ada.id, SLUG, None, reason="no", who="eve")
    assert DUE == account(book, ada).due
    assert 2 == len(account(book, ada).extensions)


@pytest.mark.parametrize(
    "reason", ["李雷 said so: 100 %", "a\0b", "half \ud83d a pair", "'; DROP TABLE student; --"]
)
def test_any_reason_can_be_kept(book: Gradebook, ada: Student, reason: str) -> None:
    hand_in(book, ada)
    (attempt,) = account(book, ada).attempts
    book.adjust(attempt.id, points=Decimal(1), reason=reason, who=reason)
    assert 1 == len(account(book, ada).attempts[0].adjustments)


def test_rosters_change_students_and_say_who_has_withdrawn(book: Gradebook) -> None:
    enrol(book, "ada", "ben", email="a@x.org")
    ada = [RosterEntry("ada", {"email": "new@x.org"}, {"SIS User ID": "7"})]
    changes = plan(book.students(), ada)
    book.change_students(changes, changes.missing)
    found = {each.login: each for each in book.students()}
    assert ("new@x.org", "Ada", {"SIS User ID": "7"}) == (
        found["ada"].email,
        found["ada"].name,
        found["ada"].lms,
    )
    assert [None, True] == [found["ada"].withdrawn, found["ben"].withdrawn is not None]
    book.change_students(plan(book.students(), [RosterEntry("ben", {}, {})]))
    assert {None} == {each.withdrawn for each in book.students()}


def test_nothing_of_who_is_forgotten_remains(book: Gradebook, ada: Student, url: str) -> None:
    ben = enrol(book, "ben")
    for student in (ada, ben):
        hand_in(book, student, student.login.encode() * 99)
        (attempt,) = account(book, student).attempts
        number = book.adjust(attempt.id, points=Decimal(1), reason="why-" + student.login, who="e")
        book.take_back(number, reason="no-" + student.login, who="e")
        book.extend(student.id, SLUG, DUE, reason="when-" + student.login, who="e")
        asked = NewObjection(student.id, SLUG, "", "asked-" + student.login)
        ((number, _),) = book.enter_objections([asked], who="e")
        marking = Marking((), "second-" + student.login)
        book.mark_second(attempt.id, "schedule", Decimal(1), marking, seen=0, who="e")
        told = {"seen": 0, "who": "e", "attempt": attempt.id, "points": Decimal(1)}
        book.answer_objection(number, "told-" + student.login, **told)
    book.forget(ada.id)
    assert ["ben"] == [each.login for each in book.students()]
    assert [ben.id] == [*book.accounts()]
    assert 3 == len(account(book, ben).attempts[0].adjustments)
    assert 1 == len(account(book, ben).objections) == len(book.second_markings())
    path = file_of(url)
    if path is not None:
        content = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
        assert b"why-ben" in content
        assert b"-ada" not in content


def test_two_who_write_at_once_wait_for_one_another(
    book: Gradebook, url: str, ada: Student
) -> None:
    hand_in(book, ada)
    (attempt,) = account(book, ada).attempts
    failures: list[BaseException] = []

    def adjust() -> None:
        own = Gradebook(open_database(url))
        try:
            for _ in range(10):
                own.adjust(attempt.id, points=Decimal("0.01"), reason="a", who="eve")
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=adjust) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [] == failures
    assert Decimal("77.9") == points(book, ada)


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    book = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}", make=True))
    enrol(book, "ada")
    book.close()
    assert [0o600] == [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()]
