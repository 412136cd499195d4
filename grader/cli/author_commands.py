"""Commands for who makes assignments: begin one, take a language out of it, verify it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.options import (
    CommandWithExamples,
    CourseOption,
    DataOption,
    Language,
    SandboxOption,
    SeedOption,
)

BELOW, UNGRADED = 1, 2


def add_author_commands(app: typer.Typer, panel: str) -> None:
    """Add these commands to a group, listed in a panel of its help."""
    commands = ((new, _NEW), (untranslate, _UNTRANSLATE), (preview, _PREVIEW), (verify, _VERIFY))
    for function, epilog in commands:
        app.command(cls=CommandWithExamples, rich_help_panel=panel, epilog=epilog)(function)


_NEW = """
    grader new softmax --course mycourse
    grader new softmax --lang en,zh
    """
_UNTRANSLATE = "grader untranslate softmax ko"
_PREVIEW = "grader preview softmax --course mycourse"
_VERIFY = """
    grader verify softmax --course mycourse
    grader verify --quick
    """


def new(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Name of the new assignment.")],
    lang: Annotated[
        str,
        typer.Option(metavar="CODES", help="Languages of its texts; English is always included."),
    ] = "en,zh,ko",
    course: CourseOption = None,
) -> None:
    """Create a small, complete assignment to start from."""
    from grader.cli.course_files import run_new

    run_new(slug, course, lang, Console(emoji=False))


def untranslate(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Assignment.")],
    language: Annotated[str, typer.Argument(metavar="CODE", help="Language, such as zh.")],
    course: CourseOption = None,
) -> None:
    """Delete a translation from an assignment's master, titles and templates."""
    from grader.cli.course_files import run_untranslate

    run_untranslate(slug, language, course, Console(emoji=False))


def preview(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Assignment.")],
    timed: Annotated[bool, typer.Option("--timed", help="Measure speed, too (slower).")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port (default: a free one).")
    ] = 0,
    language: Annotated[
        Language | None,
        typer.Option("--lang", metavar="CODE", help="Language of the page: en, zh or ko."),
    ] = None,
    course: CourseOption = None,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
) -> None:
    """Preview an assignment in a browser while you write it; end with Ctrl-C.

    The page shows template, release and a graded mutant side by side, and follows every change of a
    file.
    """
    from grader.environment import need_for_marking

    need_for_marking()
    from grader.cli.servers import PreviewOptions, run_preview
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(None, data, seed, course, sandbox)
    run_preview(PreviewOptions(slug, grading, port, timed, language), Console(emoji=False))


def verify(
    assignment: Annotated[
        str | None,
        typer.Argument(metavar="SLUG", help="Assignment (default: all of the course)."),
    ] = None,
    course: CourseOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Skip measurements of speed.")] = False,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the findings as JSON to FILE.")
    ] = None,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Mutants at a time (default: one for each core)."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Verify unchanged assignments, too.")
    ] = False,
) -> None:
    """Verify that an assignment is sound.

    The reference must get all points, the empty template none, and every mutant of the reference
    must lose some.
    """
    from grader.cli.verify import VerifyOptions, run_verify
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(None, data, seed, course, sandbox)
    options = VerifyOptions(assignment, grading, quick, json, jobs, everything)
    found = run_verify(options, Console(emoji=False), Console(stderr=True, emoji=False))
    if any(each.problems for each in found):
        raise typer.Exit(BELOW)
    if any(each.unmeasured for each in found):
        raise typer.Exit(UNGRADED)
