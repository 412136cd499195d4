"""The commands and their arguments: each makes one call, and an exit code of what came out.

A command imports what it needs by itself: PyTorch takes seconds, and help needs none of it.
docs/commands.md lists the exit codes. `grader.cli.app` sets 2 for failures, and those of signals.
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
from grader.cli.objections import objections_app
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
from grader.cli.rubrics import rubric_app
from grader.cli.sync import sync_app
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Grade notebooks in which students compile neural networks with Apache TVM.

    Start with `grader doctor`: it checks this machine. Then grade a notebook with `run`, or a class
    with `batch`.
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
        Path, typer.Argument(metavar="NOTEBOOK", help="Notebook, script or Markdown file to grade.")
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
        float | None, points_option("Exit with 1 if the points shown are below POINTS.")
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
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="Report in JSON.")],
    name: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"Output format: {', '.join(FORMATS)}.")
    ] = "text",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file (default: standard output)."
        ),
    ] = None,
    audience: AudienceOption = "student",
    language: SpokenOption = None,
    path: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Path of the submission in its repository, for annotations."
        ),
    ] = "",
) -> None:
    """Convert a report into another format."""
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
            help="Notebooks, or folders that are searched for notebooks.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for the reports."),
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
        bool, typer.Option("--again", help="Grade everything again, also what has not changed.")
    ] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Also write each report as a page for the student.")
    ] = False,
    handed_in: HandedInOption = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=MACHINES,
            help="Grade on the workers of this Dask scheduler instead of this machine.",
        ),
    ] = None,
    same_machine_type: Annotated[
        bool,
        typer.Option(
            "--same-machine-type",
            rich_help_panel=MACHINES,
            help="With --cluster: use only workers of the most common machine type.",
        ),
    ] = False,
    insecure: InsecureOption = False,
    fail_under: Annotated[
        float | None,
        points_option("Exit with 1 if the points shown for a submission are below POINTS."),
    ] = None,
) -> None:
    """Grade many notebooks and print a table.

    Reports that are up to date are kept, so the same command continues after an interruption.
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
        bool,
        typer.Option("--timing", help="Test whether this machine can time schedules reliably."),
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check what this machine offers for grading, and what is missing."""
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
        typer.Option(metavar="CODE", help="Language, such as zh (default: all of the master)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Output folder (default: `templates`)."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a template is stale.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Generate students' notebooks from master notebooks."""

    from grader.cli.course_files import TemplateOptions, run_template

    options = TemplateOptions(slug, lang, output, check, course)
    if not run_template(options, Console(emoji=False), Console(stderr=True, emoji=False)) and check:
        raise typer.Exit(STALE)


@app.command(
    cls=CommandWithExamples, rich_help_panel=_AUTHOR, epilog="grader lint softmax --course mycourse"
)
def lint(slug: SlugArgument = None, course: CourseOption = None) -> None:
    """Report faults in assignments and masters; exit with 1 if there is an error."""
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
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder.")],
    secret: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an archive of the complete course to FILE."),
    ] = None,
    course: CourseOption = None,
    install: Annotated[
        Path | None,
        typer.Option(
            metavar="WHEEL", help="Wheel of grader for students (default: the one in use)."
        ),
    ] = None,
) -> None:
    """Write a course for students, without solutions and hidden parts."""
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
        Path, typer.Argument(metavar="OLD", help="Notebook, Python script or Markdown file.")
    ],
    new: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="NEW", help="Output file (default: nothing is written)."
        ),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print a diff.")] = False,
) -> None:
    """Rewrite code for an older TVM in current spelling, cell by cell.

    Exits with 1 if something was left unchanged.
    """
    from grader.cli.migrate import MigrateOptions, run_migrate

    if not run_migrate(
        MigrateOptions(old, new, diff), Console(emoji=False), Console(stderr=True, emoji=False)
    ):
        raise typer.Exit(LEFT)


app.add_typer(sync_app, name="sync", rich_help_panel=_GRADE)
app.add_typer(course_app, name="course", rich_help_panel=_KEEP)
app.add_typer(roster_app, name="roster", rich_help_panel=_KEEP)
app.add_typer(grades_app, name="grades", rich_help_panel=_KEEP)
app.add_typer(objections_app, name="objections", rich_help_panel=_KEEP)
app.add_typer(rubric_app, name="rubric", rich_help_panel=_AUTHOR)
app.add_typer(cluster_app, name="cluster", rich_help_panel=_SET_UP)
app.add_typer(ci, name="ci", rich_help_panel=_SET_UP)
app.add_typer(kernelspec, name="kernelspec", rich_help_panel=_SET_UP)
