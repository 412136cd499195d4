"""Help that begins with what to do: a sentence, examples, options in groups; nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Settings of a group of commands; the commands in it have them too."""

_ARGUMENTS, _OPTIONS = "Arguments", "Options"


class Command(TyperCommand):
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
            error.message = error.message.removeprefix("Value error, ")
            raise


class Group(TyperGroup):
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
