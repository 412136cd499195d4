"""How commands tell people what they did: texts in the command's language, a line each."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from grader.cli.process import command_language
from grader.language import Text, counted, in_a_row, say
from grader.render.wording import one_line

LABEL_WIDTH = 10
"""Columns of a terminal for the labels of what is told beside them, with a space at the end."""


def words(text: Text) -> str:
    """Return a text in the command's language, without characters that steer a terminal."""
    return printable(text.in_(command_language()))


def line(text: Text) -> str:
    """Return a text as `words` does, on one line, without what foreign names in it would steer."""
    return one_line(text.in_(command_language()))


def tell(console: Console, *lines: str | Text) -> None:
    """Print lines as they are: nothing in them is markup. Names and paths are plain strings."""
    for each in lines:
        told = printable(each) if isinstance(each, str) else words(each)
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def tell_beside(console: Console, label: str | Text, text: str | Text) -> None:
    """Print text beside a label; lines that are too long go on below it."""
    table = Table.grid()
    table.add_column(width=LABEL_WIDTH)
    table.add_column(overflow="fold")
    cells = [printable(each) if isinstance(each, str) else words(each) for each in (label, text)]
    table.add_row(*map(Styled, cells))
    console.print(table, highlight=False)


def students(number: int) -> Text:
    """Return how many students there are."""
    return counted(number, say("{count} student"), say("{count} students"))


def some_of(names: Collection[str], most: int) -> Text:
    """Return names in a row, `most` of them, and how many more there are."""
    shown = in_a_row([*names][:most])
    if len(names) <= most:
        return shown
    return say("{names} and {count} more", names=shown, count=len(names) - most)


def printable(text: str) -> str:
    """Return foreign text without characters that steer a terminal."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)
