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
from grader.cli.author_commands import author_app
from grader.cli.ci import ci
from grader.cli.class_commands import class_app
from grader.cli.cluster import InsecureOption
from grader.cli.cluster import cluster as cluster_app
from grader.cli.ending import write_output
from grader.cli.grades import HandedInOption, course_app, grades_app, roster_app
from grader.cli.kernelspec import kernelspec
from grader.cli.objections import objections_app
from grader.cli.options import (
    AUTHOR,
    GRADE,
    KEEP,
    SET_UP,
    AssignmentOption,
    AudienceOption,
    Commands,
    CourseOption,
    DataOption,
    DialectOption,
    JobsOption,
    LanguageOption,
    PreambleOption,
    SandboxOption,
    SeedOption,
    SpokenOption,
    argument,
    flag,
    option,
    points_option,
)
from grader.cli.rubrics import rubric_app
from grader.cli.sync import sync_app
from grader.render.formats import FORMATS
from grader.report import utc_now

if TYPE_CHECKING:
    from grader.cluster.jobs import ClusterOptions

app = Commands(name="grader", rich_markup_mode=None, pretty_exceptions_enable=False)
grade_app, set_up_app = Commands(panel=GRADE), Commands(panel=SET_UP)

BELOW, UNGRADED = 1, 2
LEFT = 1

MACHINES = "Many machines"


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


@grade_app.command()
def run(
    notebook: Annotated[Path, argument("NOTEBOOK", "Notebook, script or Markdown file to grade.")],
    assignment: AssignmentOption = None,
    json: Annotated[Path | None, option("FILE", "Write the report as JSON to FILE.")] = None,
    html: Annotated[Path | None, option("FILE", "Write the report as a page to FILE.")] = None,
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
    """Grade one notebook and print its report.

    Examples:
        grader run hw.ipynb
        grader run hw.ipynb --assignment e2e-conv --html report.html
    """
    from grader.sandbox.start import begin_kernels

    with begin_kernels() as launcher:  # it imports while this process does
        from grader.cli.run import ReportFiles, run_submission
        from grader.grading.preparation import GradingOptions

        grading = GradingOptions(
            assignment, data, seed, course, sandbox, language, dialect, preamble
        )
        files = ReportFiles(notebook, json, html)
        output, messages = Console(emoji=False), Console(stderr=True, emoji=False)
        report = run_submission(files, grading, audience, output, messages, launcher)
    if fail_under is not None and report.score < fail_under:
        raise typer.Exit(BELOW)


@grade_app.command()
def render(
    report: Annotated[Path, argument("REPORT", "Report in JSON.")],
    name: Annotated[
        str, option("NAME", f"Output format: {', '.join(FORMATS)}.", "--format")
    ] = "text",
    output: Annotated[
        Path | None, option("FILE", "Output file (default: standard output).", "--output", "-o")
    ] = None,
    audience: AudienceOption = "student",
    language: SpokenOption = None,
    path: Annotated[
        str, option("PATH", "Path of the submission in its repository, for annotations.")
    ] = "",
) -> None:
    """Convert a report into another format.

    Examples:
        grader render report.json --format html -o report.html
        grader render report.json --format junit
        grader render report.json --lang ko
    """
    from grader.cli.run import RenderOptions, run_render

    run_render(RenderOptions(report, name, output, audience, path, language), write_output)


@grade_app.command()
def batch(
    submissions: Annotated[
        list[Path], argument("SUBMISSION", "Notebooks, or folders that are searched for notebooks.")
    ],
    output: Annotated[Path, option("DIR", "Folder for the reports.", "--output", "-o")],
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
        bool, flag("--again", "Grade everything again, unchanged submissions too.")
    ] = False,
    html: Annotated[
        bool, flag("--html", "Also write each report as a page for the student.")
    ] = False,
    handed_in: HandedInOption = None,
    cluster: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Grade on the workers of this Dask scheduler instead of this machine.",
            rich_help_panel=MACHINES,
        ),
    ] = None,
    same_machine_type: Annotated[
        bool,
        flag(
            "--same-machine-type",
            "With --cluster: use only workers of the most common machine type.",
            rich_help_panel=MACHINES,
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

    Examples:
        grader batch submissions/ --output reports/ --assignment e2e-conv
        grader batch class/*/hw.ipynb -o reports/ --html
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
    if address is None:
        return None
    from grader.cluster.jobs import ClusterOptions

    return ClusterOptions(address, insecure, alike)


@set_up_app.command()
def doctor(
    timing: Annotated[
        bool, flag("--timing", "Test whether this machine can time schedules reliably.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Check what this machine offers for grading, and what is missing.

    Examples:
        grader doctor
        grader doctor --timing
    """
    from grader.cli.doctor import examine
    from grader.cli.doctor_timing import examine_timing, self_test_of
    from grader.cli.telling import LiveProgress

    console, messages = Console(emoji=False), Console(stderr=True, emoji=False)
    # on a terminal by the same console, which draws its lines above the progress
    with LiveProgress(console if console.is_terminal else messages) as progress:
        can_grade = examine(console, progress)
        can_time = not timing or (
            can_grade and examine_timing(console, progress, course, self_test=self_test_of(course))
        )
    if not (can_grade and can_time):
        raise typer.Exit(UNGRADED)


@set_up_app.command()
def migrate(
    old: Annotated[Path, argument("OLD", "Notebook, Python script or Markdown file.")],
    new: Annotated[
        Path | None, option("NEW", "Output file (default: nothing is written).", "--output", "-o")
    ] = None,
    diff: Annotated[bool, flag("--diff", "Print a diff.")] = False,
) -> None:
    """Rewrite code for an older TVM in current spelling, cell by cell.

    Exits with 1 if old code is left that it cannot rewrite.

    Examples:
        grader migrate old.ipynb --diff
        grader migrate old.ipynb -o new.ipynb
    """
    from grader.cli.migrate import run_migrate

    output, messages = Console(emoji=False), Console(stderr=True, emoji=False)
    if not run_migrate(old, new, output, messages, diff=diff):
        raise typer.Exit(LEFT)


for each in (grade_app, class_app, author_app, set_up_app):
    app.add_typer(each)
app.add_typer(sync_app, name="sync", rich_help_panel=GRADE)
app.add_typer(course_app, name="course", rich_help_panel=KEEP)
app.add_typer(roster_app, name="roster", rich_help_panel=KEEP)
app.add_typer(grades_app, name="grades", rich_help_panel=KEEP)
app.add_typer(objections_app, name="objections", rich_help_panel=KEEP)
app.add_typer(rubric_app, name="rubric", rich_help_panel=AUTHOR)
app.add_typer(cluster_app, name="cluster", rich_help_panel=SET_UP)
app.add_typer(ci, name="ci", rich_help_panel=SET_UP)
app.add_typer(kernelspec, name="kernelspec", rich_help_panel=SET_UP)
