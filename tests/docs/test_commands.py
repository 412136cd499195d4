"""What the documents have their readers type: commands that there are, with options that they have.

`docs/week.md` once told them to `grader render --html`, which no version had.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from grader.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`(grader [^`\n]*)`(?!`)")
PROMPT = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(grader .*)")
OPTION = re.compile(r"-{1,2}[a-z][a-z-]*\Z")


class Line(NamedTuple):
    """A command of a page."""

    page: str
    words: str


def lines_of(page: Path) -> Iterator[Line]:
    """Yield the commands of a page: lines of its blocks, and what stands in its sentences."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if found := PROMPT.match(line):
                yield Line(page.name, found[1].split(" #")[0].split(" | ")[0])
    for found in INLINE.findall(text):
        yield Line(page.name, found)


LINES = sorted({line for page in PAGES for line in lines_of(page)})


PROGRAM: Any = typer.main.get_command(app)


def unknown(line: Line) -> list[str]:
    """Return the words of a command that the program does not know."""
    command = PROGRAM
    faults = []
    for word in shlex.split(re.sub(r"[\[\]|]", " ", line.words))[1:]:
        option = word.split("=")[0]
        if OPTION.match(option):
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            known |= {"-h", "--help", "--version"}
            faults += [option] if option not in known else []
        elif hasattr(command, "commands"):
            if re.fullmatch("[a-z-]+", word) is None:
                break  # `grader ...`, or a placeholder
            if word not in command.commands:
                return [word]
            command = command.commands[word]
    return faults


def test_the_commands_of_the_pages_are_known() -> None:
    assert {} == {f"{line.page}: {line.words}": found for line in LINES if (found := unknown(line))}


def test_there_are_many_and_one_that_is_not_known_is_found() -> None:
    assert len(LINES) > 100
    assert ["--html"] == unknown(Line("week.md", "grader render report.json --html page.html"))
    assert ["weeks"] == unknown(Line("week.md", "grader weeks"))
