"""`grader new`: begin an assignment, and say what to do next; `grader untranslate`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from grader.authoring.languages import remove_language
from grader.authoring.skeleton import make_assignment
from grader.course import find_course


def run_new(slug: str, course: Path | None, languages: str, output: Console) -> list[Path]:
    """Make an assignment in a course's folder, this one if none is named. Raises GraderError.

    `languages` are codes between commas.
    """
    root = Path.cwd() if course is None else course
    codes = [each.strip() for each in languages.split(",") if each.strip()]
    written = make_assignment(root, slug, codes)
    for path in written:
        output.print(f"{path.relative_to(root)}", markup=False, highlight=False, soft_wrap=True)
    where = "" if course is None else f" --course {course}"
    output.print(
        f"It is complete already: grader verify {slug}{where}", markup=False, soft_wrap=True
    )
    return written


def run_untranslate(slug: str, language: str, course: Path | None, output: Console) -> list[Path]:
    """Take a language out of an assignment, and name the files. Raises GraderError."""
    found = find_course(course, (Path.cwd(),))
    changed = remove_language(found.root, found.get(slug), language)
    for path in changed:
        what = "changed" if path.exists() else "removed"
        line = f"{path.relative_to(found.root)}  {what}"
        output.print(line, markup=False, highlight=False, soft_wrap=True)
    return changed
