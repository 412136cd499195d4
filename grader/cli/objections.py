"""`grader objections`: the arguments of its commands.

What they do is imported by each alone: the library of databases takes its time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.cli.grades import JsonOption, SlugArgument, StudentArgument, WhoOption
from grader.cli.options import SETTINGS, CommandGroup, CommandWithExamples, CourseOption

objections_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Enter, list and answer students' objections.",
    no_args_is_help=True,
)

PartOption = Annotated[
    str, typer.Option("--part", metavar="PART", help="Part (default: the whole).")
]


@objections_app.command(
    "list",
    cls=CommandWithExamples,
    epilog="""
    grader objections list
    grader objections list e2e-mlp --state open
    """,
)
def list_(
    slug: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="Assignment (default: all).")
    ] = None,
    state: Annotated[
        Literal["open", "answered", "moved"] | None,
        typer.Option(metavar="STATE", help="Only open, answered, or moved (points changed)."),
    ] = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """List objections: student, part, and state (open, answered, or points moved)."""
    from grader.cli.gradebook import CommandOutput
    from grader.cli.objecting import list_objections

    list_objections(slug, state, course, CommandOutput(json))


@objections_app.command(
    "add",
    cls=CommandWithExamples,
    epilog='grader objections add ada e2e-mlp --part module "the hint is wrong"',
)
def add(
    student: StudentArgument,
    slug: SlugArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the student asks.")],
    part: PartOption = "",
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Enter an objection. An identical one is not entered twice."""
    from grader.cli.gradebook import CommandOutput, whoever
    from grader.cli.objecting import add_objection

    add_objection(student, slug, part, text, who or whoever(), course, CommandOutput(json))


@objections_app.command(
    "import",
    cls=CommandWithExamples,
    epilog="grader objections import asked.csv --assignment e2e-mlp",
)
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="CSV file with columns student, text, and part or assignment."
        ),
    ],
    assignment: Annotated[
        str | None,
        typer.Option(metavar="SLUG", help="Assignment of all rows without one."),
    ] = None,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Enter objections from a table, all or none; known ones are skipped."""
    from grader.cli.gradebook import CommandOutput, whoever
    from grader.cli.objecting import import_objections

    import_objections(file, assignment, who or whoever(), course, CommandOutput(json))


@objections_app.command(
    "answer",
    cls=CommandWithExamples,
    epilog="""
    grader objections answer 3 "You are right: the hint was wrong." --points +2.5
    grader objections answer 4 "The loop reads past the end, see line 12."
    """,
)
def answer(
    number: Annotated[int, typer.Argument(min=1, metavar="N", help="Number of the objection.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Answer, which the student reads.")],
    points: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Points to add or subtract: +5, -2.5.")
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Attempt (default: the one that counts)."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Answer an objection again.")] = False,
    who: WhoOption = None,
    course: CourseOption = None,
    json: JsonOption = None,
) -> None:
    """Answer an objection; with --points, adjust its part, as `grader grades adjust` does."""
    from grader.cli.gradebook import CommandOutput, exact, whoever
    from grader.cli.objecting import AnswerOptions, answer_objection
    from grader.language import say

    change = None if points is None else exact(points, say("not-number-points"))
    options = AnswerOptions(number, text, who or whoever(), change, attempt, again)
    answer_objection(options, course, CommandOutput(json))
