"""`grader lint`: what is wrong with assignments and their master notebooks, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace
from rich.console import Console

from grader.authoring.lint import lint
from grader.authoring.master import find_master
from grader.authoring.mistakes import find_mistakes
from grader.authoring.subject import LintFinding, read_subject
from grader.cli.telling import tell, words
from grader.cli.template import choose_assignments
from grader.course import Course, CourseAssignment, load_course
from grader.course_folder import course_folder
from grader.errors import Mistake, MistakeError
from grader.language import Text, counted, foreign, say

STYLES = {"error": "bold red", "warning": "yellow"}


class LintOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader lint`, as they were given; `slug` is None for all assignments."""

    slug: str | None = None
    course: Path | None = None


def run_lint(options: LintOptions, output: Console, messages: Console) -> bool:
    """Print all findings. Returns whether none of them is an error.

    Raises GraderError when a master cannot be read at all.
    """
    root = course_folder(options.course, (Path.cwd(),))
    try:
        course = load_course(root)
    except MistakeError as error:
        print_mistakes([error.mistake], root, output)
        return False
    errors = 0
    every = [*course.assignments.values(), *course.variants.values()]
    for chosen in every if options.slug is None else [course.get(options.slug)]:
        errors += _lint_files(course, chosen, output)
    for chosen in choose_assignments(course, options.slug, messages):
        errors += _lint_master(course, chosen, output)
    return errors == 0


def _lint_files(course: Course, chosen: CourseAssignment, output: Console) -> int:
    """Print what is wrong with an assignment's own files; return how many errors that is."""
    found = find_mistakes(chosen, course.root)
    print_mistakes(found, course.root, output)
    folder = (chosen.variant or chosen.folder).relative_to(course.root)
    return _say_counts(str(folder), found, output)


def _lint_master(course: Course, chosen: CourseAssignment, output: Console) -> int:
    path = find_master(course.root, chosen.assignment.slug)
    found = lint(read_subject(path, chosen.assignment))
    name = str(path.relative_to(course.root))
    for finding in found:
        _print(place_of(name, finding), finding, output)
    return _say_counts(name, found, output)


def _say_counts(name: str, found: Sequence[Mistake | LintFinding], output: Console) -> int:
    mistakes = sum(each.severity == "error" for each in found)
    errors = counted(mistakes, say("{count} error"), say("{count} errors"))
    others = len(found) - mistakes
    warnings = counted(others, say("{count} warning"), say("{count} warnings"))
    tell(output, say("{name}: {errors}, {warnings}", name=name, errors=errors, warnings=warnings))
    return mistakes


def print_mistakes(found: Iterable[Mistake], root: Path, output: Console) -> None:
    """Print mistakes of an assignment's files, each with its place and what to do."""
    for each in found:
        within = each.path.is_relative_to(root)
        path = each.path.relative_to(root) if within else each.path
        _print(foreign(replace(each, path=path).place), each, output)


def place_of(name: str, finding: LintFinding) -> Text:
    """Say where a finding is: file and line as editors read it, and the cell."""
    if not finding.number:
        return foreign(name)
    line = "" if finding.line is None else f":{finding.line}"
    return say("{place} (cell {cell})", place=f"{name}{line}", cell=finding.number)


def _print(place: Text, found: Mistake | LintFinding, output: Console) -> None:
    severity = say("error") if found.severity == "error" else say("warning")
    text = say(
        "{place}: {severity}: {problem}", place=place, severity=severity, problem=found.problem
    )
    style = STYLES[found.severity]
    output.print(words(text), style=style, markup=False, highlight=False, soft_wrap=True)
    hint = words(found.hint)
    output.print(f"    {hint}", markup=False, highlight=False, soft_wrap=True)
