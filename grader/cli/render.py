"""`grader render`: a report that was written as JSON becomes any other rendering of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from grader.api import load_report
from grader.cli.options import Language
from grader.errors import UsageError
from grader.files import unwritable, write_whole
from grader.language import say
from grader.render.audience import Audience, utc_now
from grader.render.formats import FORMATS, render_as
from grader.report import Report


class RenderOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader render`, as they were given.

    `output` is None for the standard output, `language` for the report's own. `path` is where the
    submission is in its repository.
    """

    report: Path
    format: str
    output: Path | None = None
    audience: Audience = "student"
    path: str = ""
    language: Language | None = None


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
        raise UsageError(
            say("There is no format {format}.", format=str(options.format)),
            say("Name one of {names}.", names=str(_names())),
        )
    report = load_report(options.report)
    if options.path:
        submission = msgspec.structs.replace(report.submission, name=options.path)
        report = msgspec.structs.replace(report, submission=submission)
    content = render_as(options.format, report, options.audience, clock(), options.language)
    _write(content, options.output, output)
    return report


def _names() -> str:
    return ", ".join(FORMATS)


def _write(content: bytes, path: Path | None, output: Callable[[bytes], object]) -> None:
    if path is None:
        output(content)
        return
    try:
        write_whole(path, content)
    except OSError as error:
        raise unwritable(path, error, say("the rendering")) from None
