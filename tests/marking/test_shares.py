"""Answers divided among markers: always the same ones, whoever asks and whoever else hands in."""

from __future__ import annotations

from decimal import Decimal

import pytest

from grader.errors import UsageError
from grader.gradebook.book import Gradebook, OvertakenError
from grader.marking.agreement import agreements, marked_twice, weighted_kappa
from grader.marking.queue import Session, Share, read_share
from tests.marking.factory import ASSIGNMENT, grade_of

ANSWERS = [("hw", part, f"student{number}") for number in range(300) for part in ("a", "b")]
TWO = ("ana", "ben")


def shares(count: int, twice: float = 0.0) -> list[Share]:
    return [read_share(f"{own}/{count}", (), twice) for own in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_answer_is_one_markers_and_all_have_about_as_many(count: int) -> None:
    places = [[each.place(*answer) for each in shares(count)] for answer in ANSWERS]
    assert all([0] == [each for each in row if each is not None] for row in places)
    sizes = [sum(row[at] == 0 for row in places) for at in range(count)]
    assert min(sizes) > 0.6 * len(ANSWERS) / count


def test_a_marker_more_takes_from_the_others_and_nothing_else_moves() -> None:
    moved = 0
    for answer in ANSWERS:
        before, after = (
            [each for each in all if Share(all, each).place(*answer) == 0]
            for all in (TWO, ("cho", *TWO))
        )
        assert after in (before, ["cho"])
        moved += after == ["cho"]
    assert 0.25 < moved / len(ANSWERS) < 0.42


def test_some_are_marked_twice_by_different_people() -> None:
    places = [[each.place(*answer) for each in shares(3, 20)] for answer in ANSWERS]
    rows = [sorted(each for each in row if each is not None) for row in places]
    assert {(0,), (0, 1)} == {tuple(row) for row in rows}
    assert 0.12 < sum(len(row) == 2 for row in rows) / len(rows) < 0.28
    assert all([0, 1] == sorted(e for e in row if e is not None) for row in _placed(shares(3, 100)))
    assert all([0] == [e for e in row if e is not None] for row in _placed(shares(1, 100)))


def _placed(found: list[Share]) -> list[list[int | None]]:
    return [[each.place(*answer) for each in found] for answer in ANSWERS]


def test_who_shares_is_named_by_a_fraction_or_by_the_course() -> None:
    assert Share(("1", "2", "3"), "2", 5.0) == read_share("2/3", TWO, 5.0)
    assert Share(TWO, "ben") == read_share("ben", TWO, 0.0)


@pytest.mark.parametrize(
    "text", ["", "0/3", "4/3", "1/101", "1/0", "x", "1", "1/2/3", "١/٣", "-1/3"]
)
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="There is no share"):
        read_share(text, TWO, 0.0)


def session(book: Gradebook, own: str, twice: float = 100.0) -> Session:
    return Session(book, ASSIGNMENT, own, share=Share(TWO, own, twice))


def test_sessions_have_the_answers_of_their_share(classbook: Gradebook) -> None:
    every = {each.place for each in Session(classbook, ASSIGNMENT, "eve").answers()}
    ana, ben = ({e.place for e in session(classbook, own, 0.0).answers()} for own in TWO)
    assert every == ana | ben and not ana & ben
    assert all(every == {e.place for e in session(classbook, own).answers()} for own in TWO)


def test_a_second_marking_gives_no_points_and_sees_no_first(classbook: Gradebook) -> None:
    ana, ben = session(classbook, "ana"), session(classbook, "ben")
    for each in ana.answers():
        ana.mark(each, [each.table.item[0].id], "Only of Ana.", seen=0)
    before = {login: grade_of(classbook, login) for login in ("ada", "bob", "leilei")}
    seconds = [each for each in ben.answers() if each.is_second]
    assert seconds
    assert all(not each.given and each.points == 0 and each.seen == 0 for each in seconds)
    for each in seconds:
        ben.mark(each, [], "Only of Ben.", seen=0)
    again = {each.place: each for each in ben.answers() if each.is_second}
    assert {"Only of Ben."} == {each.marking.comment for each in again.values()}
    with pytest.raises(OvertakenError):
        ben.mark(seconds[0], [], "", seen=0)
    marked = {each.part for each in marked_twice(classbook, "written")}
    assert marked
    for login, grade in before.items():
        own = [e.attempt.id for e in seconds if e.student.login == login]
        assert not own or grade.points == grade_of(classbook, login).points


def test_agreement_is_told_by_part(classbook: Gradebook) -> None:
    ana, ben = session(classbook, "ana"), session(classbook, "ben")
    for own in (ana, ben):
        for each in own.answers():
            chosen = [each.table.item[0].id] if own is ana or each.student.login != "bob" else []
            own.mark(each, chosen, "", seen=0)
    found = marked_twice(classbook, "written")
    assert 6 == len(found)
    assert {("plot", 3, 2), ("why", 3, 2)} == {
        (each.part, each.answers, each.equal) for each in agreements(found)
    }
    assert {"bob"} == {each.student.login for each in found if each.first != each.second}
    assert {"ana", "ben"} == {name for e in found for name in (e.first_by, e.second_by)}


def test_a_second_marking_that_is_taken_back_counts_for_nothing(classbook: Gradebook) -> None:
    ana, ben = session(classbook, "ana"), session(classbook, "ben")
    for own in (ana, ben):
        for each in own.answers():
            own.mark(each, [], "", seen=0)
    for each in ben.answers():
        if each.is_second:
            ben.take_back(each, each.seen)
    assert {"ben"} == {each.first_by for each in marked_twice(classbook, "written")}
    assert all(not each.given for each in ben.answers() if each.is_second)


@pytest.mark.parametrize(
    ("firsts", "seconds", "kappa"),
    [
        ("0 1 2 3", "0 1 2 3", 1.0),
        ("0 1 2 3", "3 2 1 0", -1.0),
        ("0 0 1 1", "0 1 0 1", 0.0),
        ("1 1 1 1", "1 1 1 1", None),
        ("0 1 2 2", "0 2 2 1", 0.6363636363636364),
    ],
)
def test_kappa_weighs_by_the_square_of_the_difference(
    firsts: str, seconds: str, kappa: float | None
) -> None:
    found = weighted_kappa(*([Decimal(e) for e in each.split()] for each in (firsts, seconds)))
    assert kappa == (None if found is None else pytest.approx(found))
