"""`grader course`, `grader roster`, `grader grades`: the arguments of the gradebook's commands.

What they do is imported by each alone: the library of databases takes its time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grader.cli.options import Commands, CourseOption, Language, argument, flag, option
from grader.cli.telling import CommandOutput
from grader.errors import UsageError
from grader.language import say

if TYPE_CHECKING:
    from grader.gradebook.book import Gradebook
    from grader.gradebook.entries import Student
    from grader.gradebook.grades import Account, Grade

course_app = Commands(help="Create a course's gradebook, or update it.")
roster_app = Commands(help="Maintain the list of students.")
grades_app = Commands(help="List, explain and adjust grades.")

HandedInOption = Annotated[
    str | None,
    option(
        "WHEN",
        "Time of submission, for the gradebook: a time such as 2026-12-01T23:59+01:00,"
        ' "files" for each file\'s own, or the collected.json of `grader collect`'
        " (default: unknown, so nobody is late).",
    ),
]
JsonOption = Annotated[
    Path | None, option("FILE", "Write JSON to FILE; - prints it instead of text.")
]
StudentArgument = Annotated[str, argument("STUDENT", "Roster id, e-mail, or a unique name.")]
SlugArgument = Annotated[str, argument("SLUG", "Assignment.")]
AllSlugsArgument = Annotated[str | None, argument("SLUG", "Assignment (default: all).")]
ReasonOption = Annotated[str | None, option("TEXT", "Reason, for later questions.")]
WhoOption = Annotated[
    str | None, option("NAME", "Your name, for the record (default: your user name).", "--by")
]


@course_app.command("init")
def init(course: CourseOption = None, json: JsonOption = None) -> None:
    """Create the course's gradebook, or update it to this version.

    The gradebook is gradebook.sqlite in the course's folder, or the file or PostgreSQL URL in the
    variable GRADER_GRADEBOOK.

    Examples:
        grader course init
    """
    from grader.cli.gradebook import init_course

    init_course(course, CommandOutput(json))


@roster_app.command("import")
def import_(
    file: Annotated[Path, argument("FILE", "CSV file from Canvas or Moodle, or your own.")],
    withdraw: Annotated[
        bool, flag("--withdraw", "Mark students who are missing from the file as withdrawn.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Print what would change, and change nothing.")
    ] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Import the roster; known students are updated, nobody is deleted.

    Examples:
        grader roster import roster.csv
        grader roster import roster.csv --dry-run
    """
    from grader.cli.gradebook import import_roster

    import_roster(file, course, CommandOutput(json), withdraw=withdraw, only_plan=dry_run)


@grades_app.command("list")
def list_(
    slug: AllSlugsArgument = None,
    section: Annotated[str | None, option("NAME", "Only students in this section.")] = None,
    everybody: Annotated[bool, flag("--all", "Include withdrawn students.")] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """List all students' grades.

    Examples:
        grader grades list
        grader grades list e2e-conv --section A
    """
    from grader.cli.student_grades import list_grades

    list_grades(slug, section, course, CommandOutput(json), everybody=everybody)


@grades_app.command("show")
def show(student: StudentArgument, course: CourseOption = None, json: JsonOption = None) -> None:
    """Show everything recorded about a student.

    Examples:
        grader grades show ada
    """
    from grader.cli.student_grades import show_student

    show_student(student, course, CommandOutput(json))


@grades_app.command("explain")
def explain(
    student: StudentArgument,
    slug: SlugArgument,
    language: Annotated[Language, option("CODE", "Language: en, zh or ko.", "--lang")] = "en",
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Explain a grade, line by line.

    Examples:
        grader grades explain ada e2e-conv
    """
    from grader.cli.student_grades import explain_grade

    explain_grade(student, slug, course, CommandOutput(json, language))


@grades_app.command("adjust")
def adjust(
    student: StudentArgument,
    slug: SlugArgument,
    points: Annotated[str | None, option("NUMBER", "Points to add or subtract: +5, -2.5.")] = None,
    factor: Annotated[
        str | None, option("NUMBER", "Number to multiply the points by: 0.5.")
    ] = None,
    part: Annotated[str, option("PART", "Part (default: the whole assignment).")] = "",
    attempt: Annotated[
        int | None, option("N", "Attempt (default: the one that counts).", min=1)
    ] = None,
    take_back: Annotated[int | None, option("N", "Adjustment to undo.", min=1)] = None,
    reason: ReasonOption = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Add points to an attempt or multiply them, with a reason; nothing is overwritten.

    Examples:
        grader grades adjust ada e2e-mlp --points +2.5 --reason "the hint was wrong"
        grader grades adjust ada e2e-mlp --part mixture --factor 0.5 --reason copied
        grader grades adjust ada e2e-mlp --take-back 2 --reason "a mistake of mine"
    """
    from grader.cli.gradebook import exact, needed_reason, whoever
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
        chosen = chosen_attempt(account, attempt or grade.attempt, part)
        number = book.adjust(chosen.id, part=part, points=added, factor=times, **told)
        change = {"part": part, "points": added, "factor": times}
        return {"adjustment": number, "attempt": chosen.number, **change, **told}

    change_grade(student, slug, course, CommandOutput(json), write)


@grades_app.command("extend")
def extend(
    student: StudentArgument,
    slug: SlugArgument,
    due: Annotated[
        str | None,
        argument("TIME", "New due date: 2026-12-05 (end of that day), or a day and time."),
    ] = None,
    take_back: Annotated[bool, flag("--take-back", "Withdraw the extension.")] = False,
    reason: ReasonOption = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Give a student an extension.

    Examples:
        grader grades extend ada e2e-mlp 2026-12-05 --reason "ill"
        grader grades extend ada e2e-mlp --take-back --reason "not ill"
    """
    from grader.cli.gradebook import moment, needed_reason, whoever
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


@grades_app.command("forget")
def forget(
    student: StudentArgument,
    sure: Annotated[bool, flag("--yes", "Delete without asking.")] = False,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Delete a student with all files, grades and decisions, permanently.

    Examples:
        grader grades forget ada --yes
    """
    from grader.cli.student_grades import forget_student

    forget_student(student, course, CommandOutput(json), sure=sure)


@grades_app.command("agreement")
def agreement(slug: SlugArgument, course: CourseOption = None, json: JsonOption = None) -> None:
    """Show how far two markers agree, part by part, and the answers on which they differ.

    Examples:
        grader grades agreement e2e-mlp
    """
    from grader.cli.class_stats import tell_agreement

    tell_agreement(slug, course, CommandOutput(json))


@grades_app.command("stats")
def stats(
    slug: AllSlugsArgument = None, course: CourseOption = None, json: JsonOption = None
) -> None:
    """Summarise the grades of a class, without withdrawn students.

    For one assignment it also lists the mistakes, with the same numbers as `grader insights`.

    Examples:
        grader grades stats e2e-conv
    """
    from grader.cli.class_stats import tell_stats

    tell_stats(slug, course, CommandOutput(json))
