"""Grading anew what a gradebook has: what that takes is planned before anything is done.

Every attempt that is not withdrawn is kept as it is, counted anew in today's rubric without a run,
or run again. What is run again is run once for all attempts of the same content.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

from msgspec.structs import replace

from grader.batch.collect import TEXTS, Entry
from grader.batch.grading import Store
from grader.batch.keys import Key, Keys, named
from grader.batch.summary import Row, in_a_line, notice
from grader.errors import GraderError, UsageError
from grader.gradebook.book import Gradebook, Recounted
from grader.gradebook.rows import StoredAttempt, StoredGrading
from grader.grading.preparation import BasisPart, changed_parts
from grader.grading.rescoring import rescored
from grader.report import Report, decode_report, utc_now

Way = Literal["kept", "rescored", "run", "left"]
Reason = Literal[
    "same", "points", "changed", "undecided", "ungraded", "contested", "asked", "unknown"
]
"""Why: nothing has changed; only what it is worth; what decides; the machine left it undecided; it
was never graded; other points may make another candidate count; all was asked for; the course has
no such assignment, or its data are missing."""

Change = BasisPart | Literal["options"]
"""What decides otherwise than when it was graded: `options` are isolation, seed and dialect."""

_AT_ONCE = 100
"""So many reports are read at once, and counted anew in one transaction: more would be much to
hold in memory."""


class Planned(NamedTuple):
    """What becomes of an attempt. `grading` is the one that it is counted anew from, or kept by.

    `changes` is what decides otherwise today. `chosen_by` is who said which assignment it is when
    it was graded last: a batch that names none goes by that, and what is run again is to answer it
    as before.
    """

    attempt: StoredAttempt
    way: Way
    reason: Reason
    grading: StoredGrading | None = None
    seconds: float | None = None
    chosen_by: str = ""
    changes: tuple[Change, ...] = ()


class Plan(NamedTuple):
    """What becomes of all attempts."""

    attempts: tuple[Planned, ...]

    def of(self, way: Way) -> tuple[Planned, ...]:
        """Return the attempts that go one way."""
        return tuple(each for each in self.attempts if each.way == way)

    def files(self, way: Way) -> tuple[Planned, ...]:
        """Return those that go one way, one for each content and assignment."""
        return tuple({_file(each.attempt): each for each in self.of(way)}.values())

    @property
    def seconds(self) -> float | None:
        """How long what is run took before, one after the other; None where nothing is known.

        For what was never graded the mean of its assignment stands.
        """
        files = self.files("run")
        known = [each.seconds for each in files if each.seconds]
        return None if files and not known else sum(known) / max(len(known), 1) * len(files)


def make_plan(book: Gradebook, keys: Keys, slug: str | None, *, changed: bool) -> Plan:
    """Return what becomes of every attempt, of one assignment or of all.

    With `changed`, only what would come out otherwise is counted anew or run.
    """
    newest: dict[int, StoredGrading] = {}
    usable: dict[tuple[str, str], StoredGrading] = {}
    for each in book.stored():
        newest[each.attempt] = each
        if keys.holds(each):
            usable[each.slug, each.sha256] = each
    attempts = [each for each in book.stored_attempts() if slug in (None, each.slug)]
    planning = _Planning(keys, newest, usable)
    plan = Plan(tuple(planning.plan(each, changed=changed) for each in attempts))
    counted = _counted(book, keys, plan.of("rescored"))
    contested = {each.attempt.id for each, report in counted if report is None}
    return Plan(
        tuple(
            each._replace(way="run", reason="contested", grading=None)
            if each.attempt.id in contested
            else each
            for each in plan.attempts
        )
    )


class _Planning(NamedTuple):
    """Gradings by attempt, and by content those that are today's but for their points."""

    keys: Keys
    newest: dict[int, StoredGrading]
    usable: dict[tuple[str, str], StoredGrading]

    def plan(self, attempt: StoredAttempt, *, changed: bool) -> Planned:
        """Return what becomes of one attempt, as far as that is known without its report."""
        last, key = self.newest.get(attempt.id), self.keys.of(attempt.slug)
        seconds, chooser = (None, "") if last is None else (last.seconds, last.chosen_by)
        if key is None:
            return Planned(attempt, "left", "unknown")
        if not changed:
            return Planned(attempt, "run", "asked", None, seconds, chooser)
        if last is not None and self.keys.holds(last):
            if last.rubric == key.rubric:
                return Planned(attempt, "kept", "same", last)
            found = last
        elif _file(attempt) in self.usable:
            found = self.usable[_file(attempt)]
        else:
            reason = _why_run(last)
            changes = _changes(last, key) if last is not None and reason == "changed" else ()
            return Planned(attempt, "run", reason, None, seconds, chooser, changes)
        return Planned(attempt, "rescored", "points", found, seconds, chooser)


def _why_run(last: StoredGrading | None) -> Reason:
    if last is None:
        return "ungraded"
    return "changed" if last.settled else "undecided"


def _changes(last: StoredGrading, key: Key) -> tuple[Change, ...]:
    """Return what decides otherwise: where all of that is the same, it was graded otherwise."""
    return changed_parts(last.basis, key.basis) or ("options",)


def _file(attempt: StoredAttempt) -> tuple[str, str]:
    return attempt.slug, attempt.sha256


def count_anew(book: Gradebook, keys: Keys, plan: Plan) -> None:
    """Count the points of what is planned so anew; every hundred of them together or not at all."""
    counted = _counted(book, keys, plan.of("rescored"))
    while chosen := list(islice(counted, _AT_ONCE)):
        book.supersede(_superseding(each, report) for each, report in chosen)


def _counted(
    book: Gradebook, keys: Keys, planned: Iterable[Planned]
) -> Iterator[tuple[Planned, Report | None]]:
    """Yield each with its report in today's rubric, None where that takes a run."""
    waiting = iter(planned)
    while chosen := list(islice(waiting, _AT_ONCE)):
        documents = book.documents(each.grading.id for each in chosen if each.grading is not None)
        for each in chosen:
            key = keys.of(each.attempt.slug)
            assert key is not None and each.grading is not None  # or it would not be planned
            yield each, rescored(decode_report(documents[each.grading.id]), key.assignment)


def _superseding(each: Planned, report: Report | None) -> tuple[int, Recounted]:
    """Return the attempt's id, and what is its grading from now on."""
    assert report is not None and each.grading is not None  # or it would be planned to be run
    report = replace(report, rescored=utc_now().replace(microsecond=0))
    report = named(report, each.attempt.name)
    return each.attempt.id, Recounted(report, in_a_line(notice(report)), each.grading.chosen_by)


class Rerun(Store):
    """Where a run puts its reports: to all attempts of the same content. No folder is written."""

    def __init__(self, book: Gradebook, planned: Iterable[Planned], folder: Path) -> None:
        """`folder` is where the files are laid for the run."""
        super().__init__(folder)
        self._book = book
        self._planned: dict[str, list[Planned]] = {}
        for each in planned:
            self._planned.setdefault(each.attempt.sha256, []).append(each)

    def entries(self) -> Iterator[Entry]:
        """Lay the files down, and yield them as submissions of a batch."""
        for sha256, (first, *_) in self._planned.items():
            suffix = PurePath(first.attempt.name).suffix
            path = self._folder / f"{sha256}{suffix if suffix in TEXTS else '.ipynb'}"
            path.write_bytes(self._book.content(first.attempt.id))
            yield Entry(path, path.name, sha256, self._folder)

    def find(self, entry: Entry) -> Report | None:
        """Return nothing: what is known is not run."""
        del entry
        return None

    def hurry(self) -> None:
        """Wait no longer for a gradebook that has gone away."""
        self._book.hurry()

    def write(self, entry: Entry, report: Report, row: Row | None = None, slug: str = "") -> None:
        """Give a report to the attempts. What could not be graded stays as it was."""
        del slug
        if not report.parts:
            return
        noticed, chosen_by = ("", "") if row is None else (in_a_line(row.noticed), row.chosen_by)
        try:
            self._book.supersede(
                (each.attempt.id, Recounted(named(report, each.attempt.name), noticed, who))
                for each in self._planned[entry.name]
                for who in [each.chosen_by or chosen_by]
            )
        except GraderError as error:  # then the report is kept elsewhere, and the others go on
            raise UsageError(error.message, error.hint) from None
