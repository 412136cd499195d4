"""The folder of a batch's reports: one JSON file for each submission, each of them whole."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grader.assignment import Assignment
from grader.batch.collect import Entry
from grader.errors import UsageError
from grader.files import try_place, unwritable, write_whole
from grader.language import say
from grader.report import Report, decode_report, encode_report

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
    """Say whether a report grades just this file, on the same basis (`grader.grading.basis`)."""
    about, graded = report.assignment, report.submission.sha256
    same = (about.slug, about.version) == (assignment.slug, assignment.version)
    return same and (graded, report.basis) == (sha256, basis)
