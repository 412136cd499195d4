"""Works on a gradebook in child processes, and kills each at a random moment.

    python -m tests.gradebook.victim WORK URL FOLDER ROUNDS SEED

prints, as JSON, what the children reported as done and what is missing of it afterwards. It is a
process of its own: it forks, and has no threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import sqlalchemy as sa
from alembic import command  # before the children are forked, which then need not

from grader.batch import regrading
from grader.batch.collect import Entry
from grader.batch.keys import Keys
from grader.batch.recording import RecordingStore
from grader.gradebook import schema
from grader.gradebook.book import Gradebook
from grader.gradebook.database import NEWEST, file_of, open_database, version_of
from grader.report import decode_report, encode_report
from tests.gradebook.factory import SLUG, conv, enrol, hand_in, report_of
from tests.gradebook.postgres import new_database
from tests.gradebook.small_class import Class

assert command

Say = Callable[[str], None]

BEGUN = "begun"
ATTEMPTS, AT_ONCE = 12, 4
"""Attempts that are regraded, and how many of them together or not at all."""


class Moments:
    """Draws random moments at which work is killed, that takes so long when nobody kills it.

    They come later after work that was killed before it had reported anything, and earlier after
    other work: what was timed in peace takes several times as long while the machine is busy, and
    of 25 migrations one was done.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._factor = 1.5

    def draw(self, alone: float) -> float:
        """Return the seconds from the beginning of work that takes `alone` seconds by itself."""
        return self._chance.uniform(0, self._factor * alone)

    def hear(self, said: list[str]) -> None:
        """Learn what was reported as done by work that was killed."""
        self._factor *= 0.9 if said else 1.25


def in_child(work: Callable[[Say], None], moments: Moments, alone: float | None) -> list[str]:
    """Run work in a child, kill it at a random moment, and return what it said after it had begun.

    `alone` is how long it takes by itself; None leaves it in peace until it ends.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
            os._exit(0)
        except BaseException as error:
            os.write(writing, f"failed {error!r}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        first = file.readline()
        assert f"{BEGUN}\n" == first, first
        if alone is not None:
            time.sleep(moments.draw(alone))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = file.read().splitlines()
    if alone is not None:
        moments.hear(said)
    return said


def timed(work: Callable[[Say], None]) -> tuple[list[str], float]:
    """Run work in a child to its end; return what it said, and how long that took, in seconds."""
    begun = time.monotonic()
    said = in_child(work, Moments(0), None)
    return said, time.monotonic() - begun


def check_whole(url: str) -> None:
    """Fail unless a database opens and is whole."""
    database = open_database(url)
    if file_of(url) is not None:
        with database.reading() as connection:
            assert "ok" == connection.exec_driver_sql("PRAGMA integrity_check").scalar()
            assert [] == connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    database.close()


def adjust(url: str, folder: Path, rounds: int, moments: Moments) -> Iterator[tuple[int, int]]:
    """Adjust one attempt over and over."""
    book = Gradebook(open_database(url, make=True))
    book.take_rules([conv()])
    student = enrol(book, "ada")
    hand_in(book, student)
    (attempt,) = book.accounts()[student.id][SLUG].attempts
    book.close()

    def work(say: Say, times: int = 8) -> None:
        own = Gradebook(open_database(url))
        say(BEGUN)
        for _ in range(times):
            say(str(own.adjust(attempt.id, points=Decimal("0.1"), reason="a", who="eve")))

    said, alone = timed(work)
    told = {int(line) for line in said}
    for _ in range(rounds):
        said = in_child(work, moments, alone)
        told |= {int(line) for line in said}
        check_whole(url)
        database = open_database(url)
        with database.reading() as connection:
            there = set(connection.execute(sa.select(schema.adjustment.c.id)).scalars())
        database.close()
        yield len(said), len(told - there)


def batch(url: str, folder: Path, rounds: int, moments: Moments) -> Iterator[tuple[int, int]]:
    """Write reports as a batch does: into the gradebook, and into a folder."""
    book = Gradebook(open_database(url, make=True))
    book.take_rules([conv()])
    enrol(book, "ada")
    book.close()
    (folder / "ada").mkdir()
    told: list[str] = []
    alone = None
    for at in range(rounds + 1):

        def work(say: Say, at: int = at) -> None:
            own = Gradebook(open_database(url))
            store = RecordingStore(folder / "reports", own)
            say(BEGUN)
            for number in range(8):
                name = f"{at}-{number}"
                path = folder / "ada" / f"{name}.ipynb"
                path.write_text(name)
                entry = Entry(path, f"ada/{name}.ipynb", f"ada/{name}", folder)
                store.write(entry, report_of(name.encode()))
                assert not store.troubles, store.troubles
                say(name)

        if alone is None:
            said, alone = timed(work)
        else:
            said = in_child(work, moments, alone)
            check_whole(url)
        told += said
        yield len(said), sum(not _is_there(url, folder, name) for name in said)
    yield 0, sum(not _is_there(url, folder, name) for name in told)


def _is_there(url: str, folder: Path, name: str) -> bool:
    book = Gradebook(open_database(url))
    try:
        stored = book.find_report(hashlib.sha256(name.encode()).hexdigest())
    finally:
        book.close()
    content = (folder / "reports" / "ada" / f"{name}.json").read_bytes()
    wanted = report_of(name.encode())
    return stored == wanted == decode_report(content) and content == encode_report(wanted)


def migrate(url: str, folder: Path, rounds: int, moments: Moments) -> Iterator[tuple[int, int]]:
    """Bring a gradebook from nothing to the newest version, and go on where that was killed."""
    alone = None
    for at in range(rounds + 1):
        is_file = file_of(url) is not None
        each = f"sqlite:///{folder / f'{at}.sqlite'}" if is_file else new_database(url)

        def work(say: Say, each: str = each) -> None:
            say(BEGUN)
            database = open_database(each, make=True)
            say("done")
            database.close()

        if alone is None:
            said, alone = timed(work)
        else:
            said = in_child(work, moments, alone)
        database = open_database(each) if said else open_database(each, make=True)
        with database.reading() as connection:
            is_new = version_of(connection) == NEWEST
        enrol(Gradebook(database), "ada")
        database.close()
        check_whole(each)
        yield len(said), int(not is_new)


def regrade(url: str, folder: Path, rounds: int, moments: Moments) -> Iterator[tuple[int, int]]:
    """Count points anew for a class, by other ones in every round, and go on where it was killed.

    Lost is a grading of before, and a grade that is not of today's points in a round that was done.
    """
    small = Class(folder, url)
    logins = [f"s{number}" for number in range(ATTEMPTS)]
    enrol(small.book, *logins)
    small.grade_all(dict.fromkeys(logins, 1.0))
    small.book.close()

    def work(say: Say) -> None:
        book = Gradebook(open_database(url))
        say(BEGUN)
        _count_all(book, small.keys())
        say("done")

    alone, before, gradings = None, 6, ATTEMPTS
    for _ in range(rounds + 1):
        small.rewrite(f"points = {before}\n", f"points = {before + 10}\n")
        small.rewrite(f"points = {before + 4}\n", f"points = {before + 14}\n")
        before += 10
        if alone is None:
            said, alone = timed(work)
        else:
            said = in_child(work, moments, alone)
            check_whole(url)
        book = Gradebook(open_database(url))
        there, behind = _standing(book, before + 4)
        lost = max(gradings - there, 0) + there % AT_ONCE + (behind if said else 0)
        _count_all(book, small.keys())
        gradings, behind = _standing(book, before + 4)
        book.close()
        assert gradings - there in (0, *range(AT_ONCE, ATTEMPTS + 1, AT_ONCE)), "not once each"
        yield len(said), lost + behind


def _count_all(book: Gradebook, keys: Keys) -> None:
    plan = regrading.make_plan(book, keys, None, changed=True)
    assert not plan.of("run"), "something would be run"
    regrading.count_anew(book, keys, plan)


def _standing(book: Gradebook, points: int) -> tuple[int, int]:
    """Return how many gradings there are, and how many attempts whose newest has other points."""
    found = book.stored()
    newest = {each.attempt: each for each in found}
    return len(found), sum(each.score != points for each in newest.values())


def main(name: str, url: str, folder: str, rounds: str, seed: str) -> None:
    """Run it, and print what came of it."""
    work = {"adjust": adjust, "batch": batch, "migrate": migrate, "regrade": regrade}[name]
    regrading._AT_ONCE = AT_ONCE
    found = [*work(url, Path(folder), int(rounds), Moments(int(seed)))]
    done, lost = (sum(column) for column in zip(*found, strict=True))
    print(json.dumps({"rounds": int(rounds), "done": done, "lost": lost}))


if __name__ == "__main__":
    main(*sys.argv[1:])
