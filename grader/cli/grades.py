"""`grader course`, `grader roster`, `grader grades`: the arguments of the gradebook's commands.

What they do is imported by each alone: the library of databases takes its time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.options import SETTINGS, CommandGroup, CommandWithExamples, CourseOption, Language
from grader.errors import UsageError
from grader.language import say

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.entries import Student
    from grader.gradebook.grades import Account, Grade

course_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Create a course's gradebook, or update it.",
    no_args_is_help=True,
)
roster_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Maintain the list of students.",
    no_args_is_help=True,
)
grades_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="List, explain and adjust grades.",
    no_args_is_help=True,
)

HandedInOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Time of submission, for the gradebook: a time such as 2026-12-01T23:59+01:00,"
        ' "files" for each file\'s own, or the collected.json of `grader collect`'
        " (default: unknown, so nobody is late).",
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write JSON to FILE; - prints it instead of text."),
]
StudentArgument = Annotated[
    str,
    typer.Argument(metavar="STUDENT", help="Roster id, e-mail, or a unique name."),
]
SlugArgument = Annotated[str, typer.Argument(metavar="SLUG", help="Assignment.")]
AllSlugsArgument = Annotated[
    str | None, typer.Argument(metavar="SLUG", help="Assignment (default: all).")
]
ReasonOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Reason, for later questions.")
]
WhoOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="NAME", help="Your name, for the record (default: your user name)."
    ),
]


@course_app.command("init", cls=CommandWithExamples, epilog="grader course init")
def init(course: CourseOption = None, json: JsonOption = None) -> None:
    """Create the course's gradebook, or update it to this version.

    The gradebook is gradebook.sqlite in the course's folder, or the file or PostgreSQL URL in the
    variable GRADER_GRADEBOOK.
    """
    from grader.cli.gradebook import CommandOutput, init_course

    init_course(course, CommandOutput(json))


@roster_app.command(
    "import",
    cls=CommandWithExamples,
    epilog="""
    grader roster import roster.csv
    grader roster import roster.csv --dry-run
    """,
)
def import_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV file from Canvas or Moodle, or your own."),
    ],
    withdraw: Annotated[
        bool,
        typer.Option(
            "--withdraw", help="Mark students who are missing from the file as withdrawn."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")
    ] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Import the roster; known students are updated, nobody is deleted."""
    from grader.cli.gradebook import CommandOutput, import_roster

    import_roster(file, course, CommandOutput(json), withdraw=withdraw, only_plan=dry_run)


@grades_app.command(
    "list",
    cls=CommandWithExamples,
    epilog="""
    grader grades list
    grader grades list e2e-conv --section A
    """,
)
def list_(
    slug: AllSlugsArgument = None,
    section: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only students in this section.")
    ] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Include withdrawn students.")] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """List all students' grades."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.student_grades import list_grades

    list_grades(slug, section, course, CommandOutput(json), everybody=everybody)


@grades_app.command("show", cls=CommandWithExamples, epilog="grader grades show ada")
def show(student: StudentArgument, course: CourseOption = None, json: JsonOption = None) -> None:
    """Show everything recorded about a student."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.student_grades import show_student

    show_student(student, course, CommandOutput(json))


@grades_app.command("explain", cls=CommandWithExamples, epilog="grader grades explain ada e2e-conv")
def explain(
    student: StudentArgument,
    slug: SlugArgument,
    language: Annotated[
        Language, typer.Option("--lang", metavar="CODE", help="Language: en, zh or ko.")
    ] = "en",
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Explain a grade, line by line."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.student_grades import explain_grade

    explain_grade(student, slug, course, CommandOutput(json, language))


@grades_app.command(
    "adjust",
    cls=CommandWithExamples,
    epilog="""
    grader grades adjust ada e2e-mlp --points +2.5 --reason "the hint was wrong"
    grader grades adjust ada e2e-mlp --part mixture --factor 0.5 --reason copied
    grader grades adjust ada e2e-mlp --take-back 2 --reason "a mistake of mine"
    """,
)
def adjust(
    student: StudentArgument,
    slug: SlugArgument,
    points: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Points to add or subtract: +5, -2.5.")
    ] = None,
    factor: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Number to multiply the points by: 0.5.")
    ] = None,
    part: Annotated[str, typer.Option(metavar="PART", help="Part (default: the whole).")] = "",
    attempt: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Attempt (default: the one that counts)."),
    ] = None,
    take_back: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Adjustment to undo.")
    ] = None,
    reason: ReasonOption = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Add points to an attempt or multiply them, with a reason; nothing is overwritten."""
    from grader.cli.gradebook import CommandOutput, exact, needed_reason, whoever
    from grader.cli.student_grades import change_grade, chosen_attempt

    if [points, factor, take_back].count(None) != 2:
        raise UsageError(say("give-one-points-factor-and-take-back"), say("name-only-one"))
    told = {"reason": needed_reason(reason), "who": who or whoever()}
    added = None if points is None else exact(points, say("not-number-points"))
    times = None if factor is None else exact(factor, say("not-factor"))
    if times is not None and times < 0:
        raise UsageError(say("factor-must-not-negative"), say("take-points-use-points"))

    def write(book: Gradebook, student: Student, account: Account, grade: Grade) -> dict[str, Any]:
        del student
        if take_back is not None:
            own = {entry.id for each in account.attempts for entry in each.adjustments}
            if take_back not in own:
                raise UsageError(
                    say("adjustment-does-not-belong-this-grade", take_back=take_back),
                    say("see-grader-grades-show-student"),
                )
            number = book.take_back(take_back, **told)
            return {"adjustment": number, "takes_back": take_back}
        if part and part not in account.rules.parts:
            parts = ", ".join(account.rules.parts)
            raise UsageError(
                say("has-no-part", slug=slug, part=repr(part)), say("has-sentence", names=parts)
            )
        chosen = chosen_attempt(account, attempt or grade.attempt)
        number = book.adjust(chosen.id, part=part, points=added, factor=times, **told)
        change = {"part": part, "points": added, "factor": times}
        return {"adjustment": number, "attempt": chosen.number, **change, **told}

    change_grade(student, slug, course, CommandOutput(json), write)


@grades_app.command(
    "extend",
    cls=CommandWithExamples,
    epilog="""
    grader grades extend ada e2e-mlp 2026-12-05 --reason "ill"
    grader grades extend ada e2e-mlp --take-back --reason "not ill"
    """,
)
def extend(
    student: StudentArgument,
    slug: SlugArgument,
    due: Annotated[
        str | None,
        typer.Argument(
            metavar="TIME", help="New due date: 2026-12-05 (end of that day), or a day and time."
        ),
    ] = None,
    take_back: Annotated[bool, typer.Option("--take-back", help="Withdraw the extension.")] = False,
    reason: ReasonOption = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Give a student an extension."""
    from grader.cli.gradebook import CommandOutput, moment, needed_reason, whoever
    from grader.cli.student_grades import change_grade

    if (due is None) != take_back:
        raise UsageError(say("name-either-time-or-take-back"), say("give-day-such-as-2026-12-05"))
    told = {"reason": needed_reason(reason), "who": who or whoever()}

    def write(book: Gradebook, student: Student, account: Account, grade: Grade) -> dict[str, Any]:
        del grade
        policy = account.rules.late
        zone = None if policy is None else policy.zone
        until = None if due is None else moment(due, account.rules.due, zone)
        if until is None and account.extension is None:
            raise UsageError(
                say("there-no-extension-take-back"), say("see-grader-grades-show-student")
            )
        if until is not None and account.rules.due is not None and until <= account.rules.due:
            raise UsageError(
                say(
                    "not-later-than-s-general-due-date",
                    time=until.isoformat(" ", "seconds"),
                    slug=slug,
                    due=account.rules.due.isoformat(" ", "seconds"),
                ),
                say("name-later-time-take-back-takes-extension"),
            )
        book.extend(student.id, slug, until, **told)
        until_now = account.rules.due if until is None else until
        said = say("no-due-date") if until_now is None else until_now.isoformat(" ", "seconds")
        return {"due": until_now, **told, "told": say("due", time=said)}

    change_grade(student, slug, course, CommandOutput(json), write)


@grades_app.command("forget", cls=CommandWithExamples, epilog="grader grades forget ada --yes")
def forget(
    student: StudentArgument,
    sure: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Delete a student with all files, grades and decisions, permanently."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.student_grades import forget_student

    forget_student(student, course, CommandOutput(json), sure=sure)


@grades_app.command("agreement", cls=CommandWithExamples, epilog="grader grades agreement e2e-mlp")
def agreement(slug: SlugArgument, course: CourseOption = None, json: JsonOption = None) -> None:
    """Show how far two markers agree, part by part, and the answers on which they differ."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.marker_agreement import tell_agreement

    tell_agreement(slug, course, CommandOutput(json))


@grades_app.command("stats", cls=CommandWithExamples, epilog="grader grades stats e2e-conv")
def stats(
    slug: AllSlugsArgument = None, course: CourseOption = None, json: JsonOption = None
) -> None:
    """Summarise the grades of a class, without withdrawn students.

    For one assignment it also lists the mistakes, with the numbers of `grader insights`.
    """
    from grader.cli.class_stats import tell_stats
    from grader.cli.gradebook import CommandOutput

    tell_stats(slug, course, CommandOutput(json))
