"""`grader render`: a report that was written as JSON becomes any other rendering of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.files import unwritable, write_whole
from grader.render.audience import Audience, utc_now
from grader.render.formats import FORMATS, render_as
from grader.report import SCHEMA_VERSION, Report, decode_report

SIZE_LIMIT = 64 * 2**20
"""Largest report that is read, in bytes. Images that a notebook drew make most of it."""


class RenderOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader render`, as they were given.

    `output` is None for the standard output. `path` is where the submission is in its repository.
    """

    report: Path
    format: str
    output: Path | None = None
    audience: Audience = "student"
    path: str = ""


def run_render(
    options: RenderOptions,
    output: Callable[[bytes], object],
    clock: Callable[[], datetime] = utc_now,
) -> Report:
    """Write a rendering to a file, or hand it to `output`. Returns the report that was read.

    Raises UsageError where the format is unknown, the file is no report of this version, or the
    rendering cannot be written.
    """
    if options.format not in FORMATS:
        raise UsageError(f"There is no format {options.format}.", f"Name one of {_names()}.")
    report = read_report(options.report)
    if options.path:
        submission = msgspec.structs.replace(report.submission, name=options.path)
        report = msgspec.structs.replace(report, submission=submission)
    content = render_as(options.format, report, options.audience, clock())
    _write(content, options.output, output)
    return report


def _names() -> str:
    return ", ".join(FORMATS)


def read_report(path: Path) -> Report:
    """Read a report. Raises UsageError for what is none, or one of another version."""
    content = _read(path)
    _check_version(content, path)
    try:
        return decode_report(content)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path.name} is not a report of version {SCHEMA_VERSION}: {error}.",
            "Name a file that `grader run --json` or `grader batch` wrote, as it was written.",
        ) from None


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError(f"There is no file {path}.", "Check the name and the folder.")
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None
    if len(content) > SIZE_LIMIT:
        raise UsageError(f"{path.name} is larger than {SIZE_LIMIT // 2**20} MB.", "Grade it again.")
    return content


class _Versioned(msgspec.Struct):
    schema_version: int
    rows: msgspec.Raw | None = None


def _check_version(content: bytes, path: Path) -> None:
    try:
        found = msgspec.json.decode(content, type=_Versioned)
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(
            f"{path.name} is not a report.",
            "Name a file that `grader run --json` or `grader batch` wrote.",
        ) from None
    version = found.schema_version
    if found.rows is not None:
        raise UsageError(
            f"{path.name} is the overview of a batch, not a report.",
            "Name one of the reports beside it, such as ada/hw.json.",
        )
    if version != SCHEMA_VERSION:
        age, hint = "an earlier", "Grade the submission again, or use the grader that wrote it."
        if version > SCHEMA_VERSION:
            age, hint = "a later", "Use the grader that wrote it, or a later one."
        raise UsageError(
            f"{path.name} is a report of {age} version ({version}); this is {SCHEMA_VERSION}.", hint
        )


def _write(content: bytes, path: Path | None, output: Callable[[bytes], object]) -> None:
    if path is None:
        output(content)
        return
    try:
        write_whole(path, content)
    except OSError as error:
        raise unwritable(path, error, "the rendering") from None
