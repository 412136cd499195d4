"""`grader lint`: what is wrong with master notebooks, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from grader.authoring.lint import lint
from grader.authoring.master import find_master
from grader.authoring.subject import LintFinding, read_subject
from grader.cli.template import choose_assignments
from grader.course import find_course

STYLES = {"error": "bold red", "warning": "yellow"}


class LintOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader lint`, as they were given; `slug` is None for all assignments."""

    slug: str | None = None
    course: Path | None = None


def run_lint(options: LintOptions, output: Console, messages: Console) -> bool:
    """Print all findings. Returns whether none of them is an error.

    Raises GraderError when a master cannot be read at all.
    """
    course = find_course(options.course, (Path.cwd(),))
    errors = 0
    for chosen in choose_assignments(course, options.slug, messages):
        path = find_master(course.root, chosen.assignment.slug)
        found = lint(read_subject(path, chosen.assignment))
        name = str(path.relative_to(course.root))
        for finding in found:
            _print(name, finding, output)
        mistakes = sum(finding.severity == "error" for finding in found)
        counts = f"{_count(mistakes, 'error')}, {_count(len(found) - mistakes, 'warning')}"
        output.print(f"{name}: {counts}", markup=False, highlight=False)
        errors += mistakes
    return errors == 0


def place_of(name: str, finding: LintFinding) -> str:
    """Say where a finding is: file and line as editors read it, and the cell."""
    if not finding.number:
        return name
    line = "" if finding.line is None else f":{finding.line}"
    return f"{name}{line} (cell {finding.number})"


def _print(name: str, finding: LintFinding, output: Console) -> None:
    text = f"{place_of(name, finding)}: {finding.severity}: {finding.problem}"
    style = STYLES[finding.severity]
    output.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
    output.print(f"    {finding.hint}", markup=False, highlight=False, soft_wrap=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
