"""`grader run`: grade one notebook; `grader render`: show its report once more, in any format."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

import msgspec
from rich.console import Console

from grader.api import grade_file, load_report
from grader.cli.ending import OutputError, command_language
from grader.cli.options import Language
from grader.cli.telling import LiveProgress
from grader.environment import describe_environment
from grader.errors import GraderError, UsageError
from grader.files import REPORT, rescue, try_place, write_or_rescue, write_whole, writing
from grader.grading.preparation import GradingOptions
from grader.language import join, say
from grader.reading.submission import LINK_HINT, absolute, link_on_the_way
from grader.render.audience import Audience, shown
from grader.render.formats import FORMATS, render_as
from grader.render.terminal import render
from grader.report import Report, encode_report, ungraded_report, utc_now
from grader.sandbox.start import Launcher


class ReportFiles(NamedTuple):
    """Where the report of a notebook is to be written: as JSON, as a page, both or nowhere."""

    notebook: Path
    json: Path | None = None
    html: Path | None = None

    @property
    def asked(self) -> tuple[Path, ...]:
        """The files that were asked for."""
        return tuple(path for path in (self.json, self.html) if path is not None)

    def try_places(self) -> None:
        """Refuse at once what could not be written after minutes of work. Raises UsageError."""
        for path, what in ((self.json, REPORT), (self.html, say("the-page"))):
            if path is not None and realpath(path) == realpath(self.notebook):
                raise UsageError(
                    say("itself-graded", path=str(path)), say("name-another-file-write")
                )
            if path is not None:
                _refuse_link(path, self.notebook)
            try_place(path, what)

    def write(self, report: Report, seen: Report) -> None:
        """Write what was asked for: all of the report as JSON, what is `seen` of it as a page."""
        if self.json is not None:
            write_or_rescue(self.json, encode_report(report))
        if self.html is not None:
            from grader.render.html import render_html  # not needed to grade, and slow

            write_or_rescue(self.html, render_html(seen), say("the-page"))

    def write_refusal(self, error: GraderError) -> None:
        """Write a report that says why nothing could be graded. Raises UsageError that says so."""
        note = join(error.message, error.hint)
        ungraded = ungraded_report(self.notebook.name, note, describe_environment())
        try:
            self.write(ungraded, ungraded)
        except UsageError as unwritten:
            raise UsageError(error.message, join(error.hint, unwritten.message)) from None

    def print_beside(
        self, report: Report, seen: Report, output: Console, *, is_written: bool
    ) -> None:
        """Print the report. Raises OutputError that says where it is kept."""
        try:
            render(seen, output)
            as_json, as_page = say("report-as-json"), say("report-as-page")
            for told, path in ((as_json, self.json), (as_page, self.html)):
                if path is not None and is_written:
                    words = f"{told.in_(command_language())} {path}"
                    output.print(words, markup=False, highlight=False)
        except OutputError as error:
            if self.json is not None and is_written:
                raise
            kept = rescue(encode_report(report), ".json")
            raise OutputError(error.message, join(say("report-not-lost"), kept)) from None


def run_submission(
    files: ReportFiles,
    grading: GradingOptions,
    audience: Audience,
    output: Console,
    messages: Console,
    launcher: Launcher | None,
    clock: Callable[[], datetime] = utc_now,
) -> Report:
    """Grade a notebook; print the report to `output` and progress to `messages`.

    `launcher` is to start its kernel; None where there is none yet.
    Returned, printed and on the page of `--html` is what the audience may see at the time that
    `clock` says. `--json` gets all of it. Both are written in every case: when nothing could be
    graded they say why. Raises GraderError then.
    """
    files.try_places()
    try:
        with LiveProgress(messages) as progress:
            report = grade_file(files.notebook, grading, files.asked, progress, launcher)
    except GraderError as error:
        files.write_refusal(error)
        raise
    seen, is_written = shown(report, audience, clock()), False
    try:  # first what is kept: nobody may be there to read what is printed
        files.write(report, seen)
        is_written = True
    finally:
        files.print_beside(report, seen, output, is_written=is_written)
    return seen


def _refuse_link(path: Path, notebook: Path) -> None:
    """Refuse a link that lies beside or below what was handed in, and may have been as well.

    Elsewhere a link is one's own: what it leads to is replaced. Raises UsageError.
    """
    working = Path.cwd()
    place, beside = absolute(path, working), absolute(notebook, working).parent
    if beside == Path("/") or not place.is_relative_to(beside):
        return
    with suppress(FileNotFoundError, NotADirectoryError):  # then there is none
        link = link_on_the_way(place, beside)
        if link is not None:
            raise UsageError(say("path-link", path=str(link.name)), LINK_HINT)


# `grader render`: a report that was written as JSON becomes any other rendering of it.


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
            say("there-no-format", format=options.format), say("name-one", names=", ".join(FORMATS))
        )
    report = load_report(options.report)
    if options.path:
        submission = msgspec.structs.replace(report.submission, name=options.path)
        report = msgspec.structs.replace(report, submission=submission)
    content = render_as(options.format, report, options.audience, clock(), options.language)
    if options.output is None:
        output(content)
        return report
    with writing(options.output, say("rendering")):
        write_whole(options.output, content)
    return report
