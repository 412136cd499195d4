"""A batch beside a gradebook: whose a file is, what is recorded, and what is not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.batch.collect import Entry, unknown_attempt
from grader.batch.companions import companions, words_of_companions
from grader.batch.recording import FolderTimes, RecordingStore
from grader.environment import describe_environment
from grader.errors import GraderError
from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.gradebook.entries import Marking, find_student
from grader.language import foreign
from grader.report import Part, Report, decode_report, ungraded_report
from tests.gradebook.factory import CONTENT, SLUG, conv, enrol, report_of

CONTENT_DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    """A gradebook with two of one name."""
    found = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}", make=True))
    found.take_rules([conv()])
    enrol(found, "ada", "李雷", "ben@x.org")
    enrol(found, "b1", "b2", name="Kim")
    yield found
    found.close()


def entry(folder: Path, file: str, content: bytes = CONTENT, name: str = "class") -> Entry:
    path = folder / name / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return Entry(path, file, file.removesuffix(".ipynb"), folder)


def attempts(book: Gradebook) -> dict[str, list[datetime | None]]:
    logins = {each.id: each.login for each in book.students()}
    return {
        logins[id]: [each.handed_in for each in found[SLUG].attempts]
        for id, found in book.accounts().items()
    }


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("ada/hw.ipynb", "ada"),
        ("ADA/deep/er/hw.ipynb", "ada"),
        ("ada.ipynb", None),
        ("mallory/ada.ipynb", None),
        ("mallory/ada/hw.ipynb", None),
        ("李雷/hw.ipynb", "李雷"),
        ("Ben@X.org/hw.ipynb", "ben@x.org"),
        ("b1/kim.ipynb", "b1"),
        ("Kim/hw.ipynb", None),
        ("ada/b1/hw.ipynb", "ada"),
        ("nobody/hw.ipynb", None),
    ],
)
def test_a_file_is_whose_folder_in_the_batch_it_is_in_whatever_a_student_calls_what_is_below(
    book: Gradebook, tmp_path: Path, file: str, owner: str | None
) -> None:
    found = RecordingStore(tmp_path / "reports", book).owner(entry(tmp_path, file))
    assert owner == (found.login if found else None)


def test_whose_a_page_is_and_which_attempt_is_what_the_gradebook_says(
    book: Gradebook, tmp_path: Path
) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    report, other = report_of(), report_of(b"another one")
    mine = entry(tmp_path, "ada/hw.ipynb")
    name = store.owner(mine).name or "ada"
    assert (name, None, None, "ada") == store.handed_in_by(mine, report)
    store.write(mine, report)
    assert (name, 1, None, "ada") == store.handed_in_by(mine, report)
    store.write(entry(tmp_path, "ada/hw.ipynb", b"another one"), other)
    assert [1, 2] == [store.handed_in_by(mine, each).attempt for each in (report, other)]
    stranger = entry(tmp_path, "nobody/hw.ipynb")
    assert ("nobody", None, None, "nobody") == store.handed_in_by(stranger, report)


def test_a_page_has_what_a_person_marked_of_its_own_attempt(
    book: Gradebook, tmp_path: Path
) -> None:
    store, mine = RecordingStore(tmp_path / "reports", book), entry(tmp_path, "ada/hw.ipynb")
    report = with_part_to_mark(report_of())
    store.write(mine, report)
    better = with_part_to_mark(report_of(b"another one", score=90))
    store.write(entry(tmp_path, "ada/hw.ipynb", b"another one"), better)
    ada = find_student(book.students(), "ada")
    first, _ = book.accounts(ada.id)[ada.id][SLUG].attempts
    checked = report.parts[0].id
    book.adjust(first.id, part=checked, points=Decimal(1), reason="so", who="eve")
    book.mark(first.id, "why", Decimal(4), Marking(comment="Well."), seen=0, who="eve")
    assert None is store.handed_in_by(mine, better).marked
    found = store.handed_in_by(mine, report).marked
    assert found is not None
    assert not found.is_told
    assert [("why", 4.0, 10.0)] == [each[:3] for each in found.told]


def with_part_to_mark(report: Report) -> Report:
    """Return a report with a part of 10 points that a person is to give."""
    part = Part("why", foreign("Why"), 0.0, 0.0, (), open=10.0)
    return replace(report, parts=(*report.parts, part))


def test_when_a_folder_was_handed_in_may_be_known(book: Gradebook, tmp_path: Path) -> None:
    when = datetime(2026, 11, 3, tzinfo=timezone.utc)
    store = RecordingStore(tmp_path / "reports", book, {tmp_path / "class" / "ada": when})
    for file in ("ada/week 1/hw.ipynb", "李雷/hw.ipynb"):
        store.write(entry(tmp_path, file), report_of())
    found = attempts(book)
    assert ([when], [None]) == (found["ada"], found["李雷"])


def test_what_canvas_calls_late_is_late_at_no_time(book: Gradebook, tmp_path: Path) -> None:
    late: FolderTimes = {tmp_path / "class" / "ada": "late"}
    store = RecordingStore(tmp_path / "reports", book, late)
    store.write(entry(tmp_path, "ada/hw.ipynb"), report_of())
    ada = find_student(book.students(), "ada")
    (found,) = book.accounts(ada.id)[ada.id][SLUG].attempts
    assert (None, True) == (found.handed_in, found.told_late)
    assert {"ada/hw"} == store.late
    when = datetime(2026, 12, 2, tzinfo=timezone.utc)
    RecordingStore(tmp_path / "reports", book, when).write(
        entry(tmp_path, "ada/hw.ipynb"), report_of()
    )
    (found,) = book.accounts(ada.id)[ada.id][SLUG].attempts
    assert (when, True) == (found.handed_in, found.told_late)
    again = RecordingStore(tmp_path / "reports", book, late)
    again.write(entry(tmp_path, "ada/hw.ipynb"), report_of())
    assert set() == again.late  # its time is known by now


def test_a_student_is_known_by_the_folder_that_was_named(book: Gradebook, tmp_path: Path) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    found = store.owner(entry(tmp_path, "hw.ipynb", name="ada"))
    assert found is not None
    assert "ada" == found.login


def test_a_folder_in_a_students_own_that_is_called_as_another_is_nobodys(
    book: Gradebook, tmp_path: Path
) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    assert store.owner(entry(tmp_path, "b1/hw.ipynb", name="ada")) is None
    assert store.owner(entry(tmp_path, "week 1/hw.ipynb", name="ada")) is not None


def test_files_of_one_hand_in_are_known_to_be_together(book: Gradebook, tmp_path: Path) -> None:
    mine = [entry(tmp_path, f"ada/{name}.ipynb", name.encode()) for name in "abc"]
    groups = companions(mine[:2], unknown_attempt)
    store = RecordingStore(tmp_path / "reports", book, together=words_of_companions(groups))
    for each in mine:
        store.write(each, report_of(each.path.read_bytes()))
    ada = find_student(book.students(), "ada")
    words = [each.together for each in book.accounts(ada.id)[ada.id][SLUG].attempts]
    assert ([*groups] * 2, "") == (words[:2], words[2])


def test_a_report_is_in_the_gradebook_and_in_the_folder(book: Gradebook, tmp_path: Path) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    store.write(entry(tmp_path, "ada/hw.ipynb"), report_of())
    assert {"ada": [None]} == attempts(book)
    path = tmp_path / "reports" / "ada" / "hw.json"
    assert report_of() == decode_report(path.read_bytes())
    assert ([], []) == (store.strangers, store.troubles)


def test_what_is_nobodys_is_in_the_folder_and_named(book: Gradebook, tmp_path: Path) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    store.write(entry(tmp_path, "Kim/hw.ipynb"), report_of())
    assert {} == attempts(book)
    assert ["Kim/hw"] == store.strangers
    assert (tmp_path / "reports" / "Kim" / "hw.json").exists()


def test_what_the_gradebook_does_not_take_is_in_the_folder(book: Gradebook, tmp_path: Path) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    given = entry(tmp_path, "ada/hw.ipynb")
    book.record_all = _refuse  # type: ignore[method-assign]
    store.write(given, report_of())
    assert ["no"] == [str(each) for each in store.troubles]
    assert (tmp_path / "reports" / "ada" / "hw.json").exists()


def _refuse(*_: object) -> None:
    raise GraderError(foreign("no"))


def test_a_file_that_was_changed_meanwhile_is_not_taken_for_the_one_graded(
    book: Gradebook, tmp_path: Path
) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    store.write(entry(tmp_path, "ada/hw.ipynb", b"another"), report_of())
    assert {} == attempts(book)
    assert ["ada/hw was changed while it was graded: it is not in the gradebook."] == [
        str(each) for each in store.troubles
    ]


def test_a_report_of_an_earlier_run_is_brought_in_once(book: Gradebook, tmp_path: Path) -> None:
    given = entry(tmp_path, "ada/hw.ipynb")
    for _ in range(2):
        RecordingStore(tmp_path / "reports", book).keep(given, report_of())
    (found,) = book.accounts().values()
    assert [1] == [len(each.gradings) for each in found[SLUG].attempts]


def test_a_report_is_found_from_any_folder_and_written_there(
    book: Gradebook, tmp_path: Path
) -> None:
    RecordingStore(tmp_path / "reports", book).write(entry(tmp_path, "ada/hw.ipynb"), report_of())
    other = RecordingStore(tmp_path / "other", book)
    again = entry(tmp_path, "李雷/hw.ipynb")
    found = other.find(again)
    assert report_of() == found
    other.keep(again, found)
    assert (tmp_path / "other" / "李雷" / "hw.json").exists()
    assert {"ada": [None], "李雷": [None]} == attempts(book)
    assert other.find(entry(tmp_path, "ada/new.ipynb", b"new")) is None


@pytest.mark.parametrize("when", [datetime(2026, 12, 1, tzinfo=timezone.utc), "files"])
def test_when_it_was_handed_in_is_what_was_said(
    book: Gradebook, tmp_path: Path, when: datetime | str
) -> None:
    given = entry(tmp_path, "ada/hw.ipynb")
    moment = datetime(2026, 12, 1, tzinfo=timezone.utc)
    os.utime(given.path, (moment.timestamp(), moment.timestamp()))
    RecordingStore(tmp_path / "reports", book, when).write(given, report_of())  # type: ignore[arg-type]
    assert {"ada": [moment]} == attempts(book)


def test_a_recorded_time_is_kept_and_named(book: Gradebook, tmp_path: Path) -> None:
    """One class after the other is graded with a time: it must not move what is there already."""
    moment = datetime(2026, 12, 1, tzinfo=timezone.utc)
    given = entry(tmp_path, "ada/hw.ipynb")
    stores = [
        RecordingStore(tmp_path / "reports", book, when)
        for when in (moment, moment, moment + timedelta(days=1))
    ]
    for each in stores:
        each.write(given, report_of())
    assert {"ada": [moment]} == attempts(book)
    assert [set(), set(), {given.name}] == [each.kept_times for each in stores]


def test_what_could_not_be_graded_is_an_attempt_without_a_grading(
    book: Gradebook, tmp_path: Path
) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    report = ungraded_report("hw.ipynb", foreign("It fell down."), describe_environment())
    store.write(entry(tmp_path, "ada/hw.ipynb"), report, None, SLUG)
    (found,) = book.accounts().values()
    assert [(CONTENT_DIGEST, ())] == [(each.sha256, each.gradings) for each in found[SLUG].attempts]
    store.write(entry(tmp_path, "ada/hw.ipynb"), report_of())
    (found,) = book.accounts().values()
    assert [1] == [len(each.gradings) for each in found[SLUG].attempts]


def test_of_what_nobody_knows_the_assignment_nothing_is_recorded(
    book: Gradebook, tmp_path: Path
) -> None:
    store = RecordingStore(tmp_path / "reports", book)
    report = ungraded_report("hw.ipynb", foreign("It fell down."), describe_environment())
    store.write(entry(tmp_path, "ada/hw.ipynb"), report)
    assert ({}, []) == (book.accounts(), store.troubles)


def test_a_link_is_not_followed(book: Gradebook, tmp_path: Path) -> None:
    given = entry(tmp_path, "ada/hw.ipynb")
    given.path.unlink()
    (tmp_path / "solution").write_bytes(CONTENT)
    given.path.symlink_to(tmp_path / "solution")
    store = RecordingStore(tmp_path / "reports", book)
    assert store.find(given) is None
    store.write(given, report_of())
    assert {} == attempts(book)
    assert 1 == len(store.troubles)
