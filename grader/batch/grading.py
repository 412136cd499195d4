"""The main line of a batch: many submissions, some at a time, each with a report of its own."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

import msgspec

from grader.batch.collect import Entry
from grader.batch.store import Store, is_report_of
from grader.batch.summary import Row, Summary, is_graded, make_row, outcome
from grader.course import Course, CourseAssignment, choose_assignment
from grader.environment import describe_environment
from grader.errors import GraderError, SubmissionError
from grader.pipeline import grade
from grader.preparation import Preparation, Settings
from grader.progress import BatchProgress, Silent
from grader.report import Report, ungraded_report
from grader.sandbox.revocable import RevocableSandbox
from grader.submission import SubmissionFile, read_submission


class Interrupted(Exception):  # noqa: N818  it is no error of the grader
    """Raised when a batch was interrupted; `summary` is what it has come to."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the batch was interrupted")
        self.summary = summary


class Batch:
    """Grades submissions of one course into one folder of reports.

    All gradings share the sandbox, the data and the answers: every submission meets the same hidden
    inputs. What one submission does is no other's business: it gets a report that says why it could
    not be graded, and the batch goes on.
    """

    def __init__(
        self, course: Course, demanded: str | None, settings: Settings, store: Store
    ) -> None:
        self._course = course
        self._demanded = demanded
        self._store = store
        self._sandbox = RevocableSandbox(settings.sandbox)
        self._settings = msgspec.structs.replace(settings, sandbox=self._sandbox)
        self._preparations: dict[str, Preparation] = {}
        self._lock = threading.Lock()

    def find_graded(self, entries: Iterable[Entry]) -> dict[str, Row]:
        """Return the rows of the submissions that an earlier run has graded, by name."""
        kept = ((entry, self._graded_before(entry)) for entry in entries)
        return {
            entry.name: make_row(entry, report, kept=True)
            for entry, report in kept
            if report is not None
        }

    def run(
        self, entries: tuple[Entry, ...], kept: dict[str, Row], jobs: int, progress: BatchProgress
    ) -> Summary:
        """Grade what was not kept, `jobs` at a time, and return the overview of all.

        Raises Interrupted after Ctrl-C, UsageError when a report cannot be written.
        """
        rows = dict(kept)
        waiting = [entry for entry in entries if entry.name not in kept]
        executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grading")
        try:
            pending = [executor.submit(self._grade_one, entry, progress) for entry in waiting]
            for future in as_completed(pending):
                row = future.result()
                rows[row.name] = row
                progress.finished(row.name, outcome(row))
        except KeyboardInterrupt:
            raise Interrupted(_summary(entries, rows)) from None
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            self._settings.timing_lock.hurry()
            try:
                self._sandbox.revoke()
            finally:
                executor.shutdown(wait=True)
        return _summary(entries, rows)

    def _grade_one(self, entry: Entry, progress: BatchProgress) -> Row:
        progress.started(entry.name)
        report = self._attempt(entry)
        if self._sandbox.is_revoked:  # then the report may tell of an end that was ours
            raise SubmissionError("The batch was interrupted.")
        self._store.write(entry, report)
        return make_row(entry, report)

    def _attempt(self, entry: Entry) -> Report:
        """Grade a submission, or return a report that says why that was not possible."""
        try:
            with self._settings.quiet.shared():  # a long file costs a second of processor time
                submission = _read(entry)
                chosen, note = choose_assignment(self._course, submission, self._demanded)
            notes = (note,) if note else ()
            return grade(submission, self.prepare(chosen), Silent(), notes)
        except GraderError as error:
            reason = " ".join(filter(None, (error.message, error.hint)))
        except Exception as error:  # noqa: BLE001  the others shall be graded all the same
            if "GRADER_DEBUG" in self._settings.environment:
                traceback.print_exc()
            reason = (
                f"The grader failed itself, with {type(error).__name__}. "
                "Grade it again with GRADER_DEBUG=1 and report what that prints."
            )
        return ungraded_report(entry.path.name, reason, describe_environment())

    def prepare(self, chosen: CourseAssignment) -> Preparation:
        """Return what all gradings of an assignment share."""
        with self._lock:
            slug = chosen.assignment.slug
            if slug not in self._preparations:
                self._preparations[slug] = Preparation(chosen, self._settings)
            return self._preparations[slug]

    def _graded_before(self, entry: Entry) -> Report | None:
        report = self._store.find(entry)
        if report is None or not is_graded(report) or not self._accepts(report):
            return None
        try:
            submission = _read(entry)
            chosen, _ = choose_assignment(self._course, submission, self._demanded)
        except GraderError:  # its turn will come, and then it is reported
            return None
        return report if is_report_of(report, submission.sha256, chosen.assignment) else None

    def _accepts(self, report: Report) -> bool:
        return self._settings.dialect == "auto" or report.dialect == self._settings.dialect


def _read(entry: Entry) -> SubmissionFile:
    if entry.problem:
        raise SubmissionError(entry.problem, entry.hint)
    return read_submission(entry.path, entry.trusted)


def _summary(entries: tuple[Entry, ...], rows: dict[str, Row]) -> Summary:
    found = tuple(rows[entry.name] for entry in entries if entry.name in rows)
    return Summary(found, pending=len(entries) - len(found))
