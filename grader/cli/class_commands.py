"""Commands for a whole class: what it hands in, and what goes back to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.ending import write_output
from grader.cli.grades import JsonOption
from grader.cli.options import (
    CommandWithExamples,
    CourseOption,
    DataOption,
    JobsOption,
    Language,
    SandboxOption,
    SeedOption,
    points_option,
)
from grader.lms.choices import FORMS, LAYOUTS, PACKED

NOT_ALL, UNGRADED = 1, 2


def add_class_commands(app: typer.Typer, panel: str, keeping: str) -> None:
    """Add these commands to a group, listed in panels of its help; `keeping` is the gradebook's."""
    commands = (
        (watch, _WATCH),
        (collect, _COLLECT),
        (mark, _MARK),
        (export, _EXPORT),
        (feedback, _FEEDBACK),
    )
    for function, epilog in commands:
        app.command(cls=CommandWithExamples, rich_help_panel=panel, epilog=epilog)(function)
    app.command(cls=CommandWithExamples, rich_help_panel=panel, epilog=_INSIGHTS)(insights)
    app.command(cls=CommandWithExamples, rich_help_panel=panel, epilog=_SIMILAR)(similar)
    app.command(cls=CommandWithExamples, rich_help_panel=panel, epilog=_LEADERBOARD)(leaderboard)
    app.command(cls=CommandWithExamples, rich_help_panel=keeping, epilog=_REGRADE)(regrade)


_WATCH = """
    grader watch reports
    grader watch reports --once --json
    """


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Output folder of `grader batch`.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Print the state once, and exit.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each update.")
    ] = False,
) -> None:
    """Watch a batch: what is running, done and failed, and how long the rest takes.

    It ends with the batch. For a finished batch it prints the result.
    """
    from grader.cli.batch import WatchOptions, run_watch

    run_watch(WatchOptions(folder, once, json), Console(emoji=False), write_output)


_COLLECT = """
    grader collect submissions.zip --output class
    grader collect hw.zip late.zip --output class --roster roster.csv
    """


def collect(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE", help="Archives from a learning management system, or folders."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Output folder; each student gets a folder in it."
        ),
    ],
    layout: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="NAME", help=f"Origin of the archive: {', '.join(LAYOUTS)}."
        ),
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Class roster, as exported by any of these systems."),
    ] = None,
    assignment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Assignment folder of nbgrader, if there are several."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help=(
                "Time zone of times without one, such as Europe/Berlin (default: this machine's)."
            ),
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=(
                "Encoding of file names in archives from Windows: gbk, cp949, cp932, ... "
                "(default: detected)."
            ),
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Unpack a class's submissions into a folder for each student."""
    from grader.cli.lms import CollectOptions, run_collect

    names = (layout, roster, assignment, json, timezone, encoding)
    options = CollectOptions(tuple(sources), output, *names)
    if not run_collect(options, Console(emoji=False), write_output):
        raise typer.Exit(NOT_ALL)


_MARK = """
    grader mark
    grader mark e2e-mlp --share 1/3 --by eve
    """


def mark(
    slug: Annotated[
        str | None,
        typer.Argument(
            metavar="SLUG", help="Assignment (default: the only one with parts to mark)."
        ),
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="Show students' names (default: numbers).")
    ] = False,
    share: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Your share: 1/3 of the answers, or a marker of course.toml."
        ),
    ] = None,
    twice: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="With --share: percentage of answers that two mark (default: as in course.toml).",
        ),
    ] = None,
    who: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Name of the marker (default: you).")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port (default: a free one).")
    ] = 0,
    language: Annotated[
        Language | None,
        typer.Option("--lang", metavar="CODE", help="Language of the page: en, zh or ko."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Mark answers by hand, in a browser; end with Ctrl-C.

    The page shows each answer to a manual part beside its rubric, and records the choice in the
    gradebook.
    """
    from grader.cli.gradebook import whoever
    from grader.environment import need_for_marking

    need_for_marking()
    from grader.cli.servers import MarkOptions, run_mark

    options = MarkOptions(slug, course, who or whoever(), not names, port, language, share, twice)
    run_mark(options, Console(emoji=False))


_EXPORT = """
    grader export csv --assignment e2e-mlp
    grader export canvas --assignment e2e-mlp --into canvas.csv --column hw
    """


def export(
    form: Annotated[str, typer.Argument(metavar="FORM", help=f"Format: {', '.join(FORMS)}.")],
    assignment: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Assignment in the gradebook.")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Reports of `grader batch`, instead of a gradebook."),
    ] = None,
    collected: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder of `grader collect`.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="File that the system exported; grades are filled in."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the assignment.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file (default: standard output)."
        ),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write grades in the format of a learning management system."""
    from grader.cli.lms import ExportOptions, run_export

    options = ExportOptions(form, reports, assignment, collected, into, column, output, course)
    if not run_export(options, Console(stderr=True, emoji=False), write_output):
        raise typer.Exit(NOT_ALL)


_FEEDBACK = """
    grader feedback --assignment e2e-mlp --output pages
    grader feedback --assignment e2e-mlp --collected class --zip moodle -o fb.zip
    grader feedback --reports reports --output pages
    """


def feedback(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="Output folder, or archive.")
    ],
    assignment: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Assignment in the gradebook.")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Reports of `grader batch`, instead of a gradebook."),
    ] = None,
    collected: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder of `grader collect`.")
    ] = None,
    packed: Annotated[
        str | None,
        typer.Option("--zip", metavar="NAME", help=f"Pack an archive for: {', '.join(PACKED)}."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write each student's page, or an archive to upload."""
    from grader.cli.lms import FeedbackOptions, run_feedback

    options = FeedbackOptions(output, reports, assignment, collected, packed, course)
    if not run_feedback(options, Console(stderr=True, emoji=False)):
        raise typer.Exit(NOT_ALL)


_INSIGHTS = """
    grader insights --output monday
    grader insights --assignment e2e-mlp --pass 50 --output monday
    grader insights --reports reports --output monday
    """

ClassSlugOption = Annotated[
    str | None, typer.Option("--assignment", metavar="SLUG", help="Assignment (default: all).")
]
ReportsOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Reports of `grader batch`, instead of a gradebook."),
]
CollectedOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Output folder of `grader collect`, for names.")
]
PageLanguageOption = Annotated[
    Language | None,
    typer.Option("--lang", metavar="CODE", help="Language of the page: en, zh or ko."),
]
NoPagesOption = Annotated[
    bool, typer.Option("--no-pages", help="Do not write student pages that are missing.")
]


def insights(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for SLUG.html, SLUG.json and SLUG.csv."
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    passing: Annotated[
        float | None,
        points_option("Pass mark; near misses are flagged.", "--pass"),
    ] = None,
    no_pages: NoPagesOption = False,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Summarise what the class got wrong: a page, JSON and CSV for each assignment.

    It counts mistakes, errors, checks, speed-ups and attempts, lists the students behind each
    number, and flags reports to review. It contains names: keep it from students.
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.insights import InsightsOptions, run_insights

    found = ClassOptions(assignment, reports, collected, course)
    run_insights(
        InsightsOptions(found, output, language, passing, not no_pages), Console(emoji=False)
    )


_SIMILAR = """
    grader similar --output alike
    grader similar --reports reports --given lecture.ipynb --output alike
    """


def similar(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for SLUG-similar.html and SLUG-similar.json.",
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    given: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Course material to ignore."),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            min=0.1, max=1.0, metavar="SHARE", help="Minimum similarity to report (default: 0.5)."
        ),
    ] = 0.5,
    no_pages: NoPagesOption = False,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Show similar submissions side by side, without given material.

    This is evidence for you to review, not a verdict: it changes no points and sends nothing.
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.comparing import SimilarOptions, run_similar

    found = ClassOptions(assignment, reports, collected, course)
    texts = tuple(given or ())
    run_similar(
        SimilarOptions(found, output, texts, least, language, not no_pages), Console(emoji=False)
    )


_LEADERBOARD = """
    grader leaderboard --consent consent.csv --output board
    grader leaderboard --consent consent.csv --machine EPYC --output board
    """


def leaderboard(
    consent: Annotated[
        Path,
        typer.Option(
            metavar="CSV",
            help=(
                "Students who opted in: columns student and name. An empty name is replaced by an"
                " invented one, also in the file."
            ),
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for SLUG-leaderboard.html, .md and .json."
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    machine: Annotated[
        str,
        typer.Option(metavar="WORDS", help="Kind of machine (default: the most common one)."),
    ] = "",
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Rank the schedules of students who opted in, under names of their choice.

    Each student's best attempt on one kind of machine counts. Overlapping intervals tie.
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.comparing import LeaderboardOptions, run_leaderboard

    found = ClassOptions(assignment, reports, None, course, every=True)
    options = LeaderboardOptions(found, output, consent, machine, language)
    run_leaderboard(options, Console(emoji=False))


_REGRADE = """
    grader regrade --changed
    grader regrade e2e-conv --changed --dry-run
    """


def regrade(
    slug: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="Assignment (default: all).")
    ] = None,
    changed: Annotated[
        bool,
        typer.Option("--changed", help="Only submissions whose result would change."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")
    ] = False,
    sure: Annotated[
        bool, typer.Option("--yes", help="Run everything again, without asking.")
    ] = False,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
    jobs: JobsOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Grade submissions in the gradebook again, and list the grades that changed.

    It first prints which submissions are run again, which are only recomputed, and which are kept.
    """
    from grader.cli.gradebook import CommandOutput
    from grader.cli.regrade import RegradeOptions, run_regrade
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(slug, data, seed, course, sandbox)
    options = RegradeOptions(grading, changed, dry_run, sure, jobs)
    if not run_regrade(options, CommandOutput(json), Console(stderr=True, emoji=False)):
        raise typer.Exit(UNGRADED)
