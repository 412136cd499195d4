"""A batch that has a gradebook: every report is in it before it is told, and in the folder too.

What the gradebook knows the answer to is not graded again: its report is today's as long as its key
is (`grader.batch.keys`), and where only points or titles were changed it is counted anew.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from msgspec.structs import replace

from grader.assignment import Assignment
from grader.batch.collect import Entry
from grader.batch.grading import HandedInBy, Store
from grader.batch.keys import Key, Keys, named
from grader.batch.summary import Row, in_a_line, notice
from grader.errors import GraderError
from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.database import open_database
from grader.gradebook.entries import Attempt, Student, folded
from grader.gradebook.grades import attempt_parts
from grader.gradebook.rows import StoredGrading
from grader.grading.rescoring import rescored
from grader.language import Text, foreign, say
from grader.reading.submission import open_handed_in
from grader.render.final_grade import FinalGrade
from grader.render.wording import one_line
from grader.report import Report, decode_report, encode_report, utc_now

FolderTimes = Mapping[Path, datetime | Literal["late"]]
"""When what lies in folders was handed in; "late" where nothing but that is known."""

HandedInWhen = datetime | Literal["files"] | FolderTimes | None
"""When submissions were handed in: all at once, when each file was changed, by folders, or nobody
says."""

OwnerName = Callable[[Entry], Collection[str]]
"""Returns words by which the roster may know whose a submission is: it is nobody's where they are
those of two students, or of none."""


def named_by_folder(entry: Entry) -> tuple[str, ...]:
    """Return the name of the folder in that of the batch, and of that one. A file's says nothing.

    `grader batch class/ada` names one student's folder. A folder in it that is called as another
    student is, the student may have made.
    """
    return entry.student, entry.common.name


_LARGEST = 64 * 2**20
"""Bytes of the largest file that is kept."""

_AT_ONCE = 100
"""So many reports are brought in by one transaction: more would be much to hold in memory."""


@contextmanager
def open_recording(
    folder: Path,
    url: str,
    handed_in: HandedInWhen = None,
    owner_name: OwnerName = named_by_folder,
    together: Mapping[Path, str] = MappingProxyType({}),
) -> Iterator[RecordingStore]:
    """Open the gradebook of a batch, beside its folder of reports, which its `open_store` keeps.

    `together` has a word for files of one student that were handed in at once. Raises
    GradebookError where it cannot be opened.
    """
    book = Gradebook(open_database(url))
    try:
        yield RecordingStore(folder, book, handed_in, owner_name, together)
    finally:
        book.close()


class _File(NamedTuple):
    entry: Entry
    content: bytes
    changed: datetime

    @property
    def sha256(self) -> str:
        """Its digest, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


class RecordingStore(Store):
    """A folder of reports, and a gradebook beside it.

    What the gradebook does not take is in the folder all the same: `unrecorded` names it, and
    `troubles` says why. `taken` are submissions that it was given, by name, `strangers` those that
    are nobody's in the roster, `late` those that are late at a time that nobody knows, and
    `kept_times` those that were recorded with another time than the one that is said.
    """

    shares = True

    def __init__(
        self,
        folder: Path,
        gradebook: Gradebook,
        handed_in: HandedInWhen = None,
        owner_name: OwnerName = named_by_folder,
        together: Mapping[Path, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(folder)
        self._together = together
        self._gradebook = gradebook
        self._handed_in = handed_in
        self._owner_name = owner_name
        self._owners = _owners(gradebook.students())
        self._recorded = gradebook.recorded()
        self._lock = threading.Lock()
        self.troubles: list[GraderError] = []
        self.unrecorded: list[str] = []
        self.strangers: list[str] = []
        self.taken: set[str] = set()
        self.late: set[str] = set()
        self.kept_times: set[str] = set()

    def find(self, entry: Entry) -> Report | None:
        """Return the report that is in the folder, or the newest that the gradebook has.

        That one may be newer: `grader regrade` writes into no folder.
        """
        own, known = super().find(entry), self._find_recorded(entry)
        if own is None or known is None:
            return own or known
        is_of_this_file = own.submission.sha256 == known.submission.sha256
        is_other = own.assignment.slug != known.assignment.slug
        stays = is_of_this_file and (is_other or _when_graded(own) >= _when_graded(known))
        return own if stays else known

    def handed_in_by(self, entry: Entry, report: Report) -> HandedInBy:
        """Return the student's name, and what the gradebook says of the attempt."""
        owner = self.owner(entry)
        if owner is None:
            return super().handed_in_by(entry, report)
        name = owner.name or owner.login
        found = self._attempt(owner, report.assignment.slug, report.submission.sha256)
        if found is None:
            return HandedInBy(name, student=owner.login)
        marked = FinalGrade.only_marked(attempt_parts(found))
        return HandedInBy(name, found.number, marked, owner.login)

    def _attempt(self, owner: Student, slug: str, sha256: str) -> Attempt | None:
        account = self._gradebook.accounts(owner.id).get(owner.id, {}).get(slug)
        attempts = () if account is None else account.attempts
        return next((each for each in attempts if each.sha256 == sha256), None)

    def write(self, entry: Entry, report: Report, row: Row | None = None, slug: str = "") -> None:
        """Record a report, and write it. Raises UsageError where it cannot be written.

        Of what could not be graded it is recorded that it was handed in.
        """
        self.record(entry, report, row, slug)
        super().write(entry, report)

    def keep(self, entry: Entry, report: Report, row: Row | None = None) -> None:
        """See to it that a report of an earlier run is in the gradebook and in the folder."""
        self.record(entry, report, row)
        if super().find(entry) != report:
            super().write(entry, report)

    def take_rules(self, assignments: Iterable[Assignment]) -> None:
        """Take over what assignments say of grades."""
        self._gradebook.take_rules(assignments)

    def answers(self, entries: Iterable[Entry], keys: Keys) -> dict[str, Row]:
        """Return the rows of submissions that the gradebook knows the answer to, by name.

        Nothing is started for it. The folder then has those reports, and every student the
        gradings.
        """
        known: dict[str, list[StoredGrading]] = defaultdict(list)
        newest: dict[tuple[int, str, str], StoredGrading] = {}
        for each in self._gradebook.stored():
            newest[each.student, each.slug, each.sha256] = each
            if keys.holds(each) and keys.chooses(each):
                known[each.sha256].append(each)
        found = _Answering(self, keys, newest)
        for entry in entries:
            file = _try_to_read(entry)
            if file is not None and file.sha256 in known:
                found.answer(file, known[file.sha256])
        found.record()
        return found.rows

    def record(self, entry: Entry, report: Report, row: Row | None = None, slug: str = "") -> None:
        """Write a report into the gradebook, if it is somebody's; it may be there already."""
        slug = report.assignment.slug or slug
        if not slug or entry.problem:  # nobody knows what it was to be, or there is no file
            return
        owner = self.owner(entry)
        if owner is None:
            self.note_stranger(entry)
            return
        self.taken.add(entry.name)
        digest = hashlib.sha256(encode_report(report)).hexdigest()
        if (owner.id, digest) in self._recorded and self._handed_in is None:
            return
        with self.told([entry.name]):
            self._record(entry, report, owner, row, slug)

    def record_all(self, recordings: Mapping[str, Recording]) -> None:
        """Record several at once, by the names of their submissions, or note why that is not."""
        with self.told(recordings):
            self._gradebook.record_all(recordings.values())

    def hurry(self) -> None:
        """Wait no longer for a gradebook that has gone away."""
        self._gradebook.hurry()

    def document(self, grading: int) -> bytes:
        """Return the report of a grading of the gradebook, as JSON."""
        return self._gradebook.documents([grading])[grading]

    @contextmanager
    def told(self, names: Iterable[str]) -> Iterator[None]:
        """Note what the gradebook refuses in the body of a with statement, and for whom."""
        try:
            yield
        except GraderError as error:
            with self._lock:
                self.troubles.append(error)
                self.unrecorded.extend(names)

    def note_stranger(self, entry: Entry) -> None:
        """Note that nobody knows whose a submission is."""
        with self._lock:
            self.strangers.append(entry.name)

    def owner(self, entry: Entry) -> Student | None:
        """Return whose a submission is; None where nobody is called so, or several are."""
        words = filter(None, self._owner_name(entry))
        found = {each.id: each for word in words for each in self._owners.get(folded(word), ())}
        return next(iter(found.values())) if len(found) == 1 else None

    def given(self, file: _File, owner: Student, slug: str) -> HandedIn:
        """Return a file as it was handed in, as far as that was said."""
        entry, when = file.entry, self._when(file)
        known = None if when is None else self._attempt(owner, slug, file.sha256)
        recorded = None if known is None else known.handed_in
        if when == "late" and recorded is None:
            self.late.add(entry.name)
        elif isinstance(when, datetime) and recorded not in (None, when):
            self.kept_times.add(entry.name)
        return HandedIn(
            owner.id,
            slug,
            entry.path.name,
            file.content,
            when if isinstance(when, datetime) else None,
            told_late=when == "late",
            together=self._together.get(entry.path, ""),
        )

    def says_when(self, file: _File) -> bool:
        """Say whether something is said of when a file was handed in."""
        return self._when(file) is not None

    def _when(self, file: _File) -> datetime | Literal["late"] | None:
        if isinstance(self._handed_in, Mapping):
            known = (self._handed_in.get(folder) for folder in file.entry.path.parents)
            return next((each for each in known if each is not None), None)
        return file.changed if self._handed_in == "files" else self._handed_in

    def _record(
        self, entry: Entry, report: Report, owner: Student, row: Row | None, slug: str
    ) -> None:
        file = _read(entry)
        if report.parts and file.sha256 != report.submission.sha256:
            raise GraderError(
                say("changed-while-graded-not-in-gradebook", name=entry.name),
                say("run-same-command-again"),
            )
        given = self.given(file, owner, slug)
        noticed, chosen_by = ("", "") if row is None else (in_a_line(row.noticed), row.chosen_by)
        self._gradebook.record_all([Recording(given, report, noticed, chosen_by)])

    def _find_recorded(self, entry: Entry) -> Report | None:
        file = _try_to_read(entry)
        return None if file is None else self._gradebook.find_report(file.sha256)


class _Answering:
    """Files that are answered from the gradebook, and what of it is new there."""

    def __init__(
        self,
        store: RecordingStore,
        keys: Keys,
        newest: Mapping[tuple[int, str, str], StoredGrading],
    ) -> None:
        self._store, self._keys, self._newest = store, keys, newest
        self._waiting: dict[str, Recording] = {}
        self._now = utc_now().replace(microsecond=0)
        self.rows: dict[str, Row] = {}

    def answer(self, file: _File, known: Iterable[StoredGrading]) -> None:
        """Answer a file by its own newest grading if that is today's, else by the newest."""
        owner = self._store.owner(file.entry)
        own = [each for each in known if owner is not None and self._is_newest(each, owner)]
        grading = [*known, *own][-1]
        key = self._keys.of(grading.slug)
        assert key is not None  # or the grading would not hold
        if grading.rubric == key.rubric and (own or owner is None):
            self._keep(file, grading, owner)
        else:
            self._take(file, grading, key, owner)
        if file.entry.name not in self.rows:
            return
        if owner is None:
            self._store.note_stranger(file.entry)
        else:
            self._store.taken.add(file.entry.name)

    def record(self) -> None:
        """Write into the gradebook what has come together."""
        self._store.record_all(self._waiting)
        self._waiting.clear()

    def _is_newest(self, grading: StoredGrading, owner: Student) -> bool:
        return self._newest.get((owner.id, grading.slug, grading.sha256)) == grading

    def _keep(self, file: _File, grading: StoredGrading, owner: Student | None) -> None:
        """Take a report as it is stored."""
        if _digest_of(self._store.path(file.entry)) != grading.digest:
            self._store.write_document(file.entry, self._store.document(grading.id))
        if owner is not None and self._store.says_when(file):
            self._wait(file, Recording(self._given(file, grading, owner), None))
        self._tell(file, grading, foreign(grading.noticed))

    def _take(self, file: _File, grading: StoredGrading, key: Key, owner: Student | None) -> None:
        """Take a report in today's rubric, or another student's; not where that takes a run."""
        report = decode_report(self._store.document(grading.id))
        is_counted_anew = grading.rubric != key.rubric
        if is_counted_anew:
            counted = rescored(report, key.assignment)
            if counted is None:
                return
            report = counted
            self._store.rescored += 1
        report = named(report, file.entry.path.name)
        known = owner is not None and (owner.id, grading.slug, file.sha256) in self._newest
        if is_counted_anew or known:  # so that it is another one than those that are there
            report = replace(report, rescored=self._now)
        noticed = notice(report)
        self._store.write_document(file.entry, encode_report(report))
        if owner is not None:
            given = self._given(file, grading, owner)
            self._wait(file, Recording(given, report, in_a_line(noticed), grading.chosen_by))
        points = {"score": report.score, "max_score": report.max_score, "open": report.open}
        self._tell(file, replace(grading, **points), noticed)

    def _tell(self, file: _File, grading: StoredGrading, noticed: Text) -> None:
        self.rows[file.entry.name] = Row(
            name=file.entry.name,
            file=one_line(file.entry.file),
            report=f"{file.entry.name}.json",
            graded=True,
            kept=True,
            score=grading.score,
            max_score=grading.max_score,
            noticed=noticed,
            assignment=grading.slug,
            chosen_by=self._keys.chooser,
            open=grading.open,
        )

    def _given(self, file: _File, grading: StoredGrading, owner: Student) -> HandedIn:
        return self._store.given(file, owner, grading.slug)

    def _wait(self, file: _File, recording: Recording) -> None:
        self._waiting[file.entry.name] = recording
        if len(self._waiting) >= _AT_ONCE:
            self.record()


def _owners(students: Iterable[Student]) -> dict[str, tuple[Student, ...]]:
    """Return who is called by which words; a name that two have is in their folders no name."""
    found: dict[str, dict[int, Student]] = defaultdict(dict)
    for each in students:
        for word in filter(None, (each.login, each.email, each.github, each.name)):
            found[folded(word)][each.id] = each
    return {word: tuple(each.values()) for word, each in found.items()}


def _when_graded(report: Report) -> float:
    times = (each.timestamp() for each in (report.graded, report.rescored) if each is not None)
    return max(times, default=0.0)


def _digest_of(path: Path) -> str:
    """Return the digest of a file; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _try_to_read(entry: Entry) -> _File | None:
    try:
        return None if entry.problem else _read(entry)
    except GraderError:
        return None


def _read(entry: Entry) -> _File:
    """Return what was handed in, and when the file was last changed. Raises GraderError."""
    try:
        with open_handed_in(entry.path, entry.trusted) as file:
            found = os.fstat(file.fileno())
            if found.st_size > _LARGEST:
                raise GraderError(say("larger-than-mb", path=entry.name, most=_LARGEST >> 20))
            content = b"".join(iter(lambda: file.read(2**20), b""))
    except OSError as error:
        raise GraderError(say("cannot-read", path=entry.name, reason=str(error.strerror))) from None
    return _File(entry, content, datetime.fromtimestamp(found.st_mtime, timezone.utc))
