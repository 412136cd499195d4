"""A batch whose gradings are done elsewhere: what is kept, told and written is as on one machine.

A report that comes back is believed as far as a worker is. What can be known here is looked at: it
is of this file, of this seed, and of an assignment of this course.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from typing import BinaryIO

from msgspec.structs import replace

from grader.batch.attempts import Attempt
from grader.batch.collect import Entry
from grader.batch.grading import Batch, GradedFile, Store, graded_twice
from grader.batch.keys import accepts, named
from grader.cluster.dispatch import Dispatch, Failed, Killed, Outcome, What
from grader.cluster.jobs import READ_LIMIT, Job, JobAnswer, Withdrawn, decode_answer, encode
from grader.course import Course
from grader.environment import describe_environment
from grader.errors import GraderError, ProtocolError, SandboxError, SubmissionError
from grader.grading.preparation import Settings
from grader.inside.launcher.protocol import Program
from grader.language import NOTHING, Text, foreign, join, say
from grader.progress import BatchProgress
from grader.reading.submission import open_submission
from grader.report import Report, ungraded_report
from grader.sandbox.interface import Command, Level, Process

Tell = Callable[[str, What, str], None]
Start = Callable[[Tell], Dispatch]
"""Makes the dispatch of a batch; it is given what hears which submission is at work where."""


class Elsewhere:
    """The sandbox of a command whose submissions are run on other machines: it starts nothing."""

    detail = foreign("")

    def __init__(self, level: Level) -> None:
        self.level: Level = level

    def expect(self, *programs: Program) -> None:
        """Make nothing ready."""

    def start(self, command: Command) -> Process:
        """Refuse: raises SandboxError."""
        del command
        raise SandboxError(say("this-machine-runs-nothing-submission"))

    def close(self) -> None:
        """Nothing was opened."""


class ClusterBatch(Batch):
    """Has submissions of one course graded by a cluster, into one folder of reports.

    `levels` are the isolations that its workers have, `job` is what all jobs are but for name and
    content, and `start` makes what sends them.
    """

    def __init__(
        self,
        course: Course,
        settings: Settings,
        store: Store,
        job: Job,
        start: Start,
        levels: frozenset[Level],
        seed: int | None = None,
    ) -> None:
        super().__init__(course, job.assignment, settings, store, seed)
        self._job, self._start, self._levels = job, start, levels

    def graded(
        self, entries: Iterable[Entry], jobs: int, progress: BatchProgress
    ) -> Generator[GradedFile, None, None]:
        """Have submissions graded, and yield each when its report is there; as `Batch` does."""
        del jobs  # the cluster's workers say how many at a time
        try:
            yield from graded_twice(
                entries, lambda waiting: self._graded_once(waiting, progress), progress
            )
        finally:
            self._store.hurry()
            self._reader.close()

    def _graded_once(
        self, entries: Iterable[Entry], progress: BatchProgress
    ) -> Generator[GradedFile, None, None]:
        """Yield what needs no worker first: files that cannot be read, and who handed in none."""
        readable: dict[str, Entry] = {}
        for entry in entries:
            problem = _problem_of(entry)
            if problem:
                progress.started(entry.name)
                yield self._ungraded(entry, problem)
            else:
                readable[entry.name] = entry
        if readable:
            yield from self._sent(readable, progress)

    def _sent(
        self, entries: Mapping[str, Entry], progress: BatchProgress
    ) -> Generator[GradedFile, None, None]:
        digests: dict[str, str] = {}

        def make(name: str) -> bytes:
            if name not in digests:
                progress.started(name)
                progress.stage(name, say("on-way"), waits=True)
            job = _job_of(self._job, entries[name])
            digests[name] = hashlib.sha256(job.content).hexdigest()
            return encode(job)

        def tell(name: str, what: What, worker: str) -> None:
            is_waiting = what == "waits"
            progress.stage(
                name,
                say("waits-for-turn", worker=worker) if is_waiting else say("on", worker=worker),
                waits=True,
            )

        with closing(self._start(tell).run(entries, make)) as found:
            for each in found:
                yield self._take(entries[each.name], each, digests.pop(each.name))

    def _take(self, entry: Entry, outcome: Outcome, digest: str) -> GradedFile:
        if isinstance(outcome, Killed):
            return self._ungraded(
                entry,
                say("workers-died-while-grading-last-them", count=outcome.deaths),
                say("grade-alone-on-machine-that-you-can"),
            )
        if isinstance(outcome, Failed):
            return self._ungraded(
                entry, say("worker-that-graded-failed", error=outcome.error), say("log-says-more")
            )
        try:
            return self.write(entry, self._checked(entry, decode_answer(outcome.document), digest))
        except ProtocolError as error:
            return self._ungraded(entry, error.message, error.hint)

    def _checked(
        self, entry: Entry, answer: tuple[JobAnswer, Report] | Withdrawn, digest: str
    ) -> Attempt:
        """Return what a worker has answered. Raises ProtocolError where it is about another file,
        seed or assignment, or of an isolation that was not asked for.
        """
        if isinstance(answer, Withdrawn):
            raise ProtocolError(say("grading-ended-on-worker"), say("grade-again"))
        sent, report = answer
        if report.parts:
            is_of_file = report.submission.sha256 == digest
            found = (report.seed, report.assignment.slug, report.sandbox.level)
            if not (is_of_file and self._is_asked_for(*found)):
                raise ProtocolError(say("worker-sent-something-other-than-requested-report"))
        return Attempt(named(report, entry.path.name), sent.chooser, sent.slug)

    def _is_asked_for(self, seed: int, slug: str, level: str) -> bool:
        return seed == self._job.seed and slug in self._course.slugs and level in self._levels

    def _ungraded(self, entry: Entry, *why: Text) -> GradedFile:
        report = ungraded_report(entry.path.name, join(*why), describe_environment())
        slug = self._job.assignment if self._job.assignment in self._course.slugs else ""
        return self.write(entry, Attempt(report, None, slug or ""))

    def _accepts(self, report: Report) -> bool:
        """Say whether this command's options leave a grade as it is."""
        return report.sandbox.level in self._levels and accepts(
            report, self._seed, self._settings.dialect
        )


def _open(entry: Entry) -> BinaryIO:
    if entry.problem:
        raise SubmissionError(entry.problem, entry.hint)
    return open_submission(entry.path, entry.trusted)


def _problem_of(entry: Entry) -> Text:
    """Say why a submission cannot be read, and what to do; empty if it can."""
    try:
        _open(entry).close()
    except GraderError as error:
        return join(error.message, error.hint)
    return NOTHING


def _job_of(common: Job, entry: Entry) -> Job:
    """Return the job of a submission; what cannot be read any more is sent as it is: empty."""
    name = entry.path.name.encode("utf-8", "replace").decode()
    try:
        with _open(entry) as file:
            content = b"".join(_bounded(file))
    except GraderError:
        content = b""
    return replace(common, name=name, content=content)


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    left = READ_LIMIT
    while left and (chunk := file.read(min(left, 2**20))):
        left -= len(chunk)
        yield chunk
