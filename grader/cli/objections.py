"""`grader objections`: the arguments of its commands.

What they do is imported by each alone: the library of databases takes its time.
"""

from pathlib import Path
from typing import Annotated, Literal

from grader.cli.grades import JsonOption, SlugArgument, StudentArgument, WhoOption
from grader.cli.options import Commands, CourseOption, argument, flag, option
from grader.cli.telling import CommandOutput

objections_app = Commands(help="Enter, list and answer students' objections.")

PartOption = Annotated[str, option("PART", "Part (default: the whole assignment).", "--part")]


@objections_app.command("list")
def list_(
    slug: Annotated[str | None, argument("SLUG", "Assignment (default: all).")] = None,
    state: Annotated[
        Literal["open", "answered", "moved"] | None,
        option("STATE", "Only open, answered, or moved (points changed)."),
    ] = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """List objections: student, part, and state (open, answered, or points changed).

    Examples:
        grader objections list
        grader objections list e2e-mlp --state open
    """
    from grader.cli.objecting import list_objections

    list_objections(slug, state, course, CommandOutput(json))


@objections_app.command("add")
def add(
    student: StudentArgument,
    slug: SlugArgument,
    text: Annotated[str, argument("TEXT", "What the student asks.")],
    part: PartOption = "",
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Enter an objection. An identical one is not entered twice.

    Examples:
        grader objections add ada e2e-mlp --part module "the hint is wrong"
    """
    from grader.cli.gradebook import whoever
    from grader.cli.objecting import add_objection

    add_objection(student, slug, part, text, who or whoever(), course, CommandOutput(json))


@objections_app.command("import")
def import_(
    file: Annotated[
        Path, argument("FILE", "CSV file with columns student, text, and part or assignment.")
    ],
    assignment: Annotated[str | None, option("SLUG", "Assignment of all rows without one.")] = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Enter objections from a table, all or none; known ones are skipped.

    Examples:
        grader objections import asked.csv --assignment e2e-mlp
    """
    from grader.cli.gradebook import whoever
    from grader.cli.objecting import import_objections

    import_objections(file, assignment, who or whoever(), course, CommandOutput(json))


@objections_app.command("answer")
def answer(
    number: Annotated[int, argument("N", "Number of the objection.", min=1)],
    text: Annotated[str, argument("TEXT", "Answer, which the student reads.")],
    points: Annotated[str | None, option("NUMBER", "Points to add or subtract: +5, -2.5.")] = None,
    attempt: Annotated[
        int | None, option("N", "Attempt (default: the one that counts).", min=1)
    ] = None,
    again: Annotated[bool, flag("--again", "Answer an objection again.")] = False,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Answer an objection; with --points, adjust its part, as `grader grades adjust` does.

    Examples:
        grader objections answer 3 "You are right: the hint was wrong." --points +2.5
        grader objections answer 4 "The loop reads past the end, see line 12."
    """
    from grader.cli.gradebook import exact, whoever
    from grader.cli.objecting import AnswerOptions, answer_objection
    from grader.language import say

    change = None if points is None else exact(points, say("not-number-points"))
    options = AnswerOptions(number, text, who or whoever(), change, attempt, again)
    answer_objection(options, course, CommandOutput(json))
