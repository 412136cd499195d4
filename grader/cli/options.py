"""Arguments and options that several commands have, and help that begins with what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from grader.render.audience import Audience
from grader.sandbox.interface import Level

# Help that begins with what to do: a sentence, examples, options in groups; nothing is cut.


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Settings of a group of commands; the commands in it have them too."""

_ARGUMENTS, _OPTIONS = "Arguments", "Options"


class CommandWithExamples(TyperCommand):
    """A command whose help has its `epilog`, lines of examples, before its options."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments as they are called, those that may be left out in brackets."""
        del ctx
        return [*(_usage(each) for each in self.params if _is_argument(each)), "[OPTIONS]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of it."""
        _write_beginning(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            panel = getattr(each, "rich_help_panel", None) or _OPTIONS
            group = _ARGUMENTS if _is_argument(each) else panel
            groups.setdefault(group, []).append(_row(each))
        for group in sorted(groups, key=lambda each: (each != _ARGUMENTS, each != _OPTIONS)):
            _write(formatter, group, groups[group])

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments; what is said of a wrong one begins with the value."""
        try:
            return super().make_context(*arguments, **options)
        except typer.BadParameter as error:
            error.message = _plain(error.message)
            raise


_UNPARSED = re.compile(r"Input should be (?:a valid )?(.*?)(?:, unable to parse .*)?\Z")


def _plain(message: str) -> str:
    """Return what a library says of a value without its terms: no input, no parsing."""
    needed = _UNPARSED.sub(r"it must be \1", message.removeprefix("Value error, "))
    return needed.replace("be integer", "be a whole number").replace("be number", "be a number")


class CommandGroup(TyperGroup):
    """A group of commands, whose help lists them by what they are for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of it."""
        _write_beginning(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, each in self.commands.items():
            if each.hidden:
                continue
            group = getattr(each, "rich_help_panel", None)
            about = (each.help or "").strip().split("\n\n")[0]
            groups.setdefault(group if isinstance(group, str) else "Commands", []).append(
                (name, " ".join(about.split()))
            )
        for group, rows in groups.items():
            _write(formatter, group, rows)
        _write(formatter, _OPTIONS, [_row(each) for each in self.get_params(ctx)])


def _write_beginning(command: Any, ctx: Any, formatter: Any) -> None:
    formatter.write_usage(ctx.command_path, " ".join(command.collect_usage_pieces(ctx)))
    for paragraph in (command.help or "").strip().split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(paragraph.split()))
    if command.epilog:
        with formatter.section("Examples"):
            for line in command.epilog.strip().splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


def _write(formatter: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:
    with formatter.section(title):
        formatter.write_dl(list(rows))


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _usage(argument: Any) -> str:
    name = f"{_name(argument)}..." if argument.nargs == -1 else _name(argument)
    return name if argument.required else f"[{name}]"


def _row(parameter: Any) -> tuple[str, str]:
    """Return how a parameter is written, and what it means."""
    told = parameter.help or ""
    if _is_argument(parameter):
        return _name(parameter), told
    names = ", ".join(sorted(parameter.opts, key=len))
    value = "" if parameter.is_flag or parameter.count else f" {_name(parameter)}"
    return f"{names}{value}", f"{told}  [required]" if parameter.required else told


HOW = "How it is graded"
"""The group of options, in the help, that decide about the grading."""

AssignmentOption = Annotated[
    str | None,
    typer.Option(
        metavar="SLUG",
        rich_help_panel=HOW,
        help=(
            "Assignment, or name of its variants (default: notebook metadata, which students "
            "control)."
        ),
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        rich_help_panel=HOW,
        help='Folder of images and parameters, or "builtin" for the small built-in set.',
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=HOW,
        help="Seed of the hidden inputs (default: a new secret one).",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=HOW,
        help="Gradings at a time (default: one for each core).",
    ),
]
CourseOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help=(
            "Folder that holds `assignments/` (default: this one, one above it, or grader's own)."
        ),
    ),
]
SlugArgument = Annotated[
    str | None,
    typer.Argument(metavar="SLUG", help="Assignment (default: all)."),
]
SandboxOption = Annotated[
    Level | None,
    typer.Option(
        metavar="LEVEL",
        rich_help_panel=HOW,
        help=(
            "Require an isolation level: strong, container, basic, minimal or none (default: "
            "the strongest that works)."
        ),
    ),
]
Language = Literal["en", "zh", "ko"]
LanguageOption = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        metavar="CODE",
        help="Language of the report: en, zh or ko (default: the notebook's).",
    ),
]
SpokenOption = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        metavar="CODE",
        help="Language of the rendering: en, zh or ko (default: the report's).",
    ),
]
DialectOption = Annotated[
    Literal["auto", "current"],
    typer.Option(
        metavar="WHICH",
        rich_help_panel=HOW,
        help=(
            "Accepted spellings of TVM's names: auto (all since 2022) or current (today's only)."
        ),
    ),
]
PreambleOption = Annotated[
    bool,
    typer.Option(
        "--preamble",
        rich_help_panel=HOW,
        help=(
            "Run the imports of the assignment's own notebook before the first cell, for "
            "files without imports."
        ),
    ),
]
AudienceOption = Annotated[
    Audience,
    typer.Option(
        metavar="WHO",
        help="Reader: student, or instructor, who also sees what assignment.toml hides.",
    ),
]


def points_option(help: str, *names: str) -> Any:
    """Return an option that takes a number of points, called by its argument if it has no names."""
    return typer.Option(*names, metavar="POINTS", callback=_finite, help=help)


def _finite(points: float | None) -> float | None:
    """Refuse what no number is below."""
    if points is not None and not math.isfinite(points):
        raise typer.BadParameter(f"{points} is not a number of points.")
    return points
