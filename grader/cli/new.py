"""`grader new`: begin an assignment, and say what to do next."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from grader.authoring.skeleton import make_assignment


def run_new(slug: str, course: Path | None, output: Console) -> list[Path]:
    """Make an assignment in a course's folder, this one if none is named. Raises GraderError."""
    root = Path.cwd() if course is None else course
    written = make_assignment(root, slug)
    for path in written:
        output.print(f"{path.relative_to(root)}", markup=False, highlight=False, soft_wrap=True)
    where = "" if course is None else f" --course {course}"
    output.print(
        f"It is complete already: grader verify {slug}{where}", markup=False, soft_wrap=True
    )
    return written
