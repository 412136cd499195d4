"""What `grader rubric` does: write rubrics to a file, and take them from one."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from grader.authoring.rubric_files import export_rubrics, read_rubrics, told_parts, write_rubrics
from grader.cli.ending import write_output
from grader.cli.telling import tell
from grader.course import Course, CourseAssignment, find_course
from grader.errors import UsageError
from grader.files import write_or_rescue
from grader.language import say


def run_export_rubric(
    slug: str, output: Path | None, course: Path | None, console: Console
) -> None:
    """Write the rubrics of an assignment. Raises UsageError where it has none."""
    assignment = find_course(course, (Path.cwd(),)).get(slug).assignment
    if not assignment.manual:
        raise UsageError(
            say("has-no-part-mark-by-hand", slug=slug),
            say("add-manual-assignment-toml-see-docs-assignment-md"),
        )
    as_csv = output is not None and output.suffix.lower() == ".csv"
    content = export_rubrics(assignment, as_csv=as_csv)
    if output is None:
        write_output(content)
        return
    write_or_rescue(output, content, say("rubrics"))
    tell(console, *told_parts(assignment.manual), say("written-title", path=str(output)))


def run_import_rubric(
    slug: str, path: Path, course: Path | None, console: Console, *, only_plan: bool
) -> None:
    """Take rubrics from a file. Raises CourseError or UsageError where they do not fit."""
    chosen = _assignment(find_course(course, (Path.cwd(),)), slug)
    parts = read_rubrics(path, chosen.assignment)
    write_rubrics(chosen, parts, only_check=only_plan)
    end = say("nothing-changed")
    if not only_plan:
        end = say("written-title", path=str(chosen.folder / "assignment.toml"))
    tell(console, *told_parts(parts), end)


def _assignment(course: Course, slug: str) -> CourseAssignment:
    found = course.get(slug)
    if found.variant is not None:
        raise UsageError(
            say("variant", slug=slug),
            say("import-into-or-write-variants-file", slug=found.folder.name),
        )
    return found
