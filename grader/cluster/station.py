"""What a worker has open for all that it grades: its sandbox, courses by digest, data and answers.

It is opened before the worker joins the cluster, and closed when it leaves. A grading that nobody
waits for any more is ended: its command was interrupted or has died, or the scheduler has.
"""

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from distributed import get_worker
from msgspec.structs import replace

from grader.batch.attempts import Attempts, Own
from grader.cluster.ability import data_folder
from grader.cluster.current import Tell, current
from grader.cluster.jobs import (
    Job,
    Withdrawn,
    WorkerFacts,
    answer_of,
    decode_job,
    digest_of,
    encode,
    unpack,
)
from grader.course import Course, load_course
from grader.environment import describe_environment, need_for_grading, slow_imports
from grader.errors import ProtocolError, SandboxError
from grader.files import OwnFolder, sweep
from grader.grading.preparation import GradingOptions, Preparation, Settings, source_digest
from grader.language import Text, say
from grader.progress import Silent
from grader.reading.reader import SubmissionReader
from grader.reading.submission import SubmissionFile
from grader.report import Report
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level
from grader.sandbox.room import RevocableSandbox
from grader.sandbox.start import SteppingSandbox

_OPEN = 2
"""So many batches are kept ready at once: each holds its data and its oracle's answers."""

_log = logging.getLogger("distributed.grader")


class Station:
    """Grades what it is sent, in any number of threads. To be closed.

    `level` demands an isolation, else it is the strongest that works here; `own` are folders that
    no submission may read beside the station's. Raises GraderError where nothing can be graded.
    """

    def __init__(self, level: Level | None = None, own: Iterable[Path] = ()) -> None:
        need_for_grading()
        sweep()
        self._folder = OwnFolder()
        self._protected = (self._folder.path, *own, *data_folder())
        self._lock = threading.Lock()
        self._courses: dict[str, Course] = {}
        self._batches: OrderedDict[tuple[str, GradingOptions], Attempts] = OrderedDict()
        self._running: dict[str, Own] = {}
        self._unwanted: set[str] = set()
        try:
            first = choose_sandbox(level, level or "basic", protected=self._protected)
        except BaseException:
            self._folder.remove()
            raise
        self._sandboxes: dict[tuple[str, ...], SteppingSandbox] = {(): first}
        self._settings = Settings(sandbox=first, seed=0, environment=os.environ)
        self._reader = SubmissionReader(self._settings.quiet)
        first.expect("runner")
        self.facts = WorkerFacts(first.level, describe_environment(), source_digest())

    def grade(self, key: str, document: bytes, archive: bytes, tell: Tell) -> bytes:
        """Return the answer to a job, whose name in the cluster is `key`. Raises ProtocolError."""
        tell("started")
        job = decode_job(document)
        if digest_of(archive) != job.course:
            raise ProtocolError(say("worker-received-different-course-than-jobs"))
        attempts = self._attempts_for(job, archive)
        own = self._begin(key, attempts)
        try:
            stages = _Stages(tell)

            def grade(submission: SubmissionFile, prepared: Preparation) -> Report:
                return attempts.grade(submission, prepared, stages, own)

            report, chooser, slug = attempts.attempt(job.name, lambda: self._read(job), grade)
            is_ended = own.sandbox.is_revoked
            return encode(Withdrawn()) if is_ended else answer_of(report, chooser, slug)
        finally:
            with self._lock:
                self._running.pop(key, None)
                self._unwanted.discard(key)

    def withdraw(self, key: str) -> None:
        """End a grading that nobody waits for any more; it may be about to begin."""
        with self._lock:
            self._unwanted.add(key)
            own = self._running.get(key)
        if own is not None:
            own.timing_lock.hurry()
            with suppress(SandboxError):  # of a program that does not end; the others have
                own.sandbox.revoke()

    def close(self) -> None:
        """End all that is graded, and remove what was kept."""
        with self._lock:
            running = list(self._running)
        self._settings.timing_lock.hurry()
        for key in running:
            self.withdraw(key)
        self._reader.close()
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._folder.remove()

    def _begin(self, key: str, attempts: Attempts) -> Own:
        sandbox = RevocableSandbox(attempts.sandbox)
        own = Own(sandbox, self._settings.timing_lock.for_one())
        with self._lock:
            self._running[key] = own
            if key in self._unwanted:
                sandbox.is_revoked = True
        return own

    def _read(self, job: Job) -> SubmissionFile:
        return self._reader.read_bytes(job.name, job.content)

    def _attempts_for(self, job: Job, archive: bytes) -> Attempts:
        """Return what the gradings of a job's batch share, made when the first of them comes."""
        key = (job.course, job.options())
        with self._lock:
            if key not in self._batches:
                self._batches[key] = self._open(job, archive)
                while len(self._batches) > _OPEN:
                    self._batches.popitem(last=False)
            self._batches.move_to_end(key)
            return self._batches[key]

    def _open(self, job: Job, archive: bytes) -> Attempts:
        course = self._course(job.course, archive)
        possible = course.possible(job.assignment)
        self._refuse_below(each.assignment.sandbox.minimum for each in possible)
        options = job.options()
        made = {
            "sandbox": self._sandbox(slow_imports(each.assignment.preamble for each in possible)),
            "seed": job.seed,
            "data": options.data,
            "language": options.language,
            "dialect": options.dialect,
            "preamble": options.preamble,
        }
        return Attempts(course, job.assignment, replace(self._settings, **made))

    def _course(self, digest: str, archive: bytes) -> Course:
        """Return a course by its digest; it is unpacked once, where no sandbox sees it."""
        if digest not in self._courses:
            unpack(archive, self._folder.path / digest)
            self._courses[digest] = load_course(self._folder.path / digest)
            _log.info("grader: has the course %s", digest[:16])
        return self._courses[digest]

    def _sandbox(self, imports: tuple[str, ...]) -> SteppingSandbox:
        """Return the sandbox whose kernels import what an assignment's notebooks do."""
        if imports not in self._sandboxes:
            level = self.facts.level
            made = choose_sandbox(level, level, protected=self._protected, imports=imports)
            self._sandboxes[imports] = made
        return self._sandboxes[imports]

    def _refuse_below(self, levels: Iterable[Level]) -> None:
        needed = min(levels, key=LEVELS.index)
        if LEVELS.index(self.facts.level) > LEVELS.index(needed):
            raise SandboxError(
                say(
                    "assignment-requires-sandbox-level-worker-has",
                    needed=needed,
                    level=self.facts.level,
                ),
                say("run-grader-doctor-on-workers-machine-says"),
            )


class _Stages(Silent):
    """A Progress that tells whether a grading works or waits."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waits = False

    def stage(self, name: Text, *, waits: bool = False) -> None:
        del name
        if waits != self._waits:
            self._waits = waits
            self._tell("waits" if waits else "works")


# The one function that a cluster's workers run: bytes in, bytes out.
#
# Dask sends its name; who unpickles that has the grader installed, and finds this module there. It
# needs what the preload has opened.


_OPENED: dict[str, Station] = {}
"""The station of each worker of this process, by the worker's address: mostly there is one."""


def open_at(worker: str, station: Station) -> None:
    """Let the tasks of a worker, named by its id, find its station."""
    _OPENED[worker] = station


def close_at(worker: str) -> None:
    """Close a worker's station, if it has one."""
    station = _OPENED.pop(worker, None)
    if station is not None:
        station.close()


def grade_submission(job: bytes, archive: bytes) -> bytes:
    """Return the answer to a job (`grader.cluster.jobs`); `archive` is its course."""
    station = _OPENED[get_worker().id]
    key, tell = current()
    return station.grade(key, job, archive, tell)
