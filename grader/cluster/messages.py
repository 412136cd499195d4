"""What goes to a worker and what comes back: bytes, which both ends decode strictly.

Dask pickles the name of a function and these bytes. Neither end unpickles anything of a submission:
what a student wrote, and a report, are never more than bytes in a field.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from grader.course import Chooser
from grader.decoding import prepared
from grader.errors import ProtocolError
from grader.grading.preparation import GradingOptions
from grader.grading.spelling import Accepted
from grader.language import LANGUAGES, say
from grader.messages import FrameError, Message, decode_payload
from grader.reading.content import SIZE_LIMIT
from grader.report import Environment, Report, decode_report, encode_report
from grader.sandbox.interface import Level

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


class Answer(Message, frozen=True):
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


def decode_answer(document: object) -> tuple[Answer, Report] | Withdrawn:
    """Decode an answer, and the report in it. Raises ProtocolError."""
    if not isinstance(document, bytes):
        raise _no_message()
    answer = _decode(document, Answer | Withdrawn)
    if isinstance(answer, Withdrawn):
        return answer
    try:
        return answer, decode_report(answer.report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _no_message() from None


def answer_of(report: Report, chooser: Chooser | None, slug: str) -> bytes:
    """Return what came of a submission as bytes."""
    return encode(Answer(encode_report(report), chooser, slug))


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
    return ProtocolError(say("What came from the other end of the cluster is no message."))
