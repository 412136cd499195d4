"""A full disk, a server that goes away, two batches at once: what was reported as done is there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import exc

from grader.batch.collect import Entry
from grader.batch.recording import RecordingStore
from grader.errors import GradebookError
from grader.gradebook import database
from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from tests.gradebook.factory import conv, enrol, report_of
from tests.gradebook.full_disk import NO_MOUNT, STUDENTS
from tests.gradebook.postgres import Server, any_server, new_database
from tests.missing import no_mount

ROOT = Path(__file__).parents[2]
NO_ROOM = "cannot be written: the disk is full or faulty. Free some space there, and run the"


def entry(folder: Path, login: str) -> Entry:
    path = folder / "class" / login / "hw.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(login)
    return Entry(path, f"{login}/hw.ipynb", f"{login}/hw", folder)


def gradings(book: Gradebook) -> dict[str, int]:
    """Return how many gradings everybody has."""
    people = {each.id: each.login for each in book.students()}
    return {
        people[student]: sum(len(attempt.gradings) for attempt in account.attempts)
        for student, accounts in book.accounts().items()
        for account in accounts.values()
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of a class on a small disk."""
    folder = tmp_path_factory.mktemp("full")
    own = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    words = [sys.executable, "-m", "tests.gradebook.full_disk", folder]
    done = subprocess.run(["unshare", *own, "--", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == NO_MOUNT or done.stderr.startswith("unshare:"):
        pytest.skip(no_mount(done.stderr))
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """One that only these tests use."""
    with any_server() as server, server.running():
        yield server


class TestFullDisk:
    """A gradebook and a folder of reports on a disk that fills up."""

    def test_what_was_recorded_before_is_kept(self, found: dict[str, Any]) -> None:
        recorded = found["recording"]
        assert 0 < len(recorded["done"]) < len(STUDENTS)
        assert recorded["done"] == recorded["kept"]
        assert [] == recorded["left"]

    def test_a_sentence_says_what_to_do(self, found: dict[str, Any]) -> None:
        (trouble,) = found["recording"]["troubles"]
        assert NO_ROOM in trouble
        for refusal in found["recording"]["refused"]:
            assert "No space left" in refusal and "Free some space there" in refusal

    def test_with_room_the_same_goes_on_and_nothing_is_there_twice(
        self, found: dict[str, Any]
    ) -> None:
        assert [0, len(STUDENTS), len(STUDENTS)] == found["recording"]["afterwards"]

    def test_a_command_whose_gradebook_has_no_room_says_so_and_ends_with_2(
        self, found: dict[str, Any]
    ) -> None:
        code, output, messages = found["answering"]["first"]
        assert 2 == code, output + messages
        assert 1 == output.count(NO_ROOM)
        assert f"grader: Not in the gradebook ({len(STUDENTS)}): s00/hw, s01/hw," in messages
        assert "run the same command again" in messages
        assert [len(STUDENTS)] * 2 == found["answering"]["counts"]

    def test_with_room_the_same_command_brings_them_in(self, found: dict[str, Any]) -> None:
        code, output, messages = found["answering"]["second"]
        assert 0 == code, output + messages
        assert "Not in the gradebook" not in output
        assert [len(STUDENTS), 2 * len(STUDENTS)] == found["answering"]["afterwards"]

    def test_a_full_disk_of_a_server_is_said_alike(self) -> None:
        full = psycopg.errors.DiskFull("could not extend file: No space left on device")
        told = database._refusal("class on db", exc.OperationalError("", {}, full))
        assert NO_ROOM in f"{told} {told.hint.english}"


class TestServerGoesAway:
    """A server that is stopped in the middle of a batch."""

    @pytest.fixture
    def book(self, own_server: Server) -> Iterator[Gradebook]:
        """A gradebook on it."""
        found = Gradebook(open_database(new_database(own_server.url), make=True))
        found.take_rules([conv()])
        enrol(found, "ada", "ben", "cem", "dan", "eva")
        with closing(found):
            yield found

    def test_a_batch_goes_on_and_the_same_command_brings_in_what_is_missing(
        self,
        own_server: Server,
        book: Gradebook,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        store = RecordingStore(tmp_path / "reports", book)
        entries = {name: entry(tmp_path, name) for name in ("ada", "ben", "cem", "dan")}
        monkeypatch.setattr(database, "_WAIT", 0.2)
        store.write(entries["ada"], report_of(b"ada"))
        own_server.stop()
        store.write(entries["ben"], report_of(b"ben"))
        monkeypatch.setattr(database, "_WAIT", 1e6)
        store.write(entries["cem"], report_of(b"cem"))  # or it would wait for days
        own_server.start()
        store.write(entries["dan"], report_of(b"dan"))
        assert {"ada": 1, "dan": 1} == gradings(book)
        assert ["ben/hw", "cem/hw"] == store.unrecorded
        for error in store.troubles:
            assert "on 127.0.0.1 cannot be reached" in str(error)
            assert "Reported work is kept. Check that the" in error.hint.english
        again = RecordingStore(tmp_path / "reports", book)
        for name, each in entries.items():
            before = again.find(each)
            assert before == report_of(name.encode()), "nothing is graded twice"
            again.keep(each, before)
        assert dict.fromkeys(entries, 1) == gradings(book)
        assert [] == caplog.records

    def test_one_that_comes_back_in_time_is_waited_for(
        self, own_server: Server, book: Gradebook, tmp_path: Path
    ) -> None:
        store = RecordingStore(tmp_path / "reports", book)
        own_server.stop()
        back = threading.Thread(target=own_server.start)
        back.start()
        store.write(entry(tmp_path, "ada"), report_of(b"ada"))
        back.join()
        assert ({"ada": 1}, []) == (gradings(book), store.troubles)

    def test_who_interrupts_a_batch_need_not_wait_for_it(
        self,
        own_server: Server,
        book: Gradebook,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(database, "_WAIT", 1e6)
        store = RecordingStore(tmp_path / "reports", book)
        own_server.stop()
        given = entry(tmp_path, "ada")
        writing = threading.Thread(target=store.write, args=(given, report_of(b"ada")))
        writing.start()
        store.hurry()
        writing.join()
        own_server.start()
        assert ["ada/hw"] == store.unrecorded
        assert report_of(b"ada") == store.find(given)

    def test_what_was_being_written_is_written_once_more(
        self, own_server: Server, book: Gradebook, tmp_path: Path
    ) -> None:
        """And is there once: it may be that only the answer was lost."""
        store = RecordingStore(tmp_path / "reports", book)
        given = entry(tmp_path, "ada")
        name = book.where.partition(" ")[0]
        url = f"{own_server.url.rpartition('/')[0]}/{name}"
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", [database._WRITER])
            writing = threading.Thread(target=store.write, args=(given, report_of(b"ada")))
            writing.start()
            ended: list[object] = []
            while not ended:
                ended = other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = %s AND wait_event = 'advisory'",
                    [name],
                ).fetchall()
            other.execute("SELECT pg_advisory_unlock(%s)", [database._WRITER])
            writing.join()
        assert ({"ada": 1}, []) == (gradings(book), store.troubles)

    def test_one_that_never_answered_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_WAIT", 1e6)
        with pytest.raises(GradebookError, match="cannot be reached"):
            open_database("postgresql://teacher:hunter2@127.0.0.1:1/class")


def test_two_batches_at_once_record_everything_once(url: str, tmp_path: Path) -> None:
    """Each has a folder and a connection of its own; both have all students' same files."""
    book = Gradebook(open_database(url, make=True))
    book.take_rules([conv()])
    logins = [f"s{number}" for number in range(8)]
    enrol(book, *logins)
    entries = [entry(tmp_path, login) for login in logins]
    stores: list[RecordingStore] = []
    failures: list[BaseException] = []

    def batch(folder: str) -> None:
        own = Gradebook(open_database(url))
        try:
            store = RecordingStore(tmp_path / folder, own)
            stores.append(store)
            for each in entries if folder == "one" else reversed(entries):
                store.write(each, report_of(each.path.read_bytes()))
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    batches = [threading.Thread(target=batch, args=(folder,)) for folder in ("one", "two")]
    for each in batches:
        each.start()
    for each in batches:
        each.join()
    assert ([], [[], []]) == (failures, [each.troubles for each in stores])
    assert dict.fromkeys(logins, 1) == gradings(book)
    digests = {hashlib.sha256(login.encode()).hexdigest() for login in logins}
    assert digests == {each.sha256 for each in book.stored_attempts()}
    book.close()
