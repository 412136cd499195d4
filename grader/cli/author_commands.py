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
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="The new assignment's name.")],
    lang: Annotated[
        str, typer.Option(metavar="CODES", help="Languages of its texts, English always.")
    ] = "en,zh,ko",
    course: CourseOption = None,
) -> None:
    """Begin an assignment: a small one that is complete, to be changed."""
    from grader.cli.course_files import run_new

    run_new(slug, course, lang, Console(emoji=False))


def untranslate(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Which assignment.")],
    language: Annotated[str, typer.Argument(metavar="CODE", help="A language, such as zh.")],
    course: CourseOption = None,
) -> None:
    """Delete an assignment's translation: from its master, its titles and its templates."""
    from grader.cli.course_files import run_untranslate

    run_untranslate(slug, language, course, Console(emoji=False))


def preview(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Which assignment.")],
    timed: Annotated[
        bool, typer.Option("--timed", help="Measure speed, too, which takes longer.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Where; a free port if not given.")
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
    """Show an assignment while you write it, on a page of this machine, until Ctrl-C.

    Template, release and a graded mutant stand side by side, and are made anew when a file changes.
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
        typer.Argument(metavar="SLUG", help="Which assignment; all of the course if not given."),
    ] = None,
    course: CourseOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure no speed.")] = False,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was found as JSON to FILE.")
    ] = None,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Mutants at a time; one on every core by default."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what has not changed since the last time.")
    ] = False,
) -> None:
    """Say whether an assignment is sound.

    Its reference must get all points, the empty template none, and every mutant of the reference
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
