"""A batch that has a gradebook: every report is in it before it is told, and in the folder too."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from grader.assignment import Assignment
from grader.batch.collect import Entry
from grader.batch.grading import Store
from grader.errors import GraderError
from grader.gradebook.book import Gradebook, HandedIn
from grader.gradebook.roster import Student, folded
from grader.language import say
from grader.reading.submission import open_handed_in
from grader.report import Report, encode_report

HandedInWhen = datetime | Literal["files"] | Mapping[Path, datetime] | None
"""When submissions were handed in: all at once, when each file was changed, by folders, or nobody
says."""

_LARGEST = 64 * 2**20
"""Bytes of the largest file that is kept."""


class RecordingStore(Store):
    """A folder of reports, and a gradebook beside it.

    What the gradebook does not take is in the folder all the same, and `troubles` says why;
    `strangers` are submissions that are nobody's in the roster, by name.
    """

    def __init__(self, folder: Path, gradebook: Gradebook, handed_in: HandedInWhen = None) -> None:
        super().__init__(folder)
        self._gradebook = gradebook
        self._handed_in = handed_in
        self._owners = _owners(gradebook.students())
        self._recorded = gradebook.recorded()
        self._lock = threading.Lock()
        self.troubles: list[GraderError] = []
        self.strangers: list[str] = []

    def find(self, entry: Entry) -> Report | None:
        """Return the report that is in the folder, else the newest that the gradebook has."""
        return super().find(entry) or self._find_recorded(entry)

    def identity(self, entry: Entry, report: Report) -> tuple[str, int | None]:
        """Return the student's name, and the number that the gradebook gives the attempt."""
        owner = self.owner(entry)
        if owner is None:
            return super().identity(entry, report)
        account = self._gradebook.accounts(owner.id).get(owner.id, {}).get(report.assignment.slug)
        attempts = () if account is None else account.attempts
        digest = report.submission.sha256
        number = next((each.number for each in attempts if each.sha256 == digest), None)
        return owner.name or owner.login, number

    def write(self, entry: Entry, report: Report) -> None:
        """Record a report, and write it. Raises UsageError where it cannot be written."""
        self.record(entry, report)
        super().write(entry, report)

    def keep(self, entry: Entry, report: Report) -> None:
        """See to it that a report of an earlier run is in the gradebook and in the folder."""
        self.record(entry, report)
        if not self.path(entry).exists():
            super().write(entry, report)

    def take_rules(self, assignments: Iterable[Assignment]) -> None:
        """Take over what assignments say of grades."""
        self._gradebook.take_rules(assignments)

    def record(self, entry: Entry, report: Report) -> None:
        """Write a report into the gradebook, if it is somebody's; it may be there already."""
        if not report.parts:
            return
        owner = self.owner(entry)
        if owner is None:
            with self._lock:
                self.strangers.append(entry.name)
            return
        digest = hashlib.sha256(encode_report(report)).hexdigest()
        if (owner.id, digest) in self._recorded and self._handed_in is None:
            return
        try:
            self._record(entry, report, owner)
        except GraderError as error:
            with self._lock:
                self.troubles.append(error)

    def owner(self, entry: Entry) -> Student | None:
        """Return whose a submission is, None where its path names nobody, or several."""
        *folders, last = entry.file.split("/")
        words = (*folders, last, last.rpartition(".")[0])
        found = {each.id: each for word in words for each in self._owners.get(folded(word), ())}
        return next(iter(found.values())) if len(found) == 1 else None

    def _record(self, entry: Entry, report: Report, owner: Student) -> None:
        content, changed = _read(entry)
        if hashlib.sha256(content).hexdigest() != report.submission.sha256:
            raise GraderError(
                say(
                    "{name} was changed while it was graded: it is not in the gradebook.",
                    name=entry.name,
                ),
                say("Run the same command again."),
            )
        when = self._when(entry.path, changed)
        name, slug = entry.path.name, report.assignment.slug
        self._gradebook.record(HandedIn(owner.id, slug, name, content, when), report)

    def _when(self, path: Path, changed: datetime) -> datetime | None:
        if isinstance(self._handed_in, Mapping):
            known = (self._handed_in.get(folder) for folder in path.parents)
            return next((each for each in known if each is not None), None)
        return changed if self._handed_in == "files" else self._handed_in

    def _find_recorded(self, entry: Entry) -> Report | None:
        if entry.problem:
            return None
        try:
            content, _ = _read(entry)
            return self._gradebook.find_report(hashlib.sha256(content).hexdigest())
        except (OSError, GraderError):
            return None


def _owners(students: Iterable[Student]) -> dict[str, tuple[Student, ...]]:
    """Return who is called by which words; a name that two have is in their folders no name."""
    found: dict[str, dict[int, Student]] = defaultdict(dict)
    for each in students:
        for word in filter(None, (each.login, each.email, each.github, each.name)):
            found[folded(word)][each.id] = each
    return {word: tuple(each.values()) for word, each in found.items()}


def _read(entry: Entry) -> tuple[bytes, datetime]:
    """Return what was handed in, and when the file was last changed. Raises GraderError."""
    try:
        with open_handed_in(entry.path, entry.trusted) as file:
            found = os.fstat(file.fileno())
            if found.st_size > _LARGEST:
                raise GraderError(
                    say("{name} is larger than {limit} MB.", name=entry.name, limit=_LARGEST >> 20)
                )
            content = b"".join(iter(lambda: file.read(2**20), b""))
    except OSError as error:
        raise GraderError(
            say("Cannot read {name}: {reason}.", name=entry.name, reason=str(error.strerror))
        ) from None
    return content, datetime.fromtimestamp(found.st_mtime, timezone.utc)
