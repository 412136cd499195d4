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
        Path, typer.Argument(metavar="FOLDER", help="Where a `grader batch` writes its reports.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Say how it stands, and end.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON each time it is looked at.")
    ] = False,
) -> None:
    """Watch a batch: what is graded now, what is done, what failed, how long the rest takes.

    It ends with the batch. Of one that has ended it says how.
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
            metavar="SOURCE", help="Archives of a learning management system, or folders."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where a folder for each is made.")
    ],
    layout: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help=f"Whose it is: {', '.join(LAYOUTS)}."),
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Who is in the class, as any of them has it.")
    ] = None,
    assignment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which folder of nbgrader's, if several.")
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Zone of times that name none, such as Europe/Berlin (default: this machine's).",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoding of names in an archive of Windows: gbk, cp949, cp932 or another"
            " (default: found from all names).",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Unpack what a class handed in, into a folder for each student."""
    from grader.cli.lms import CollectOptions, run_collect

    names = (layout, roster, assignment, json, timezone, encoding)
    options = CollectOptions(tuple(sources), output, *names)
    if not run_collect(options, Console(emoji=False), write_output):
        raise typer.Exit(NOT_ALL)


_MARK = """
    grader mark
    grader mark e2e-mlp --anonymous --by eve
    """


def mark(
    slug: Annotated[
        str | None,
        typer.Argument(metavar="SLUG", help="Which assignment; the only one with such parts."),
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Show numbers in place of students.")
    ] = False,
    who: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who marks; you, if not given.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Where; a free port if not given.")
    ] = 0,
    language: Annotated[
        Language | None,
        typer.Option("--lang", metavar="CODE", help="Language of the page: en, zh or ko."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Mark by hand what no check decides, on a page of this machine, until Ctrl-C.

    It shows the answers to parts of kind manual one by one beside their rubric, and writes what is
    chosen into the gradebook.
    """
    from grader.cli.gradebook import whoever
    from grader.environment import need_for_marking

    need_for_marking()
    from grader.cli.servers import MarkOptions, run_mark

    options = MarkOptions(slug, course, who or whoever(), anonymous, port, language)
    run_mark(options, Console(emoji=False))


_EXPORT = """
    grader export csv --assignment e2e-mlp
    grader export canvas --assignment e2e-mlp --into canvas.csv --column hw
    """


def export(
    form: Annotated[str, typer.Argument(metavar="FORM", help=f"One of {', '.join(FORMS)}.")],
    assignment: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Which assignment of the gradebook.")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Reports of `grader batch`, in place of a gradebook."),
    ] = None,
    collected: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of `grader collect`.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="The file that the system has exported."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The assignment in its gradebook.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where; printed if not given."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write the grades as a learning management system takes them."""
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
        Path, typer.Option("--output", "-o", metavar="PATH", help="A folder, or the archive.")
    ],
    assignment: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Which assignment of the gradebook.")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Reports of `grader batch`, in place of a gradebook."),
    ] = None,
    collected: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of `grader collect`.")
    ] = None,
    packed: Annotated[
        str | None, typer.Option("--zip", metavar="NAME", help=f"For {' or '.join(PACKED)}.")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write the pages that students may see, one for each, or an archive to upload."""
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
    str | None, typer.Option("--assignment", metavar="SLUG", help="Which one; all if not given.")
]
ReportsOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Reports of `grader batch`, in place of a gradebook."),
]
CollectedOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The folder of `grader collect`, for names.")
]
PageLanguageOption = Annotated[
    Language | None,
    typer.Option("--lang", metavar="CODE", help="Language of the page: en, zh or ko."),
]
PagesOption = Annotated[
    bool, typer.Option("--pages/--no-pages", help="Write students' pages, to link to.")
]


def insights(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where SLUG.html, SLUG.json and SLUG.csv go."
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    passing: Annotated[
        float | None,
        points_option("Points that one needs: who is near them is looked at.", "--pass"),
    ] = None,
    pages: PagesOption = True,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Say what the class got wrong: a page, JSON and CSV for each assignment.

    It counts mistakes, errors, checks, speed-ups and attempts, with the students behind each
    number, and says whose report needs a look. It is for instructors: it has names.
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.insights import InsightsOptions, run_insights

    found = ClassOptions(assignment, reports, collected, course)
    run_insights(InsightsOptions(found, output, language, passing, pages), Console(emoji=False))


_SIMILAR = """
    grader similar --output alike
    grader similar --reports reports --given lecture.ipynb --output alike
    """


def similar(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where SLUG-similar.html and .json are written."
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    collected: CollectedOption = None,
    given: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A text of the course, which everybody may have."),
    ] = None,
    least: Annotated[
        float, typer.Option(min=0.1, max=1.0, metavar="SHARE", help="From which share on.")
    ] = 0.5,
    pages: PagesOption = True,
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Show which works are alike beyond what was given, side by side.

    It is evidence for you to look at, and no verdict: it takes no points, and sends nothing to
    anybody.
    """
    from grader.cli.class_reports import ClassOptions
    from grader.cli.comparing import SimilarOptions, run_similar

    found = ClassOptions(assignment, reports, collected, course)
    texts = tuple(given or ())
    run_similar(SimilarOptions(found, output, texts, least, language, pages), Console(emoji=False))


_LEADERBOARD = """
    grader leaderboard --consent consent.csv --output board
    grader leaderboard --consent consent.csv --machine EPYC --output board
    """


def leaderboard(
    consent: Annotated[
        Path,
        typer.Option(
            metavar="CSV",
            help="Who wants to be in it: columns student and name; an empty name is made up, and"
            " written there.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where SLUG-leaderboard.html, .md, .json go."
        ),
    ],
    assignment: ClassSlugOption = None,
    reports: ReportsOption = None,
    machine: Annotated[
        str,
        typer.Option(metavar="WORDS", help="Which kind of machine; that of most if not given."),
    ] = "",
    language: PageLanguageOption = None,
    course: CourseOption = None,
) -> None:
    """Rank schedules by their speed-up, of students who want that, under names of their own.

    Of each student the best attempt counts, on one kind of machine. Whose intervals overlap share a
    rank.
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
        str | None, typer.Argument(metavar="SLUG", help="Which assignment; all if none is given.")
    ] = None,
    changed: Annotated[
        bool,
        typer.Option("--changed", help="Only what would come out otherwise than it did."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    sure: Annotated[
        bool, typer.Option("--yes", help="Run all again, whatever has changed.")
    ] = False,
    data: DataOption = None,
    seed: SeedOption = None,
    sandbox: SandboxOption = None,
    jobs: JobsOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Grade anew what the gradebook has, and say whose grade moved.

    It says before what will be run, what is only counted anew, and what is kept.
    """
    from grader.cli.gradebook import CommandOutput
    from grader.cli.regrade import RegradeOptions, run_regrade
    from grader.grading.preparation import GradingOptions

    grading = GradingOptions(slug, data, seed, course, sandbox)
    options = RegradeOptions(grading, changed, dry_run, sure, jobs)
    if not run_regrade(options, CommandOutput(json), Console(stderr=True, emoji=False)):
        raise typer.Exit(UNGRADED)
