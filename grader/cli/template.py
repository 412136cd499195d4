"""`grader template`: make the notebooks that students start from, or say which are stale."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from grader.authoring.master import has_master
from grader.authoring.template import build_templates, find_left_over, find_stale, write_files
from grader.cli.telling import tell
from grader.course import Course, CourseAssignment, find_course
from grader.language import say


class TemplateOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader template`, as they were given.

    `slug` is None for all assignments that have a master, `language` None for all of its languages,
    `output` None for the course's folder `templates`.
    """

    slug: str | None = None
    language: str | None = None
    output: Path | None = None
    check: bool = False
    course: Path | None = None


def run_template(options: TemplateOptions, output: Console, messages: Console) -> bool:
    """Write templates and name them on `output`; with `check` name the stale ones alone.

    Returns whether every file is as it should be. Raises GraderError when a template cannot be
    made.
    """
    course = find_course(options.course, (Path.cwd(),))
    folder = course.root / "templates" if options.output is None else options.output
    files: dict[Path, bytes] = {}
    left_over: list[Path] = []
    for chosen in choose_assignments(course, options.slug, messages):
        made = build_templates(course.root, chosen, options.language)
        files |= {folder / name: content for name, content in made.items()}
        if options.language is None:
            left_over += find_left_over(folder, chosen.assignment.slug, made)
    stale = find_stale(files)
    if not options.check:
        write_files({path: files[path] for path in stale})
        _say_written(files, stale, output)
        stale = []
    for path in stale:
        tell(output, say("{path} is stale or missing.", path=_shown(path)))
    for path in left_over:
        left = say(
            "{path} is left over: its master has no such language. Delete it.", path=_shown(path)
        )
        tell(output, left)
    if stale:
        tell(messages, say("Make them anew: {command}", command=_command(options)))
    return not (stale or left_over)


def choose_assignments(
    course: Course, slug: str | None, messages: Console
) -> list[CourseAssignment]:
    """Return the named assignment, or all that have a master notebook; name those without one."""
    if slug is not None:
        return [course.get(slug)]
    chosen = []
    for each, assignment in course.assignments.items():
        if has_master(course.root, each):
            chosen.append(assignment)
        else:
            tell(messages, say("{slug} has no master notebook: nothing is made for it.", slug=each))
    return chosen


def _say_written(files: dict[Path, bytes], stale: list[Path], output: Console) -> None:
    for path in files:
        done = say("written") if path in stale else say("unchanged")
        tell(output, say("{path}  {done}", path=_shown(path), done=done))


def _shown(path: Path) -> str:
    """Return the path as one would type it here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _command(options: TemplateOptions) -> str:
    """Return the command that writes what was checked."""
    words = ["grader", "template"]
    words += [options.slug] if options.slug is not None else []
    words += ["--lang", options.language] if options.language is not None else []
    words += ["--output", str(options.output)] if options.output is not None else []
    words += ["--course", str(options.course)] if options.course is not None else []
    return " ".join(words)
