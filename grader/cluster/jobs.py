"""What goes to a worker and what comes back: bytes, which both ends decode strictly.

Dask pickles the name of a function and these bytes. Neither end unpickles anything of a submission:
what a student wrote, and a report, are never more than bytes in a field.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from grader.course import Chooser, CourseAssignment
from grader.decoding import prepared
from grader.errors import ProtocolError, UsageError
from grader.grading.preparation import GradingOptions
from grader.grading.spelling import Accepted
from grader.language import LANGUAGES, NOTHING, Text, in_clauses, say
from grader.messages.frames import FrameError, Message, decode_payload
from grader.reading.cells import SIZE_LIMIT
from grader.report import Environment, Report, decode_report, encode_report
from grader.sandbox.interface import LEVELS, Level

READ_LIMIT: Final = SIZE_LIMIT + 2**20
"""Bytes that are read of a submission: what is larger than the limit is told by less."""

REPORT_LIMIT: Final = 64 * 2**20
"""Largest report that is taken from a worker, in bytes."""

FACTS: Final = "grader"
"""Under this name a worker's facts stand in what the scheduler knows of it, and its event."""

Word = Annotated[str, Meta(max_length=1000)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Seed = Annotated[int, Meta(ge=0)]


class Job(Message, frozen=True):
    """One submission to grade: its file's name and content, and under which options.

    `course` is the digest of the archive that came beside it.
    """

    name: Word
    content: Annotated[bytes, Meta(max_length=READ_LIMIT)]
    course: Digest
    seed: Seed
    assignment: Word | None = None
    data: Literal["builtin"] | None = None
    language: Word | None = None
    dialect: Accepted = "auto"
    preamble: bool = False

    def options(self) -> GradingOptions:
        """Return the options that are shared by all jobs of a batch; the course is not in them."""
        return GradingOptions(
            assignment=self.assignment,
            data=self.data,
            seed=self.seed,
            language=self.language if self.language in LANGUAGES else None,
            dialect=self.dialect,
            preamble=self.preamble,
        )


class JobAnswer(Message, frozen=True):
    """A report as JSON; who chose the assignment, and which it was or would have been."""

    report: Annotated[bytes, Meta(max_length=REPORT_LIMIT)]
    chooser: Chooser | None
    slug: Word


class Withdrawn(Message, frozen=True):
    """Nobody wanted it any more while it was graded, so it was ended: nothing is known of it."""


class WorkerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker says of itself when it joins: its isolation, its machine, what is installed.

    `source` is the digest of the grader's own files.
    """

    level: Level
    environment: Environment
    source: Digest

    @property
    def machine(self) -> str:
        """What machines of one type have in common, for people."""
        return f"{self.environment.cpu}, {self.environment.cores} cores"


def encode(message: Message) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message)


def decode_job(document: bytes) -> Job:
    """Decode a job. Raises ProtocolError."""
    job: Job = _decode(document, Job)
    return job


def decode_answer(document: object) -> tuple[JobAnswer, Report] | Withdrawn:
    """Decode an answer, and the report in it. Raises ProtocolError."""
    if not isinstance(document, bytes):
        raise _no_message()
    answer = _decode(document, JobAnswer | Withdrawn)
    if isinstance(answer, Withdrawn):
        return answer
    try:
        return answer, decode_report(answer.report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _no_message() from None


def answer_of(report: Report, chooser: Chooser | None, slug: str) -> bytes:
    """Return what came of a submission as bytes."""
    return encode(JobAnswer(encode_report(report), chooser, slug))


def facts_of(found: object) -> WorkerFacts | None:
    """Return what a worker says of itself; None of one that says nothing that can be read."""
    try:
        return msgspec.convert(found, prepared(WorkerFacts))
    except (msgspec.ValidationError, TypeError):
        return None


def _decode(document: bytes, kind: Any) -> Any:
    try:
        return decode_payload(document, kind)
    except FrameError:
        raise _no_message() from None


def _no_message() -> ProtocolError:
    return ProtocolError(say("other-end-cluster-sent-something"))


# A course as one archive: the files of its assignments and of their handouts, by their paths.
#
# It is MessagePack of names and bytes, so that nothing of a file but its content goes along:
# neither links nor modes. Its digest is what a worker knows it by.


MOST_BYTES = 256 * 2**20
MOST_FILES = 10_000

_PART = re.compile(r"(?!\.{1,2}\Z)[^/\0]{1,255}")
_FOLDERS = ("assignments", "templates")


def pack(chosen: Iterable[CourseAssignment]) -> bytes:
    """Return the archive of assignments of a course. Raises UsageError for one too large.

    All files of their folders are in it: the digest of what decides a grade is of all of them.
    """
    folders = {each.folder for each in chosen}
    files = {name: path.read_bytes() for each in sorted(folders) for name, path in _files_of(each)}
    if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
        raise UsageError(
            say("course-has-more-than-files-or-mb", files=MOST_FILES, size=MOST_BYTES >> 20),
            say("move-everything-that-grading-does-not-need-elsewhere"),
        )
    return msgspec.msgpack.encode(dict(sorted(files.items())))


def digest_of(archive: bytes) -> str:
    """Return the SHA-256 of an archive, in hexadecimal digits."""
    return hashlib.sha256(archive).hexdigest()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive into a new folder. Raises ProtocolError for what is none."""
    try:
        files = msgspec.msgpack.decode(archive, type=prepared(dict[str, bytes]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _no_archive() from None
    if len(files) > MOST_FILES or not all(map(_is_inside, files)):
        raise _no_archive()
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _files_of(assignment: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(assignment.rglob("*")):
        inside = path.relative_to(assignment)
        if path.is_file() and "__pycache__" not in inside.parts:
            yield f"assignments/{assignment.name}/{inside.as_posix()}", path
    templates = assignment.resolve().parents[1] / "templates"  # as `handout_cells` looks for them
    for path in sorted(templates.glob(f"{assignment.name}*.ipynb")):
        if path.is_file():
            yield f"templates/{path.name}", path


def _is_inside(name: str) -> bool:
    first, *others = name.split("/")
    return first in _FOLDERS and bool(others) and all(map(_PART.fullmatch, others))


def _no_archive() -> ProtocolError:
    return ProtocolError(say("worker-received-something-that-not-archive-course"))


# Which cluster, and which of its workers may grade: those with the versions that are here,
# isolated as is asked for.


PATIENCE_SECONDS = 60.0
"""How long to wait for a worker that may grade, or for a scheduler that is out of reach."""


class ClusterOptions(msgspec.Struct, frozen=True):
    """Where the scheduler is, and what is asked of its workers."""

    address: str
    insecure: bool = False
    same_machine_type: bool = False
    patience: float = PATIENCE_SECONDS


class WantedWorker(NamedTuple):
    """What a worker must have: the versions of `like`, and an isolation that is as strong as
    `minimum`, or just `level` where one was demanded. `machine` is a type of machine, "" for any.
    """

    like: WorkerFacts
    minimum: Level
    level: Level | None = None
    machine: str = ""

    def lacks(self, worker: str, facts: WorkerFacts | None) -> Text:
        """Say why a worker may grade nothing; empty if it may."""
        if facts is None:
            return say("started-without-graders-preload-or-with-grader", worker=worker)
        if differences := _differences(self.like, facts):
            return say("has", worker=worker, differences=differences)
        is_strong = LEVELS.index(facts.level) <= LEVELS.index(self.minimum)
        if not is_strong or self.level not in (None, facts.level):
            return say(
                "sandbox-level-required-has",
                needed=self.level or self.minimum,
                worker=worker,
                level=facts.level,
            )
        if self.machine not in ("", facts.machine):
            return say("another-machine", worker=worker, kind=facts.machine)
        return NOTHING


def _differences(ours: WorkerFacts, theirs: WorkerFacts) -> Text:
    """Return in a row what is installed there, and what is here; empty where nothing differs."""
    found = [*_packages(ours.environment.packages, theirs.environment.packages)]
    python = (ours.environment.python, theirs.environment.python)
    if python[0] != python[1]:
        found.append(_difference("Python", *python))
    if not found and ours.source != theirs.source:
        found.append(say("other-files-grader-same-version"))
    return in_clauses(found) if found else NOTHING


def _packages(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterable[Text]:
    for name in sorted({*ours, *theirs}):
        here, there = ours.get(name, ""), theirs.get(name, "")
        if here != there:
            yield _difference(name, here, there)


def _difference(name: str, ours: str, theirs: str) -> Text:
    if not theirs:
        return say("no-which-here-in-version", name=name, ours=ours)
    if not ours:
        return say("which-not-here", name=name, theirs=theirs)
    return say("where-here", name=name, theirs=theirs, ours=ours)
