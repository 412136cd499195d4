"""The report of one submission: one JSON document, from which all other output is rendered.

The schema is versioned (`schema_version`) and documented in docs/report.md. Text fields are plain
text for a student; nothing in them is markup, and no path of the grading machine is in them.
"""

from __future__ import annotations

import base64
import binascii
import struct
from datetime import datetime, timezone
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import field

from grader.decoding import prepared
from grader.language import LANGUAGES, NOTHING, Text
from grader.report import texts
from grader.report.parts import CellCode, Diagnosis, Frozen, MistakeKind, Part, Timing, nothing

SCHEMA_VERSION: Literal[5] = 5

READABLE = frozenset({2, 3, 4, 5})
"""Versions of documents that are read. Sentences of 2 and 3 are words of one language."""

Dialect = Literal["current", "2022", "2023-24", "2025"]


class CellProblem(Frozen, frozen=True):
    """A cell that ended in an error: `cell` counts code cells from 1, `line` is the line in it.

    Lines are those of the text that was handed in; of a script or Markdown, those of the file.
    `hint` says what to do where a limit of the sandbox was met, and `code` which one.
    """

    cell: int
    error: str
    message: str
    line: int | None = None
    hint: Text = field(default_factory=nothing)
    code: CellCode = "error"


class Submission(Frozen, frozen=True):
    """The file that was graded. `cells` counts code cells, `executed` those that ran to the end.

    `starts` are the lines of a script or Markdown file on which its cells begin, from 1; there are
    none of a notebook.
    """

    name: str
    sha256: str
    cells: int = 0
    executed: int = 0
    starts: tuple[int, ...] = ()


class AssignmentId(Frozen, frozen=True):
    """Which assignment it was, and which version of it.

    `due` is when it is due, in ISO 8601 with the offset from UTC; empty where nothing says.
    """

    slug: str
    title: Text
    version: int
    due: str = ""


class CellOutput(Frozen, frozen=True):
    """What a cell put out: "stdout", "stderr" and "result" are plain text, an "image" is a PNG in
    base64, an "error" the traceback, a "listing" code that was shown coloured, as plain text. What
    was cut off ends in an ellipsis. `left_out` are the types of what was shown beside and is not
    kept."""

    kind: Literal["stdout", "stderr", "result", "image", "error", "listing"]
    text: str
    left_out: tuple[str, ...] = ()


class Cell(Frozen, frozen=True):
    """One cell of the submission as it was handed in, and what it put out when it was run.

    `number` counts code cells from 1, None for text. `line` is the line of the submitted file on
    which its source begins, counted from 1; None where that is not known. `given` says that it
    stands in the handout as it is.
    """

    kind: Literal["code", "markdown"]
    source: str
    number: int | None = None
    line: int | None = None
    outputs: tuple[CellOutput, ...] = ()
    given: bool = False


class Data(Frozen, frozen=True):
    """The images and parameters that were used. `images` counts test images that were compared."""

    name: str
    images: int
    hidden: int
    detail: Text = field(default_factory=nothing)


class SandboxFacts(Frozen, frozen=True):
    """The isolation that was in force, strongest first: strong, container, basic, minimal, none."""

    level: str
    detail: Text = field(default_factory=nothing)


class Environment(Frozen, frozen=True):
    """What the grading ran on. `packages` maps a distribution's name to its version."""

    python: str
    cpu: str
    cores: int
    packages: dict[str, str]


class Duration(Frozen, frozen=True):
    """Wall time in seconds: in all, and by stage."""

    total: float
    stages: dict[str, float] = field(default_factory=dict)


class Report(Frozen, frozen=True):
    """All verdicts of one submission. `notes` are sentences that concern the whole submission.

    `language` is what its sentences are written in. `dialect` says which spelling of TVM's names
    the notebook is in: today's, or that of which years. `cells` is the notebook as it was run,
    empty where it was not. `basis` is a digest of what decided the grade beside the submission and
    the seed (`grading/preparation.py`), empty where nothing could be graded. `graded` is when the
    grading ended, with its zone; None where nothing could be graded. `rubric` is a digest of what
    the grade is worth and how it is told, and `rescored` when points were last counted anew without
    a run, None where they were not.
    """

    score: float
    max_score: float
    assignment: AssignmentId
    submission: Submission
    parts: tuple[Part, ...]
    problems: tuple[CellProblem, ...]
    notes: tuple[Text, ...]
    timing: Timing | None
    data: Data
    sandbox: SandboxFacts
    environment: Environment
    seed: int
    duration: Duration
    language: str = "en"
    dialect: Dialect = "current"
    cells: tuple[Cell, ...] = ()
    basis: str = ""
    graded: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    rubric: str = ""
    rescored: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    schema_version: Literal[5] = SCHEMA_VERSION

    @property
    def open(self) -> float:
        """The points that a person gives and has not given yet: they are in no sum."""
        return sum(part.open for part in self.parts)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The diagnosis of the first part that has one: where its module departs from PyTorch."""
        found = (part.diagnosis for part in self.parts if part.diagnosis is not None)
        return next(found, None)

    def render(
        self,
        format: str,
        audience: Literal["student", "instructor"] = "student",
        now: datetime | None = None,
        *,
        language: str | None = None,
    ) -> str:
        """Return the report as text, a page, Markdown ...: a name of `grader.render.FORMATS`.

        It holds what the `audience` may see at the time `now`, by default at this one, in a
        `language` or the report's own. Raises ValueError for a format or a language that there is
        not.
        """
        # Renderers are above reports. One that was unpickled has imported nothing of them.
        from grader.render.formats import render_as

        if language not in (None, *LANGUAGES):
            raise ValueError(f"there is no language {language!r}, but {', '.join(LANGUAGES)}")
        return render_as(format, self, audience, now or utc_now(), language).decode()


def encode_report(report: Report) -> bytes:
    """Return the report as indented JSON, ending in a newline, as `encode_texts` does."""
    return msgspec.json.format(encode_texts(report, report.language), indent=2) + b"\n"


def encode_texts(value: msgspec.Struct, language: str) -> bytes:
    """Return what has texts in it as JSON, each with its words in a language.

    Half of a surrogate pair, as in a file name that is no UTF-8, becomes a question mark.
    """
    hook = texts.encoder(language)
    try:
        return msgspec.json.encode(value, enc_hook=hook)
    except UnicodeEncodeError:
        builtin = msgspec.to_builtins(value, enc_hook=hook)
        return msgspec.json.encode(encodable(msgspec.to_builtins(builtin)))


def encodable(value: Any) -> Any:
    """Return it with whole characters: half of a surrogate pair can be in what a student wrote."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(item) for item in value]
    return value


def decode_report(document: bytes) -> Report:
    """Read a report back, also one of an earlier version.

    The sentences of version 2 or 3 stay in the language in which they were written. Raises
    msgspec.DecodeError for what is no report.
    """
    try:
        version = msgspec.json.decode(document, type=prepared(_Versioned)).schema_version
        if version in _OF_WORDS:
            return _decode_words(document)
        if version in READABLE - {SCHEMA_VERSION}:
            return msgspec.convert(_as_today(document), prepared(Report), dec_hook=texts.decode)
        return msgspec.json.decode(document, type=prepared(Report), dec_hook=texts.decode)
    except (UnicodeDecodeError, RecursionError) as error:  # a key that is not UTF-8
        raise msgspec.DecodeError(str(error)) from None


class _Versioned(msgspec.Struct):
    schema_version: int


_OF_WORDS = frozenset({2, 3})


def _as_today(document: bytes) -> dict[str, Any]:
    """Return the fields of an earlier document: every one that it lacks has a default today."""
    fields = msgspec.json.decode(document, type=prepared(dict[str, Any]))
    return {**fields, "schema_version": SCHEMA_VERSION}


def _decode_words(document: bytes) -> Report:
    """Read what has fewer fields, and strings for texts."""
    fields = _as_today(document)
    current = {**fields, "parts": _known(fields.get("parts"))}
    report = msgspec.convert(current, prepared(Report), dec_hook=texts.decode_old)
    return msgspec.structs.replace(report, parts=tuple(map(_told, report.parts)))


def _known(parts: Any) -> Any:
    if not isinstance(parts, list):
        return parts
    for part in parts:
        diagnosis = part.get("diagnosis") if isinstance(part, dict) else None
        if isinstance(diagnosis, dict) and isinstance(diagnosis.get("mistake"), str):
            diagnosis["mistake"] = _mistake(diagnosis["mistake"])
    return parts


def _mistake(name: str) -> str:
    return name if name in get_args(MistakeKind) else ""


def _told(part: Part) -> Part:
    """Mark the checks whose reasons have the diagnosis's words in them: nothing else tells it."""
    if part.diagnosis is None or not part.diagnosis.message:
        return part
    words = part.diagnosis.message.english
    checks = tuple(
        msgspec.structs.replace(check, tells_diagnosis=words in check.reason.english)
        for check in part.checks
    )
    return msgspec.structs.replace(part, checks=checks)


def ungraded_report(name: str, note: Text, environment: Environment) -> Report:
    """Return the report of a file that could not be graded: no parts, no points, and why."""
    return Report(
        score=0.0,
        max_score=0.0,
        assignment=AssignmentId(slug="", title=NOTHING, version=0),
        submission=Submission(name=name, sha256=""),
        parts=(),
        problems=(),
        notes=(note,),
        timing=None,
        data=Data(name="", images=0, hidden=0),
        sandbox=SandboxFacts(level=""),
        environment=environment,
        seed=0,
        duration=Duration(total=0.0),
    )


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">8sI4sII")

MOST_PIXELS = 4_000_000
"""Pixels of an image: whoever looks at it needs a few bytes for each, however small the file is."""

MOST_EXTENT = 8192


def image_size(text: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG in base64; None for anything else.

    The base64 is read strictly: one line, padded, nothing but its alphabet. Nothing is decoded but
    the header, so the rest may be damaged; a program that shows it as an image shows none then.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(content) < _HEADER.size:
        return None
    signature, length, kind, width, height = _HEADER.unpack_from(content)
    if (signature, length, kind) != (_SIGNATURE, 13, b"IHDR"):
        return None
    is_bounded = 0 < width <= MOST_EXTENT and 0 < height <= MOST_EXTENT
    return (width, height) if is_bounded and width * height <= MOST_PIXELS else None


def utc_now() -> datetime:
    """Return the time, with its offset from UTC."""
    return datetime.now(timezone.utc)
