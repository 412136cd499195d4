"""The main line of a batch: many submissions, some at a time, and the folder of reports."""

from __future__ import annotations

import fcntl
import os
import threading
import traceback
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.assignment import Assignment
from grader.batch.collect import Entry
from grader.batch.summary import Row, Summary, is_settled, make_row, misplaced, outcome
from grader.course import Chooser, Course, CourseAssignment, choose_assignment, who_chose
from grader.environment import describe_environment
from grader.errors import DisplacedError, GraderError, SubmissionError, UsageError
from grader.files import rescue, try_place, unwritable, write_whole
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.language import Text, foreign, join, say
from grader.machine.quiet import Quiet
from grader.progress import BatchProgress, Progress, Silent
from grader.reading.reader import Reader
from grader.reading.submission import SubmissionFile
from grader.report import Report, decode_report, encode_report, ungraded_report
from grader.sandbox.room import CrowdedSandbox, RevocableSandbox, Room

SUMMARY = "summary.json"


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Make the folder, and keep other batches out of it until the body has ended.

    Raises UsageError when it cannot be had.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try_place(folder / SUMMARY, say("the overview"))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise unwritable(folder, error, say("reports")) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(
            say("Another batch is writing to {folder}.", folder=str(folder)),
            say("Wait for its end, or name another folder."),
        ) from None
    try:
        yield Store(folder)
    finally:
        os.close(descriptor)


class Store:
    """Reports in a folder, under the names of their submissions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, entry: Entry) -> Path:
        """Return where a submission's report is, or will be."""
        return self._folder / f"{entry.name}.json"

    def find(self, entry: Entry) -> Report | None:
        """Return the report that is there; None if there is none, or nothing that is a report."""
        try:
            return decode_report(self.path(entry).read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def identity(self, entry: Entry, report: Report) -> tuple[str, int | None]:
        """Return whose a report is, and which attempt of theirs, None where nobody knows."""
        del report
        return entry.whose, None

    def write(self, entry: Entry, report: Report) -> None:
        """Write a report. Raises UsageError when that is not possible."""
        self._replace(self.path(entry), encode_report(report))

    def write_page(self, entry: Entry, page: bytes) -> None:
        """Write a page beside a report. Raises UsageError as `write` does."""
        self._replace(self._folder / f"{entry.name}.html", page)

    def write_summary(self, document: bytes) -> None:
        """Write the overview beside the reports. Raises UsageError as `write` does."""
        self._replace(self._folder / SUMMARY, document)

    def _replace(self, path: Path, content: bytes) -> None:
        """Write by renaming, so that a file is whole or not there."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(self._folder.resolve()):
                raise UsageError(
                    say(
                        "The folder {path} leads out of {folder}.",
                        path=str(path.parent),
                        folder=str(self._folder),
                    ),
                    say("Remove the link, or name another folder for the reports."),
                )
            if path.is_symlink():
                raise UsageError(
                    say("{path} is a link.", path=str(path)),
                    say("Remove it: a report is not written there."),
                )
            draft = path.with_name(f".{path.name}.part")  # no report's name begins with a dot
            draft.unlink(missing_ok=True)  # of a run that was killed
            write_whole(path, content, draft)
        except OSError as error:
            raise unwritable(path, error) from None


def is_report_of(report: Report, sha256: str, assignment: Assignment, basis: str) -> bool:
    """Say whether a report grades just this file, on one basis (`grader.grading.preparation`)."""
    about, graded = report.assignment, report.submission.sha256
    same = (about.slug, about.version) == (assignment.slug, assignment.version)
    return same and (graded, report.basis) == (sha256, basis)


class Interrupted(Exception):  # noqa: N818  it is no error of the grader
    """Raised when a batch was interrupted; `summary` is what it has come to."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the batch was interrupted")
        self.summary = summary


class GradedFile(NamedTuple):
    """A submission that has been graded: its row in the overview, and its report."""

    row: Row
    report: Report


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
        self._settings = msgspec.structs.replace(settings, sandbox=CrowdedSandbox(self._sandbox))
        self._reader = Reader(settings.quiet)
        self._preparations: dict[str, Preparation] = {}
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
        """Grade what was not kept, `jobs` at a time, and return the overview of all.

        Raises Interrupted after Ctrl-C.
        """
        rows = dict(kept)
        waiting = [entry for entry in entries if entry.name not in kept]
        try:
            with closing(self.graded(waiting, jobs, progress)) as found:
                for each in found:
                    rows[each.row.name] = each.row
        except KeyboardInterrupt:
            raise Interrupted(_summary(entries, rows)) from None
        return _summary(entries, rows)

    def graded(
        self, entries: Iterable[Entry], jobs: int, progress: BatchProgress
    ) -> Generator[GradedFile, None, None]:
        """Grade submissions, `jobs` at a time, and yield each when it is done.

        What the machine was too busy to decide is yielded, and graded once more when all others are
        done: that is yielded, too. A report that cannot be written to its place is kept elsewhere,
        and its row says where. Closing the iterator ends what is being graded.
        """
        waiting = list(entries)
        executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="grading")
        try:
            for tell in (progress.put_back, progress.finished):
                gradings = {
                    executor.submit(self._grade_one, each, progress): each for each in waiting
                }
                waiting = []
                for future in as_completed(gradings):
                    graded = future.result()
                    row = graded.row
                    if row.again:
                        waiting.append(gradings[future])
                    yield graded  # before it is told: Ctrl-C meanwhile must not lose it
                    (tell if row.again else progress.finished)(row.name, outcome(row))
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            self._settings.timing_lock.hurry()
            try:
                self._sandbox.revoke()
            finally:
                self._reader.close()
                executor.shutdown(wait=True)

    def _grade_one(self, entry: Entry, progress: BatchProgress) -> GradedFile:
        progress.started(entry.name)
        report, chooser = self._attempt(entry, _Stages(entry.name, progress))
        if self._sandbox.is_revoked:  # then the report may tell of an end that was ours
            raise SubmissionError(say("The batch was interrupted."))
        row = make_row(entry, report, chooser)
        try:
            self._store.write(entry, report)
        except UsageError as error:  # of a full disk, say: the others are graded all the same
            kept = rescue(encode_report(report), ".json")
            return GradedFile(misplaced(row, join(error.message, kept).english), report)
        return GradedFile(row, report)

    def _attempt(self, entry: Entry, stages: Progress) -> tuple[Report, Chooser | None]:
        """Grade a submission, or return a report that says why that was not possible.

        Beside it stands who chose the assignment.
        """
        try:
            submission = self._read(entry)
            chosen, note = choose_assignment(self._course, submission, self._demanded)
            notes = (note,) if note else ()
            prepared = self.prepare(chosen)
            try:
                report = grade(submission, prepared, stages, notes)
            except DisplacedError:
                report = self._grade_alone(submission, prepared, stages, notes)
            return report, who_chose(submission, chosen.assignment, self._demanded)
        except GraderError as error:
            reason = join(error.message, error.hint)
        except Exception as error:  # noqa: BLE001  the others shall be graded all the same
            if "GRADER_DEBUG" in self._settings.environment:
                traceback.print_exc()
            reason = foreign(
                f"The grader failed itself, with {type(error).__name__}. "
                "Grade it again with GRADER_DEBUG=1 and report what that prints."
            )
        return ungraded_report(entry.path.name, reason, describe_environment()), None

    def _grade_alone(
        self,
        submission: SubmissionFile,
        prepared: Preparation,
        stages: Progress,
        notes: tuple[Text, ...],
    ) -> Report:
        """Grade once more, with nothing beside it: what it is ended for now is its own doing.

        The others wait meanwhile. It takes no turn among them: it has all of them.
        """
        with self._settings.quiet.exclusive():
            settings = msgspec.structs.replace(
                self._settings, sandbox=self._sandbox, quiet=Quiet(), room=Room()
            )
            return grade(submission, prepared.with_settings(settings), stages, notes)

    def prepare(self, chosen: CourseAssignment) -> Preparation:
        """Return what all gradings of an assignment share."""
        with self._lock:
            slug = chosen.assignment.slug
            if slug not in self._preparations:
                self._preparations[slug] = Preparation(chosen, self._settings)
            return self._preparations[slug]

    def _graded_before(self, entry: Entry) -> Row | None:
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
        if not is_report_of(report, submission.sha256, chosen.assignment, basis):
            return None
        chooser = who_chose(submission, chosen.assignment, self._demanded)
        return make_row(entry, report, chooser, kept=True)

    def _read(self, entry: Entry) -> SubmissionFile:
        if entry.problem:
            raise SubmissionError(entry.problem, entry.hint)
        return self._reader.read(entry.path, entry.trusted)

    def _accepts(self, report: Report) -> bool:
        """Say whether this command's options leave a grade as it is."""
        if self._seed is not None and report.seed != self._seed:
            return False
        return self._settings.dialect == "auto" or report.dialect == self._settings.dialect


class _Stages(Silent):
    """A Progress that tells that of the batch in which stage a submission is."""

    def __init__(self, name: str, progress: BatchProgress) -> None:
        self._name, self._progress = name, progress

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self._progress.stage(self._name, name, waits=waits)


def _summary(entries: tuple[Entry, ...], rows: dict[str, Row]) -> Summary:
    found = tuple(rows[entry.name] for entry in entries if entry.name in rows)
    return Summary(found, pending=len(entries) - len(found))
