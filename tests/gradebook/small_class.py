"""A class in a small course with a gradebook: its reports are made here, and nothing is started."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from grader.batch.collect import Entry
from grader.batch.keys import Keys
from grader.batch.recording import RecordingStore
from grader.course import load_course
from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.database import open_database
from grader.gradebook.grades import derive_all
from grader.grading.preparation import GradingOptions
from grader.grading.rescoring import points_of, rubric_digest
from grader.report import Check, Part, Report
from tests.gradebook.factory import COURSES, enrol
from tests.sample_reports import typical

SMALL = COURSES / "small"
SLUG = "small"


class Class:
    """A course of its own with a gradebook and a folder for each student."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        """`url` is that of its gradebook: a file of SQLite in its folder, if none is given."""
        self.folder = folder
        shutil.copytree(SMALL / "assignments" / SLUG, folder / "assignments" / SLUG)
        self.url = url or f"sqlite:///{folder / 'gradebook.sqlite'}"
        self.book = Gradebook(open_database(self.url, make=True))
        self.book.take_rules([self.assignment])

    @property
    def course(self) -> Any:
        return load_course(self.folder)

    @property
    def assignment(self) -> Any:
        return self.course.get(SLUG).assignment

    def keys(self, **options: Any) -> Keys:
        asked = GradingOptions(course=self.folder, **{"assignment": SLUG, **options})
        return Keys(self.course, asked)

    def rewrite(self, before: str, after: str) -> None:
        path = self.folder / "assignments" / SLUG / "assignment.toml"
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    def weigh(self, points: int) -> None:
        """Make the check of its outputs, of 6 points, worth others."""
        self.rewrite("points = 10", f"points = {4 + points}")
        self.rewrite("points = 6", f"points = {points}")

    def file(self, login: str, content: bytes) -> Entry:
        path = self.folder / "class" / login / "hw.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return Entry(path, f"{login}/hw.ipynb", f"{login}/hw", self.folder)

    def report(self, content: bytes, share: float = 0.5, **fields: Any) -> Report:
        """Return the report that a run would give today, with a share of the outputs."""
        key = self.keys().of(SLUG)
        assert key is not None
        (part,) = key.assignment.part
        shares = {"structure": 1.0, "equivalence": share}
        checks = tuple(
            Check(
                each.id,
                typical().parts[0].title,
                points_of(shares[each.id], 0, each),
                each.points,
                "partial",
                typical().parts[0].title,
                share=shares[each.id],
            )
            for each in part.check
        )
        score = sum(each.score for each in checks)
        found = Part(part.id, part.named, score, part.points, checks)
        before = typical()
        sha256 = hashlib.sha256(content).hexdigest()
        return replace(
            before,
            **{
                "score": score,
                "max_score": part.points,
                "parts": (found,),
                "assignment": replace(before.assignment, slug=SLUG),
                "submission": replace(before.submission, sha256=sha256, name="hw.ipynb"),
                "sandbox": replace(before.sandbox, level="strong"),
                "basis": key.basis,
                "rubric": rubric_digest(key.assignment),
                **fields,
            },
        )

    def grade(self, login: str, content: bytes, report: Report | None = None) -> Entry:
        """Hand in and grade a file, as a batch does."""
        entry = self.file(login, content)
        given = HandedIn(self.student(login), SLUG, "hw.ipynb", content)
        found = report or self.report(content)
        self.book.record_all([Recording(given, found, "as it was", "command")])
        return entry

    def student(self, login: str) -> int:
        known = {each.login: each.id for each in self.book.students()}
        return known.get(login) or enrol(self.book, login).id

    def store(self, name: str = "reports") -> RecordingStore:
        (self.folder / name).mkdir(exist_ok=True)
        return RecordingStore(self.folder / name, self.book)

    def points(self) -> dict[str, float]:
        """Return everybody's grade."""
        people = {each.id: each.login for each in self.book.students()}
        grades = {
            people[id]: derive_all(found.values())[SLUG].points
            for id, found in self.book.accounts().items()
        }
        return {login: float(each) for login, each in grades.items() if each is not None}

    def gradings(self, login: str) -> list[float]:
        (attempt,) = self.book.accounts()[self.student(login)][SLUG].attempts
        return [float(each.score) for each in attempt.gradings]

    def grade_all(self, shares: Mapping[str, float]) -> None:
        """Hand in and grade a file of each student in the roster: with so much of the outputs."""
        people = {each.login: each.id for each in self.book.students()}
        reports = {share: self.report(b"", share) for share in {*shares.values()}}
        waiting = iter(shares.items())
        while chosen := [*islice(waiting, 100)]:
            self.book.record_all(
                Recording(
                    HandedIn(people[login], SLUG, "hw.ipynb", content),
                    about(reports[share], content),
                    "as it was",
                    "command",
                )
                for login, share in chosen
                for content in (login.encode(),)
            )


def about(report: Report, content: bytes) -> Report:
    """Return a report as it would be of a file with this content."""
    sha256 = hashlib.sha256(content).hexdigest()
    return replace(report, submission=replace(report.submission, sha256=sha256))
