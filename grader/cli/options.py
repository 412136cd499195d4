"""Arguments and options that several commands have, and help that begins with what to do."""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from grader.render.audience import Audience
from grader.sandbox.interface import Level

# Help that begins with what to do: a sentence, examples, options in groups; nothing is cut.


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Settings of a group of commands; the commands in it have them too."""

_ARGUMENTS, _OPTIONS = "Arguments", "Options"


class CommandWithExamples(TyperCommand):
    """A command whose help has the `Examples:` that end its docstring before its options."""

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


class Commands(typer.Typer):
    """A group of commands with such help; `panel` is that of its commands in the help above it."""

    def __init__(self, panel: str | None = None, **more: Any) -> None:
        settings = {"context_settings": SETTINGS, "no_args_is_help": True, **more}
        super().__init__(cls=CommandGroup, **settings)
        self._panel = panel

    def command(
        self, name: str | None = None, **more: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Make a function a command."""
        more = {"rich_help_panel": self._panel, **more}
        return super().command(name, cls=CommandWithExamples, **more)


def _write_beginning(command: Any, ctx: Any, formatter: Any) -> None:
    formatter.write_usage(ctx.command_path, " ".join(command.collect_usage_pieces(ctx)))
    about, _, examples = (command.help or "").partition("\n\nExamples:\n")
    for paragraph in about.strip().split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(paragraph.split()))
    if examples:
        with formatter.section("Examples"):
            for line in examples.splitlines():
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
    told = parameter.help or ""
    if _is_argument(parameter):
        return _name(parameter), told
    names = ", ".join(sorted(parameter.opts, key=len))
    value = "" if parameter.is_flag or parameter.count else f" {_name(parameter)}"
    return f"{names}{value}", f"{told}  [required]" if parameter.required else told


GRADE, KEEP, AUTHOR, SET_UP = "Grade", "Keep grades", "Make assignments", "Set up"
"""What commands are for: the panels of the help that lists them."""

HOW = "How it is graded"
"""The group of options, in the help, that decide about the grading."""


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Declare an argument, in an annotation."""
    return typer.Argument(metavar=metavar, help=help, **more)


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Declare an option with a value, called by its parameter if it has no names."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str, **more: Any) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=help, **more)


AssignmentOption = Annotated[
    str | None,
    option(
        "SLUG",
        "Assignment, or name of its variants (default: notebook metadata, which students control).",
        rich_help_panel=HOW,
    ),
]
DataOption = Annotated[
    str | None,
    option(
        "DIR",
        'Folder of images and parameters, or "builtin" for the small built-in set.',
        rich_help_panel=HOW,
    ),
]
SeedOption = Annotated[
    int | None,
    option(
        "N", "Seed of the hidden inputs (default: a new secret one).", min=0, rich_help_panel=HOW
    ),
]
JobsOption = Annotated[
    int | None,
    option("N", "Gradings at a time (default: one for each core).", min=1, rich_help_panel=HOW),
]
CourseOption = Annotated[
    Path | None,
    option(
        "DIR",
        "Folder that holds `assignments/` (default: this one, one above it, or grader's own).",
    ),
]
SlugArgument = Annotated[str | None, argument("SLUG", "Assignment (default: all).")]
SandboxOption = Annotated[
    Level | None,
    option(
        "LEVEL",
        "Require an isolation level: strong, container, basic, minimal or none (default: "
        "the strongest that works).",
        rich_help_panel=HOW,
    ),
]
Language = Literal["en", "zh", "ko"]
LanguageOption = Annotated[
    Language | None,
    option("CODE", "Language of the report: en, zh or ko (default: the notebook's).", "--lang"),
]
SpokenOption = Annotated[
    Language | None,
    option("CODE", "Language of the rendering: en, zh or ko (default: the report's).", "--lang"),
]
PageLanguageOption = Annotated[
    Language | None, option("CODE", "Language of the page: en, zh or ko.", "--lang")
]
DialectOption = Annotated[
    Literal["auto", "current"],
    option(
        "WHICH",
        "Accepted spellings of TVM's names: auto (all since 2022) or current (today's only).",
        rich_help_panel=HOW,
    ),
]
PreambleOption = Annotated[
    bool,
    flag(
        "--preamble",
        "Run the imports of the assignment's own notebook before the first cell, for "
        "files without imports.",
        rich_help_panel=HOW,
    ),
]
AudienceOption = Annotated[
    Audience,
    option("WHO", "Reader: student, or instructor, who also sees what assignment.toml hides."),
]


def points_option(help: str, *names: str) -> Any:
    """Return an option that takes a number of points, called by its argument if it has no names."""
    return option("POINTS", help, *names, callback=_finite)


def _finite(points: float | None) -> float | None:
    """Refuse what no number is below."""
    if points is not None and not math.isfinite(points):
        raise typer.BadParameter(f"{points} is not a number of points.")
    return points
