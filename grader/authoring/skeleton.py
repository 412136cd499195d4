"""`grader new`: the files of an assignment that is complete, small, and made to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from grader.authoring import skeleton_texts
from grader.authoring.build import build_templates, write_files
from grader.course import load_course
from grader.errors import UsageError

SLUG = re.compile(r"[a-z][a-z0-9_-]*\Z")


def make_assignment(root: Path, slug: str) -> list[Path]:
    """Write a new assignment into a course's folder, which may be empty; return the files.

    Raises UsageError for a name that cannot be one, and when a file is there already: then
    nothing is written.
    """
    if not SLUG.match(slug):
        raise UsageError(
            f"{slug!r} cannot be the name of an assignment.",
            "Use small letters, digits, - and _, and begin with a letter.",
        )
    files = {root / path: text.encode() for path, text in _files(slug).items()}
    taken = [path for path in (*files, *(root / "templates").glob(f"{slug}.*")) if path.exists()]
    if taken:
        raise UsageError(
            f"{taken[0]} is there already.", "Choose another name, or move it away first."
        )
    write_files(files)
    made = build_templates(root, load_course(root).get(slug))
    templates = {root / "templates" / name: content for name, content in made.items()}
    write_files(templates)
    return [*files, *templates]


def _files(slug: str) -> dict[str, str]:
    title = slug.replace("-", " ").replace("_", " ").capitalize()
    texts = {
        f"assignments/{slug}/assignment.toml": skeleton_texts.ASSIGNMENT,
        f"assignments/{slug}/oracle.py": skeleton_texts.ORACLE,
        f"assignments/{slug}/mutants.toml": skeleton_texts.MUTANTS,
        f"reference/{slug}.py": skeleton_texts.MASTER,
    }
    return {path: text.format(slug=slug, title=title) for path, text in texts.items()}
