"""Commands for a whole class: what it hands in, and what goes back to it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.ending import write_output
from grader.cli.grades import JsonOption
from grader.cli.options import (
    GRADE,
    KEEP,
    Commands,
    CourseOption,
    DataOption,
    JobsOption,
    PageLanguageOption,
    SandboxOption,
    SeedOption,
    argument,
    flag,
    option,
    points_option,
)
from grader.cli.telling import CommandOutput
from grader.lms.choices import FORMS, LAYOUTS, PACKED

NOT_ALL, UNGRADED = 1, 2

ClassSlugOption = Annotated[
    str | None, option("SLUG", "Assignment (default: all).", "--assignment")
]
BookSlugOption = Annotated[
    str | None,
    option("SLUG", "Assignment in the gradebook (default: the only one with submissions)."),
]
ReportsOption = Annotated[
    Path | None, option("DIR", "Reports of `grader batch`, instead of a gradebook.")
]
CollectedOption = Annotated[Path | None, option("DIR", "Output folder of `grader collect`.")]
NamesOption = Annotated[Path | None, option("DIR", "Output folder of `grader collect`, for names.")]
NoPagesOption = Annotated[bool, flag("--no-pages", "Do not create missing student pages.")]


class_app = Commands(panel=GRADE)


@class_app.command()
def watch(
    folder: Annotated[Path, argument("FOLDER", "Output folder of `grader batch`.")],
    once: Annotated[bool, flag("--once", "Print the state once, and exit.")] = False,
    json: Annotated[bool, flag("--json", "Print a line of JSON for each update.")] = False,
) -> None:
    """Watch a batch: what is running, done and failed, and how long the rest takes.

    It ends with the batch. For a finished batch it prints the result.

    Examples:
        grader watch reports
        grader watch reports --once --json
    """
    from grader.cli.batch import run_watch

    run_watch(folder, Console(emoji=False), write_output, once=once, json=json)


@class_app.command()
def collect(
    sources: Annotated[
        list[Path], argument("SOURCE", "Archives from a learning management system, or folders.")
    ],
    output: Annotated[
        Path, option("DIR", "Output folder; each student gets a folder in it.", "--output", "-o")
    ],
    layout: Annotated[
        str | None, option("NAME", f"Origin of the archive: {', '.join(LAYOUTS)}.", "--from")
    ] = None,
    roster: Annotated[
        Path | None, option("CSV", "Class roster, as exported by any of these systems.")
    ] = None,
    assignment: Annotated[
        str | None, option("NAME", "Assignment folder of nbgrader, if there are several.")
    ] = None,
    timezone: Annotated[
        str | None,
        option(
            "ZONE",
            "Time zone of times without one, such as Europe/Berlin (default: this machine's).",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        option(
            "NAME",
            "Encoding of file names in archives from Windows: gbk, cp949, cp932, ... "
            "(default: detected).",
        ),
    ] = None,
    json: Annotated[bool, flag("--json", "Print the result as JSON.")] = False,
) -> None:
    """Unpack a class's submissions into a folder for each student.

    Examples:
        grader collect submissions.zip --output class
        grader collect hw.zip late.zip --output class --roster roster.csv
    """
    from grader.cli.lms import CollectOptions, run_collect

    names = (layout, roster, assignment, json, timezone, encoding)
    options = CollectOptions(tuple(sources), output, *names)
    if not run_collect(options, Console(emoji=False), write_output):
        raise typer.Exit(NOT_ALL)


@class_app.command()
def mark(
    slug: Annotated[
        str | None, argument("SLUG", "Assignment (default: the only one with parts to mark).")
    ] = None,
    names: Annotated[bool, flag("--names", "Show students' names (default: numbers).")] = False,
    share: Annotated[
        str | None, option("SHARE", "Your share: 1/3 of the answers, or a marker in course.toml.")
    ] = None,
    twice: Annotated[
        float | None,
        option(
            "PERCENT",
            "With --share: percentage of answers marked twice (default: as in course.toml).",
            min=0,
            max=100,
        ),
    ] = None,
    who: Annotated[
        str | None, option("NAME", "Name of the marker (default: your user name).", "--by")
    ] = None,
    port: Annotated[int, option("N", "Port (default: a free one).", min=0, max=65535)] = 0,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Mark answers by hand, in a browser; end with Ctrl-C.

    The page shows each answer to a manual part beside its rubric, and records the choice in the
    gradebook.

    Examples:
        grader mark
        grader mark e2e-mlp --share 1/3 --by eve
    """
    from grader.cli.gradebook import whoever
    from grader.environment import need_for_marking

    need_for_marking()
    from grader.cli.servers import MarkOptions, run_mark

    options = MarkOptions(slug, course, who or whoever(), not names, port, language, share, twice)
    run_mark(options, Console(emoji=False))


@class_app.command()
def export(
    form: Annotated[str, argument("FORM", f"Format: {', '.join(FORMS)}.")],
    assignment: BookSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    into: Annotated[
        Path | None, option("CSV", "File that the system exported; grades are filled in.")
    ] = None,
    column: Annotated[str | None, option("NAME", "Column of the assignment.")] = None,
    output: Annotated[
        Path | None, option("FILE", "Output file (default: standard output).", "--output", "-o")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write grades in the format of a learning management system.

    Examples:
        grader export csv --assignment e2e-mlp
        grader export canvas --assignment e2e-mlp --into canvas.csv --column hw
    """
    from grader.cli.lms import ExportOptions, run_export

    options = ExportOptions(form, reports, assignment, collected, into, column, output, course)
    if not run_export(options, Console(stderr=True, emoji=False), write_output):
        raise typer.Exit(NOT_ALL)


@class_app.command()
def feedback(
    output: Annotated[Path, option("PATH", "Output folder, or archive.", "--output", "-o")],
    assignment: BookSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    packed: Annotated[
        str | None, option("NAME", f"Pack an archive for: {', '.join(PACKED)}.", "--zip")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write each student's page, or an archive to upload.

    Examples:
        grader feedback --assignment e2e-mlp --output pages
        grader feedback --assignment e2e-mlp --collected class --zip moodle -o fb.zip
        grader feedback --reports reports --output pages
    """
    from grader.cli.lms import FeedbackOptions, run_feedback

    options = FeedbackOptions(output, reports, assignment, collected, packed, course)
    if not run_feedback(options, Console(stderr=True, emoji=False)):
        raise typer.Exit(NOT_ALL)


@class_app.command()
def insights(
    output: Annotated[
        Path, option("DIR", "Folder for SLUG.html, SLUG.json and SLUG.csv.", "--output", "-o")
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: NamesOption = None,
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

    Examples:
        grader insights --output monday
        grader insights --assignment e2e-mlp --pass 50 --output monday
        grader insights --reports reports --output monday
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.insights import run_insights

    found = ClassOptions(assignment, reports, collected, course)
    run_insights(found, output, Console(emoji=False), language, passing, pages=not no_pages)


@class_app.command()
def similar(
    output: Annotated[
        Path, option("DIR", "Folder for SLUG-similar.html and SLUG-similar.json.", "--output", "-o")
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: NamesOption = None,
    given: Annotated[list[Path] | None, option("FILE", "Course material to ignore.")] = None,
    least: Annotated[
        float,
        option("SHARE", "Minimum similarity to report (default: 0.5).", min=0.1, max=1.0),
    ] = 0.5,
    no_pages: NoPagesOption = False,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Show similar submissions side by side, without given material.

    This is evidence for you to review, not a verdict: it changes no points and sends nothing.

    Examples:
        grader similar --output alike
        grader similar --reports reports --given lecture.ipynb --output alike
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.comparing import SimilarOptions, run_similar

    found = ClassOptions(assignment, reports, collected, course)
    texts = tuple(given or ())
    run_similar(
        SimilarOptions(found, output, texts, least, language, not no_pages), Console(emoji=False)
    )


@class_app.command()
def leaderboard(
    consent: Annotated[
        Path,
        option(
            "CSV",
            "Students who opted in: columns student and name. An empty name is replaced by an"
            " invented one, also in the file.",
        ),
    ],
    output: Annotated[
        Path, option("DIR", "Folder for SLUG-leaderboard.html, .md and .json.", "--output", "-o")
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    machine: Annotated[
        str, option("WORDS", "Kind of machine (default: the most common one).")
    ] = "",
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Rank the schedules of students who opted in, under names of their choice.

    Each student's best attempt on one kind of machine counts. Overlapping intervals tie.

    Examples:
        grader leaderboard --consent consent.csv --output board
        grader leaderboard --consent consent.csv --machine EPYC --output board
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.comparing import run_leaderboard

    found = ClassOptions(assignment, reports, None, course, every=True)
    run_leaderboard(found, output, consent, Console(emoji=False), machine, language)


@class_app.command(rich_help_panel=KEEP)
def regrade(
    slug: Annotated[str | None, argument("SLUG", "Assignment (default: all).")] = None,
    changed: Annotated[
        bool, flag("--changed", "Only submissions whose result would change.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Print what would be done, and do nothing.")
    ] = False,
    sure: Annotated[
        bool, flag("--yes", "Run everything again, unchanged submissions too.")
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

    Examples:
        grader regrade --changed
        grader regrade e2e-conv --changed --dry-run
    """
    from grader.cli.regrade import RegradeOptions, run_regrade
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(slug, data, seed, course, sandbox)
    options = RegradeOptions(grading, changed, dry_run, sure, jobs)
    if not run_regrade(options, CommandOutput(json), Console(stderr=True, emoji=False)):
        raise typer.Exit(UNGRADED)
