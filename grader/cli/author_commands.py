"""Commands for who makes assignments: begin one, check it, make templates and releases."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.options import (
    AUTHOR,
    Commands,
    CourseOption,
    DataOption,
    PageLanguageOption,
    SandboxOption,
    SeedOption,
    SlugArgument,
    argument,
    flag,
    option,
)

author_app = Commands(panel=AUTHOR)

BELOW, UNGRADED = 1, 2
STALE = FAULTY = 1


@author_app.command()
def new(
    slug: Annotated[str, argument("SLUG", "Name of the new assignment.")],
    lang: Annotated[
        str, option("CODES", "Languages of its texts; English is always included.")
    ] = "en,zh,ko",
    course: CourseOption = None,
) -> None:
    """Create a small, complete assignment to start from.

    Examples:
        grader new softmax --course mycourse
        grader new softmax --lang en,zh
    """
    from grader.cli.course_files import run_new

    run_new(slug, course, lang, Console(emoji=False))


@author_app.command()
def untranslate(
    slug: Annotated[str, argument("SLUG", "Assignment.")],
    language: Annotated[str, argument("CODE", "Language, such as zh.")],
    course: CourseOption = None,
) -> None:
    """Delete a translation from an assignment's master, titles and templates.

    Examples:
        grader untranslate softmax ko
    """
    from grader.cli.course_files import run_untranslate

    run_untranslate(slug, language, course, Console(emoji=False))


@author_app.command()
def preview(
    slug: Annotated[str, argument("SLUG", "Assignment.")],
    timed: Annotated[bool, flag("--timed", "Measure speed, too (slower).")] = False,
    port: Annotated[int, option("N", "Port (default: a free one).", min=0, max=65535)] = 0,
    language: PageLanguageOption = None,
    course: CourseOption = None,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
) -> None:
    """Preview an assignment in a browser while you write it; end with Ctrl-C.

    The page shows template, release and a graded mutant side by side, and follows every change of a
    file.

    Examples:
        grader preview softmax --course mycourse
    """
    from grader.environment import need_for_marking

    need_for_marking()
    from grader.cli.servers import run_preview
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(None, data, seed, course, sandbox)
    run_preview(slug, grading, port, language, Console(emoji=False), is_timed=timed)


@author_app.command()
def verify(
    assignment: Annotated[
        str | None, argument("SLUG", "Assignment (default: all of the course).")
    ] = None,
    course: CourseOption = None,
    quick: Annotated[bool, flag("--quick", "Skip measurements of speed.")] = False,
    json: Annotated[Path | None, option("FILE", "Write the findings as JSON to FILE.")] = None,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
    jobs: Annotated[
        int | None, option("N", "Mutants at a time (default: one for each core).", min=1)
    ] = None,
    everything: Annotated[bool, flag("--all", "Verify unchanged assignments, too.")] = False,
) -> None:
    """Verify that an assignment is sound.

    The reference must get all points, the empty template none, and every mutant of the reference
    must lose some.

    Examples:
        grader verify softmax --course mycourse
        grader verify --quick
    """
    from grader.authoring.verify_assignment import VerifyChoices
    from grader.cli.verify import run_verify
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(None, data, seed, course, sandbox)
    choices = VerifyChoices(not quick, jobs, everything)
    output, messages = Console(emoji=False), Console(stderr=True, emoji=False)
    found = run_verify(assignment, grading, choices, json, output, messages)
    if any(each.problems for each in found):
        raise typer.Exit(BELOW)
    if any(each.unmeasured for each in found):
        raise typer.Exit(UNGRADED)


@author_app.command()
def template(
    slug: SlugArgument = None,
    lang: Annotated[
        str | None, option("CODE", "Language, such as zh (default: all languages of the master).")
    ] = None,
    output: Annotated[
        Path | None, option("DIR", "Output folder (default: `templates`).", "--output", "-o")
    ] = None,
    check: Annotated[
        bool, flag("--check", "Write nothing; exit with 1 if a template is stale.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Generate students' notebooks from master notebooks.

    Examples:
        grader template softmax
        grader template --check
    """

    from grader.cli.course_files import TemplateOptions, run_template

    options = TemplateOptions(slug, lang, output, check, course)
    if not run_template(options, Console(emoji=False), Console(stderr=True, emoji=False)) and check:
        raise typer.Exit(STALE)


@author_app.command()
def lint(slug: SlugArgument = None, course: CourseOption = None) -> None:
    """Report faults in assignments and masters; exit with 1 if there is an error.

    Examples:
        grader lint softmax --course mycourse
    """
    from grader.cli.verify import run_lint

    if not run_lint(slug, course, Console(emoji=False), Console(stderr=True, emoji=False)):
        raise typer.Exit(FAULTY)


@author_app.command()
def release(
    folder: Annotated[Path, argument("DIR", "Output folder.")],
    secret: Annotated[
        Path | None, option("FILE", "Write an archive of the complete course to FILE.")
    ] = None,
    course: CourseOption = None,
    install: Annotated[
        Path | None, option("WHEEL", "Wheel of grader for students (default: the one in use).")
    ] = None,
) -> None:
    """Write a course for students, without solutions and hidden parts.

    Examples:
        grader release public --secret course.zip
    """
    from grader.cli.course_files import run_release

    run_release(folder, secret, course, install, Console(emoji=False))
