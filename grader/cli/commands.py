"""The commands and their arguments: each makes one call, and an exit code of what came out.

What a command needs is imported by it alone: PyTorch takes seconds, and help needs none. docs/commands.md
says what the codes mean. Here they are said where they arise, but for those that
`grader.cli.app` gives: 2 for what could not be done, and those of interruptions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from grader import __version__
from grader.cli.author_commands import add_author_commands
from grader.cli.ci import ci
from grader.cli.class_commands import add_class_commands
from grader.cli.cluster import InsecureOption
from grader.cli.cluster import cluster as cluster_app
from grader.cli.ending import write_output
from grader.cli.grades import HandedInOption, course_app, grades_app, roster_app
from grader.cli.kernelspec import kernelspec
from grader.cli.options import (
    SETTINGS,
    AssignmentOption,
    AudienceOption,
    CommandGroup,
    CommandWithExamples,
    CourseOption,
    DataOption,
    DialectOption,
    JobsOption,
    LanguageOption,
    PreambleOption,
    SandboxOption,
    SeedOption,
    SlugArgument,
    SpokenOption,
    points_option,
)
from grader.render.audience import utc_now
from grader.render.formats import FORMATS

if TYPE_CHECKING:
    from grader.cluster.jobs import ClusterOptions

app = typer.Typer(
    name="grader",
    cls=CommandGroup,
    context_settings=SETTINGS,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
BELOW, UNGRADED = 1, 2
STALE = FAULTY = LEFT = 1

MACHINES = "Many machines"
_GRADE, _KEEP, _AUTHOR, _SET_UP = "Grade", "Keep grades", "Make assignments", "Set up"


def _version(show: bool) -> None:
    if show:
        typer.echo(f"grader {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Grade notebooks in which students compile neural networks with Apache TVM.

    Begin with `grader doctor`, which says whether this machine can grade and what is missing. Then
    grade a notebook with `run`, or a class with `batch`.
    """


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_GRADE,
    epilog="""
    grader run hw.ipynb
    grader run hw.ipynb --assignment e2e-conv --html report.html
    """,
)
def run(
    notebook: Annotated[
        Path, typer.Argument(metavar="NOTEBOOK", help="The notebook, script or Markdown to grade.")
    ],
    assignment: AssignmentOption = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as JSON to FILE.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as a page to FILE.")
    ] = None,
    data: DataOption = None,
    seed: SeedOption = None,
    course: CourseOption = None,
    sandbox: SandboxOption = None,
    language: LanguageOption = None,
    dialect: DialectOption = "auto",
    preamble: PreambleOption = False,
    audience: AudienceOption = "student",
    fail_under: Annotated[
        float | None, points_option("Exit with 1 below so many of the points shown.")
    ] = None,
) -> None:
    """Grade one notebook and print its report."""
    from grader.sandbox.start import begin_kernels

    with begin_kernels() as launcher:  # it imports while this process does
        from grader.cli.run import RunOptions, run_submission
        from grader.grading.preparation import GradingOptions

        grading = GradingOptions(
            assignment, data, seed, course, sandbox, language, dialect, preamble
        )
        options = RunOptions(notebook, grading, json, audience, html)
        output, messages = Console(emoji=False), Console(stderr=True, emoji=False)
        report = run_submission(options, output, messages, launcher)
    if fail_under is not None and report.score < fail_under:
        raise typer.Exit(BELOW)


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_GRADE,
    epilog="""
    grader render report.json --format html -o report.html
    grader render report.json --format junit
    grader render report.json --lang ko
    """,
)
def render(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A report that was written as JSON.")
    ],
    name: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"One of {', '.join(FORMATS)}.")
    ] = "text",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where; printed if not given."),
    ] = None,
    audience: AudienceOption = "student",
    language: SpokenOption = None,
    path: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Where the submission is in its repository, for annotations."
        ),
    ] = "",
) -> None:
    """Make another rendering of a report."""
    from grader.cli.run import RenderOptions, run_render

    run_render(RenderOptions(report, name, output, audience, path, language), write_output)


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_GRADE,
    epilog="""
    grader batch submissions/ --output reports/ --assignment e2e-conv
    grader batch class/*/hw.ipynb -o reports/ --html
    """,
)
def batch(
    submissions: Annotated[
        list[Path],
        typer.Argument(
            metavar="SUBMISSION",
            help="Notebooks, and folders in which to look for notebooks.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where the reports are written, one for each."
        ),
    ],
    assignment: AssignmentOption = None,
    data: DataOption = None,
    seed: SeedOption = None,
    course: CourseOption = None,
    sandbox: SandboxOption = None,
    language: LanguageOption = None,
    dialect: DialectOption = "auto",
    preamble: PreambleOption = False,
    jobs: JobsOption = None,
    again: Annotated[
        bool, typer.Option("--again", help="Grade anew what was graded before.")
    ] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Write every report as a page too, for the student.")
    ] = False,
    handed_in: HandedInOption = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=MACHINES,
            help="Have the workers of this Dask scheduler grade, in place of this machine.",
        ),
    ] = None,
    same_machine_type: Annotated[
        bool,
        typer.Option(
            "--same-machine-type",
            rich_help_panel=MACHINES,
            help="With --cluster: only workers of the type of machine that most of them are.",
        ),
    ] = False,
    insecure: InsecureOption = False,
    fail_under: Annotated[
        float | None,
        points_option("Exit with 1 if one has fewer of the points that students are shown."),
    ] = None,
) -> None:
    """Grade many notebooks, and print an overview.

    What was graded before is kept, so the same command goes on after an interruption.
    """
    from grader.cli.batch import BatchOptions, is_below, run_batch
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(assignment, data, seed, course, sandbox, language, dialect, preamble)
    where = _cluster_options(cluster, insecure=insecure, alike=same_machine_type)
    options = BatchOptions(tuple(submissions), output, grading, jobs, again, html, handed_in, where)
    summary = run_batch(options, Console(emoji=False), Console(stderr=True, emoji=False))
    if summary.ungraded or summary.misplaced:
        raise typer.Exit(UNGRADED)
    if fail_under is not None and is_below(options, summary, fail_under, utc_now()):
        raise typer.Exit(BELOW)


def _cluster_options(address: str | None, *, insecure: bool, alike: bool) -> ClusterOptions | None:
    """Return what was asked of a cluster, None without one."""
    if address is None:
        return None
    from grader.cluster.jobs import ClusterOptions

    return ClusterOptions(address, insecure, alike)


add_class_commands(app, _GRADE, _KEEP)


add_author_commands(app, _AUTHOR)


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_SET_UP,
    epilog="""
    grader doctor
    grader doctor --timing
    """,
)
def doctor(
    timing: Annotated[
        bool, typer.Option("--timing", help="Say whether times of schedules can be trusted here.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Say what this machine offers for grading, and what is missing."""
    from grader.cli.doctor import examine
    from grader.cli.doctor_timing import examine_timing, self_test_of

    console = Console(emoji=False)
    can_grade = examine(console)
    can_time = not timing or (
        can_grade and examine_timing(console, course, self_test=self_test_of(course))
    )
    if not (can_grade and can_time):
        raise typer.Exit(UNGRADED)


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_AUTHOR,
    epilog="""
    grader template softmax
    grader template --check
    """,
)
def template(
    slug: SlugArgument = None,
    lang: Annotated[
        str | None,
        typer.Option(
            metavar="CODE", help="A language, such as zh; all of the master if not given."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where; `templates` if not given."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 when one is stale.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Make the notebooks that students start from, out of the master notebooks."""

    from grader.cli.course_files import TemplateOptions, run_template

    options = TemplateOptions(slug, lang, output, check, course)
    if not run_template(options, Console(emoji=False), Console(stderr=True, emoji=False)) and check:
        raise typer.Exit(STALE)


@app.command(
    cls=CommandWithExamples, rich_help_panel=_AUTHOR, epilog="grader lint softmax --course mycourse"
)
def lint(slug: SlugArgument = None, course: CourseOption = None) -> None:
    """List what is wrong with assignments and masters; exit with 1 when there is an error."""
    from grader.cli.verify import LintOptions, run_lint

    if not run_lint(
        LintOptions(slug, course), Console(emoji=False), Console(stderr=True, emoji=False)
    ):
        raise typer.Exit(FAULTY)


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_AUTHOR,
    epilog="grader release public --secret course.tar.gz",
)
def release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the release is written.")],
    secret: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the complete course to FILE, as an archive."),
    ] = None,
    course: CourseOption = None,
    install: Annotated[
        Path | None,
        typer.Option(metavar="WHEEL", help="The grader's wheel for students; else its own."),
    ] = None,
) -> None:
    """Write what students may have of a course: no solutions, no hidden parts."""
    from grader.cli.course_files import ReleaseOptions, run_release

    run_release(ReleaseOptions(folder, secret, course, install), Console(emoji=False))


@app.command(
    cls=CommandWithExamples,
    rich_help_panel=_SET_UP,
    epilog="""
    grader migrate old.ipynb --diff
    grader migrate old.ipynb -o new.ipynb
    """,
)
def migrate(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="A notebook, a Python script or Markdown.")
    ],
    new: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="NEW", help="Where; nothing is written if not given."
        ),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the differences.")] = False,
) -> None:
    """Rewrite code for an older TVM into today's spelling, cell by cell.

    Exits with 1 when something had to be left as it was.
    """
    from grader.cli.migrate import MigrateOptions, run_migrate

    if not run_migrate(
        MigrateOptions(old, new, diff), Console(emoji=False), Console(stderr=True, emoji=False)
    ):
        raise typer.Exit(LEFT)


app.add_typer(course_app, name="course", rich_help_panel=_KEEP)
app.add_typer(roster_app, name="roster", rich_help_panel=_KEEP)
app.add_typer(grades_app, name="grades", rich_help_panel=_KEEP)
app.add_typer(cluster_app, name="cluster", rich_help_panel=_SET_UP)
app.add_typer(ci, name="ci", rich_help_panel=_SET_UP)
app.add_typer(kernelspec, name="kernelspec", rich_help_panel=_SET_UP)
