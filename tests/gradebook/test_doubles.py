"""Which e-mails several people of a roster have."""

from __future__ import annotations

from grader.gradebook.entries import RosterEntry, Student, shared_emails


def known(login: str, email: str) -> Student:
    return Student(1, login, login, email, "", "", {})


def told(login: str, **fields: str) -> RosterEntry:
    return RosterEntry(login, fields, {})


def test_an_e_mail_of_two_lines_is_named_with_both() -> None:
    roster = [
        told("ada", email="a@x.org"),
        told("bo", email="b@x.org"),
        told("cy", email="A@X.org"),
    ]
    assert {"a@x.org": ("ada", "cy")} == shared_emails([], roster)


def test_nobody_shares_an_e_mail_that_is_missing() -> None:
    assert {} == shared_emails([known("eve", "")], [told("ada", email=""), told("bo")])


def test_those_count_who_are_in_the_gradebook_and_not_in_the_roster() -> None:
    roster = [told("bo", email="a@x.org")]
    assert {"a@x.org": ("ada", "bo")} == shared_emails([known("ada", "a@x.org")], roster)


def test_what_the_roster_says_of_somebody_counts_and_not_what_was_known() -> None:
    before = [known("ada", "a@x.org"), known("bo", "a@x.org")]
    assert {} == shared_emails(before, [told("ADA", email="new@x.org")])
    assert {"a@x.org": ("ada", "bo")} == shared_emails(before, [told("ada", name="Ada")])
