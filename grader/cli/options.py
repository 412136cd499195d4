"""Arguments and options that several commands have."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from grader.render.audience import Audience
from grader.sandbox.interface import Level

HOW = "How it is graded"
"""The group of options, in the help, that decide about the grading."""

AssignmentOption = Annotated[
    str | None,
    typer.Option(
        metavar="SLUG",
        rich_help_panel=HOW,
        help="Which assignment it is, or the name of variants; otherwise the notebook says, which"
        " is the student's.",
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        rich_help_panel=HOW,
        help='Images and parameters: a folder, or "builtin" for the small set.',
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=HOW,
        help="Seed of the hidden inputs, from 0 on; a new secret one if not given.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=HOW,
        help="How many at a time; one on every core by default.",
    ),
]
CourseOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder that holds `assignments/`; otherwise this one, one above it, or the"
        " grader's own.",
    ),
]
SlugArgument = Annotated[
    str | None,
    typer.Argument(metavar="SLUG", help="Which assignment; all if none is given."),
]
SandboxOption = Annotated[
    Level | None,
    typer.Option(
        metavar="LEVEL",
        rich_help_panel=HOW,
        help="Demand a level of isolation: strong, container, basic, minimal or none; otherwise the"
        " strongest that works here.",
    ),
]
Language = Literal["en", "zh", "ko"]
LanguageOption = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        metavar="CODE",
        help="Language of the report: en, zh or ko; otherwise the notebook's.",
    ),
]
SpokenOption = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        metavar="CODE",
        help="Language of the rendering: en, zh or ko; otherwise the report's.",
    ),
]
DialectOption = Annotated[
    Literal["auto", "current"],
    typer.Option(
        metavar="WHICH",
        rich_help_panel=HOW,
        help="Which spellings of TVM's names are accepted: auto, those of earlier years too, or"
        " current, today's alone.",
    ),
]
PreambleOption = Annotated[
    bool,
    typer.Option(
        "--preamble",
        rich_help_panel=HOW,
        help="Run the imports of the assignment's own notebook before the first cell, for files"
        " that have lost theirs.",
    ),
]
AudienceOption = Annotated[
    Audience,
    typer.Option(
        metavar="WHO",
        help="Who reads it: student, or instructor, who sees what assignment.toml keeps from"
        " students.",
    ),
]


def points_option(help: str, *names: str) -> Any:
    """Return an option that takes a number of points, called by its argument if it has no names."""
    return typer.Option(*names, metavar="POINTS", callback=_finite, help=help)


def _finite(points: float | None) -> float | None:
    """Refuse what no number is below."""
    if points is not None and not math.isfinite(points):
        raise typer.BadParameter(f"{points} is no number of points.")
    return points
