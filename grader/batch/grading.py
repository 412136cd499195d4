"""The main line of a batch: many submissions, some at a time, and the folder of reports."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.assignment import Assignment
from grader.batch.attempts import Attempt, Attempts
from grader.batch.collect import Entry
from grader.batch.keys import Keys, accepts, current_report, named
from grader.batch.summary import (
    Row,
    Summary,
    is_put_back,
    is_settled,
    make_row,
    misplaced,
    outcome,
    summarize,
)
from grader.course import Course, CourseAssignment, choose_assignment, who_chose
from grader.errors import GraderError, SubmissionError, UsageError
from grader.files import rescue, try_place, write_whole, writing
from grader.grading.preparation import Preparation, Settings
from grader.language import Text, join, say
from grader.progress import BatchProgress, Progress, Silent
from grader.reading.reader import SubmissionReader
from grader.reading.submission import SubmissionFile
from grader.render.final_grade import FinalGrade
from grader.report import Report, decode_report, encode_report
from grader.sandbox.room import RevocableSandbox

SUMMARY = "summary.json"


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Make the folder, and keep other batches out of it meanwhile. Raises UsageError."""
    with writing(folder, say("reports")):
        folder.mkdir(parents=True, exist_ok=True)
        try_place(folder / SUMMARY, say("overview"))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    if not _locked(descriptor):
        os.close(descriptor)
        raise UsageError(
            say("another-batch-writing", folder=str(folder)),
            say("wait-until-ends-or-name-another-folder"),
        )
    try:
        yield Store(folder)
    finally:
        os.close(descriptor)


class HandedInBy(NamedTuple):
    """Whose a report is, which attempt of theirs it grades, and what a person has marked of that.

    Each of the two is None where nobody knows. `student` is what the roster calls whose it is, or
    the folder of the batch, which no student has named; empty where there is none.
    """

    whose: str
    attempt: int | None = None
    marked: FinalGrade | None = None
    student: str = ""


_TRIES, _BETWEEN = 20, 0.01


def _locked(folder: int) -> bool:
    """Lock a folder if no batch has it. Who watches one has it for a moment, to see that."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_BETWEEN)
    return False


class Store:
    """Reports in a folder, under the names of their submissions.

    `shares` says whether one report is the answer to all files of the same content, `rescored` of
    how many reports the points were counted anew.
    """

    shares = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rescored = 0

    def path(self, entry: Entry) -> Path:
        """Return where a submission's report is, or will be."""
        return self._folder / f"{entry.name}.json"

    def find(self, entry: Entry) -> Report | None:
        """Return the report that is there; None if there is none, or nothing that is a report."""
        try:
            return decode_report(self.path(entry).read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def handed_in_by(self, entry: Entry, report: Report) -> HandedInBy:
        """Return whose a report is, and what else is known of it beside the folder."""
        del report
        return HandedInBy(entry.whose, student=entry.student)

    def take_rules(self, assignments: Iterable[Assignment]) -> None:
        """Take over what assignments say of grades: a folder has no use for it."""

    def answers(self, entries: Iterable[Entry], keys: Keys) -> dict[str, Row]:
        """Return the rows of submissions whose answer is known without reading them: none here."""
        del entries, keys
        return {}

    def keep(self, entry: Entry, report: Report, row: Row | None = None) -> None:
        """Take note that a report of an earlier run counts: it is in the folder already."""

    def write(self, entry: Entry, report: Report, row: Row | None = None, slug: str = "") -> None:
        """Write a report. Raises UsageError when that is not possible.

        `row` is what is told of it; `slug` the assignment that it was to be of.
        """
        del row, slug
        self.write_document(entry, encode_report(report))

    def hurry(self) -> None:
        """Wait for nobody any more: a folder never does."""

    def write_document(self, entry: Entry, document: bytes) -> None:
        """Write a report's JSON. Raises UsageError as `write` does."""
        self._replace(self.path(entry), document)

    def write_page(self, entry: Entry, page: bytes) -> None:
        """Write a page beside a report. Raises UsageError as `write` does."""
        self._replace(self._folder / f"{entry.name}.html", page)

    def write_summary(self, document: bytes) -> None:
        """Write the overview beside the reports. Raises UsageError as `write` does."""
        self._replace(self._folder / SUMMARY, document)

    def _replace(self, path: Path, content: bytes) -> None:
        """Write by renaming, so that a file is whole or not there."""
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(self._folder.resolve()):
                raise UsageError(
                    say("folder-points-outside", path=str(path.parent), folder=str(self._folder)),
                    say("remove-link-or-name-another-folder"),
                )
            if path.is_symlink():
                raise UsageError(
                    say("path-link", path=str(path)), say("remove-report-not-written-there")
                )
            draft = path.with_name(f".{path.name}.part")  # no report's name begins with a dot
            draft.unlink(missing_ok=True)  # of a run that was killed
            write_whole(path, content, draft)


class Interrupted(Exception):  # noqa: N818  it is no error of the grader
    """Raised when a batch was interrupted; `summary` is what it has come to."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the batch was interrupted")
        self.summary = summary


class GradedFile(NamedTuple):
    """A submission that has been graded: its row in the overview, and its report."""

    row: Row
    report: Report


def graded_twice(
    entries: Iterable[Entry],
    grade: Callable[[Collection[Entry]], Generator[GradedFile, None, None]],
    progress: BatchProgress,
) -> Generator[GradedFile, None, None]:
    """Yield each submission when `grade` yields it, and what the machine spoiled a second time."""
    waiting = {each.name: each for each in entries}
    for tell in (progress.put_back, progress.finished):
        again: dict[str, Entry] = {}
        with closing(grade(waiting.values())) as found:
            for graded in found:
                row, spoiled = graded.row, is_put_back(graded.report)
                if spoiled:
                    again[row.name] = waiting[row.name]
                yield graded  # before it is told: Ctrl-C meanwhile must not lose it
                if spoiled:
                    tell(row.name, outcome(row))
                else:
                    progress.finished(row.name, outcome(row), graded=row.graded)
        waiting = again


class Batch:
    """Grades submissions of one course into one folder of reports.

    All gradings share the sandbox, the data and the answers: every submission meets the same hidden
    inputs. What one submission does is no other's business: it gets a report that says why it could
    not be graded, and the batch goes on.
    """

    def __init__(
        self,
        course: Course,
        demanded: str | None,
        settings: Settings,
        store: Store,
        seed: int | None = None,
    ) -> None:
        """`seed` is the one that was asked for, None where `settings` have one drawn anew."""
        self._course = course
        self._demanded = demanded
        self._store = store
        self._seed = seed
        self._sandbox = RevocableSandbox(settings.sandbox)
        self._settings = settings
        self._attempts = Attempts(
            course, demanded, msgspec.structs.replace(settings, sandbox=self._sandbox)
        )
        self._reader = SubmissionReader(settings.quiet)
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._lock = threading.Lock()

    def find_graded(self, entries: Iterable[Entry]) -> dict[str, Row]:
        """Return the rows of the submissions that an earlier run has graded, by name.

        They are kept as long as they would be graded alike: what a seed that is drawn anew changes
        is the luck of the draw.
        """
        kept = ((entry, self._graded_before(entry)) for entry in entries)
        return {entry.name: row for entry, row in kept if row is not None}

    def run(
        self, entries: tuple[Entry, ...], kept: dict[str, Row], jobs: int, progress: BatchProgress
    ) -> Summary:
        """Grade what was not kept, and return the overview. Raises Interrupted after Ctrl-C."""
        rows = dict(kept)
        waiting = [entry for entry in entries if entry.name not in kept]
        try:
            with closing(self.graded(waiting, jobs, progress)) as found:
                for each in found:
                    rows[each.row.name] = each.row
        except KeyboardInterrupt:
            raise Interrupted(summarize([entry.name for entry in entries], rows)) from None
        return summarize([entry.name for entry in entries], rows)

    def graded(
        self, entries: Iterable[Entry], jobs: int, progress: BatchProgress
    ) -> Generator[GradedFile, None, None]:
        """Grade submissions, `jobs` at a time, and yield each when it is done.

        What the machine spoiled is yielded, and graded once more when all others are
        done: that is yielded, too. A report that cannot be written to its place is kept elsewhere,
        and its row says where. Closing the iterator ends what is being graded.
        """
        executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grading")

        def grade(waiting: Iterable[Entry]) -> Generator[GradedFile, None, None]:
            gradings = [executor.submit(self._grade_one, each, progress) for each in waiting]
            yield from (future.result() for future in as_completed(gradings))

        try:
            yield from graded_twice(entries, grade, progress)
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            self._settings.timing_lock.hurry()
            self._store.hurry()
            try:
                self._sandbox.revoke()
            finally:
                self._reader.close()
                executor.shutdown(wait=True)

    def _grade_one(self, entry: Entry, progress: BatchProgress) -> GradedFile:
        progress.started(entry.name)
        attempt = self._attempt(entry, _Stages(entry.name, progress))
        if self._sandbox.is_revoked:  # then the report may tell of an end that was ours
            raise SubmissionError(say("batch-interrupted"))
        return self.write(entry, attempt)

    def write(self, entry: Entry, attempt: Attempt) -> GradedFile:
        """Write what came of a submission to its place, or where that cannot be elsewhere."""
        report, chooser, slug = attempt
        row = make_row(entry, report, chooser)
        try:
            self._store.write(entry, report, row, slug)
        except UsageError as error:  # of a full disk, say: the others are graded all the same
            kept = rescue(encode_report(report), ".json")
            return GradedFile(misplaced(row, join(error.message, kept)), report)
        return GradedFile(row, report)

    def _attempt(self, entry: Entry, stages: Progress) -> Attempt:
        def answer(submission: SubmissionFile, prepared: Preparation) -> Report:
            return self._answer(submission, prepared, stages)

        return self._attempts.attempt(entry.path.name, lambda: self._read(entry), answer)

    def _answer(
        self, submission: SubmissionFile, prepared: Preparation, stages: Progress
    ) -> Report:
        """Grade a file; who brings the same content meanwhile waits, and hears what came of it."""
        if not self._store.shares:
            return self._attempts.grade(submission, prepared, stages)
        slug = prepared.course_assignment.assignment.slug
        with self._lock:
            answer = self._answers.setdefault((submission.sha256, slug), _Answer())
        with answer.lock:
            report = answer.report
            if report is None or not is_settled(report) or is_put_back(report):
                report = answer.report = self._attempts.grade(submission, prepared, stages)
            return named(report, submission.name)

    def prepare(self, chosen: CourseAssignment) -> Preparation:
        """Return what all gradings of an assignment share."""
        return self._attempts.prepare(chosen)

    def chosen(self, entries: Iterable[Entry]) -> Iterator[CourseAssignment]:
        """Yield of which assignment submissions are, one after the other, without grading them.

        What cannot be read, or is of none, is passed over: its report will say so.
        """
        for entry in entries:
            with contextlib.suppress(GraderError):
                yield choose_assignment(self._course, self._read(entry), self._demanded)[0]

    def _graded_before(self, entry: Entry) -> Row | None:
        """Return the row of a report that counts, in today's rubric: also the file's is then."""
        report = self._store.find(entry)
        if report is None or not is_settled(report) or not self._accepts(report):
            return None
        try:
            submission = self._read(entry)
            chosen, _ = choose_assignment(self._course, submission, self._demanded)
            prepared = self.prepare(chosen)
            basis = prepared.basis(prepared.data(Silent()))
        except Exception:  # noqa: BLE001  its turn will come, and then it is reported
            return None
        current = current_report(report, submission.sha256, chosen.assignment, basis)
        if current is None:
            return None
        if current is not report:
            report = msgspec.structs.replace(current, rescored=self._settings.now())
            self._store.write_document(entry, encode_report(report))
            self._store.rescored += 1
        chooser = who_chose(submission, chosen.assignment, self._demanded)
        row = make_row(entry, report, chooser, kept=True)
        self._store.keep(entry, report, row)
        return row

    def _read(self, entry: Entry) -> SubmissionFile:
        if entry.problem:
            raise SubmissionError(entry.problem, entry.hint)
        return self._reader.read(entry.path, entry.trusted)

    def _accepts(self, report: Report) -> bool:
        """Say whether this command's options leave a grade as it is."""
        if report.sandbox.level != self._settings.sandbox.level:
            return False
        return accepts(report, self._seed, self._settings.dialect)


class _Answer:
    """What came of a file's content; `lock` is whose who finds that out."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.report: Report | None = None


class _Stages(Silent):
    """A Progress that tells that of the batch in which stage a submission is."""

    def __init__(self, name: str, progress: BatchProgress) -> None:
        self._name, self._progress = name, progress

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self._progress.stage(self._name, name, waits=waits)
