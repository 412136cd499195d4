"""The generated notebooks of a course: what they are now, which files are stale, writing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.authoring.master import find_master, read_master
from grader.authoring.template import make_reference, make_template, notebook_bytes
from grader.authoring.translation import ENGLISH, master_languages
from grader.course import CourseAssignment
from grader.files import unwritable, write_whole
from grader.language import say


def template_name(slug: str, language: str) -> str:
    """Return the file name of a template; the English one is named by the assignment alone."""
    return f"{slug}.ipynb" if language == ENGLISH else f"{slug}.{language}.ipynb"


def build_templates(
    root: Path, chosen: CourseAssignment, language: str | None = None
) -> dict[str, bytes]:
    """Return an assignment's templates by file name: in one language, or in all of its master.

    Raises CourseError for a master that is missing or damaged, UsageError for a language that it
    does not have.
    """
    slug, version = chosen.assignment.slug, chosen.assignment.version
    master = read_master(find_master(root, slug))
    languages = master_languages(master) if language is None else (language,)
    return {
        template_name(slug, each): notebook_bytes(make_template(master, slug, version, each))
        for each in languages
    }


def build_reference(root: Path, chosen: CourseAssignment) -> bytes:
    """Return the solved notebook of an assignment, in English. Raises CourseError."""
    slug, version = chosen.assignment.slug, chosen.assignment.version
    return notebook_bytes(make_reference(read_master(find_master(root, slug)), slug, version))


def find_stale(files: Mapping[Path, bytes]) -> list[Path]:
    """Return the paths whose file is missing or differs from what is made now."""
    return [
        path for path, content in files.items() if not path.exists() or path.read_bytes() != content
    ]


def find_left_over(folder: Path, slug: str, names: Iterable[str]) -> list[Path]:
    """Return an assignment's templates in a folder that are no longer made."""
    found = (folder / f"{slug}.ipynb", *sorted(folder.glob(f"{slug}.*.ipynb")))
    return [path for path in found if path.exists() and path.name not in set(names)]


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write the files, making folders as needed. Raises UsageError for one that cannot be."""
    for path, content in files.items():
        _write(path, content)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise unwritable(path, error, say("a notebook")) from None
