"""What a batch that goes on tells whoever watches it: a file beside its reports.

It is there for as long as the batch, and after one that was killed. That a batch goes on is told
by its lock on the folder, which the kernel takes back whatever ends it.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from grader.batch.grading import SUMMARY
from grader.batch.summary import Row, Summary, decode_summary, outcome
from grader.decoding import prepared
from grader.errors import UsageError
from grader.language import ENGLISH, NOTHING, Text, say
from grader.progress import BatchProgress, time_left
from grader.report import encode_texts, texts

PROGRESS = ".progress"
"""The file's name: it ends in nothing by which it could be taken for a report."""

_DRAFT = f"{PROGRESS}.part"

_LATEST = 10
"""Most finished ones that are listed."""

_LARGEST = 2**20

Status = Literal["preparing", "running", "done", "interrupted", "killed"]


class AtWork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A submission that is being graded: since when, and what is done with it."""

    name: str
    since: datetime
    stage: Text = NOTHING


class FinishedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A submission that is done, and what came out."""

    name: str
    graded: bool
    outcome: Text


class BatchState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a batch stands.

    Of `total` submissions `done` are over with, `kept` of them since an earlier run, and `failed`
    could not be graded; `put_back` are graded once more at the end. `left` is about how long the
    others take, empty where nobody knows. `latest` has those that were done last, the newest first.
    """

    status: Status
    total: int = 0
    done: int = 0
    failed: int = 0
    kept: int = 0
    put_back: int = 0
    began: datetime | None = None
    left: Text = NOTHING
    at_work: tuple[AtWork, ...] = ()
    latest: tuple[FinishedFile, ...] = ()


def forget(folder: Path) -> None:
    """Take away what a batch told, at its end, or one that was killed before this one begins."""
    for name in (PROGRESS, _DRAFT):
        (folder / name).unlink(missing_ok=True)


class WatchedBatch:
    """A BatchProgress that tells another one, and whoever watches the folder of reports."""

    def __init__(
        self,
        folder: Path,
        inner: BatchProgress,
        total: int,
        kept: Mapping[str, Row],
        clock: Callable[[], datetime],
    ) -> None:
        self._path = folder / PROGRESS
        self._inner = inner
        self._clock = clock
        self._lock = threading.Lock()
        self._at_work: dict[str, AtWork] = {}
        self._put_back: set[str] = set()
        self._state = BatchState(
            "running",
            total,
            done=len(kept),
            failed=sum(not row.graded for row in kept.values()),
            kept=len(kept),
            began=clock(),
        )
        self._write()

    def started(self, name: str) -> None:
        """Tell that a submission is being graded from now on."""
        self._inner.started(name)
        with self._lock:
            self._at_work[name] = AtWork(name, self._clock())
            self._write()

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        """Tell what is being done with it."""
        self._inner.stage(name, stage, waits=waits)
        with self._lock:
            if name in self._at_work:
                self._at_work[name] = replace(self._at_work[name], stage=stage)
                self._write()

    def finished(self, name: str, outcome: Text, *, graded: bool = True) -> None:
        """Tell that it is done, and what came out."""
        self._inner.finished(name, outcome, graded=graded)
        with self._lock:
            self._at_work.pop(name, None)
            self._put_back.discard(name)
            now = self._state
            self._state = replace(
                now,
                done=now.done + 1,
                failed=now.failed + (not graded),
                latest=(FinishedFile(name, graded, outcome), *now.latest)[:_LATEST],
            )
            self._write()

    def put_back(self, name: str, outcome: Text) -> None:
        """Tell that it will be graded once more."""
        self._inner.put_back(name, outcome)
        with self._lock:
            self._at_work.pop(name, None)
            self._put_back.add(name)
            self._write()

    def _write(self) -> None:
        """Write by renaming, and not to the disk itself: schedules are being timed beside it."""
        now = replace(
            self._state, at_work=tuple(self._at_work.values()), put_back=len(self._put_back)
        )
        draft = self._path.with_name(_DRAFT)
        try:
            draft.write_bytes(encode_texts(now, ENGLISH))
            draft.replace(self._path)
        except OSError:  # that nobody can watch is no reason to end
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)


def state_of(folder: Path, now: datetime) -> BatchState:
    """Return how the batch of a folder stands, or how it ended. Raises UsageError."""
    try:
        goes_on = _is_locked(folder)
        told = _told(folder / PROGRESS)
        goes_on = goes_on or _is_locked(folder)  # it may have begun meanwhile
        if told is not None:
            return _estimated(told, now) if goes_on else replace(told, status="killed")
        if goes_on:
            return BatchState("preparing")
        return _ended(decode_summary((folder / SUMMARY).read_bytes()))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise UsageError(
            say("no-batch-or-writing", folder=str(folder)), say("name-output-folder-grader-batch")
        ) from None


def _is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _told(path: Path) -> BatchState | None:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST)
    except FileNotFoundError:
        return None
    return msgspec.json.decode(content, type=prepared(BatchState), dec_hook=texts.decode)


def _estimated(told: BatchState, now: datetime) -> BatchState:
    if told.began is None:
        return told
    seconds = (now - told.began).total_seconds()
    return replace(told, left=time_left(seconds, told.done - told.kept, told.total - told.done))


def _ended(summary: Summary) -> BatchState:
    fresh = [row for row in summary.rows if not row.kept][-_LATEST:]
    return BatchState(
        "interrupted" if summary.pending else "done",
        total=len(summary.rows) + summary.pending,
        done=len(summary.rows),
        failed=summary.ungraded,
        kept=sum(row.kept for row in summary.rows),
        put_back=sum(row.again for row in summary.rows),
        latest=tuple(FinishedFile(e.name, e.graded, outcome(e)) for e in reversed(fresh)),
    )
