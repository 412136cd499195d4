"""`grader new`: the files of an assignment that is complete, small, and made to be changed.

Its texts are files in `skeleton_files/`, in which `{slug}` and `{title}` are filled in. The
assignment is complete: it passes `grader verify`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from os.path import lexists
from pathlib import Path

from grader.authoring.languages import without_language
from grader.authoring.master import LANGUAGES
from grader.authoring.template import build_templates, write_files
from grader.course import load_course
from grader.errors import UsageError
from grader.language import say

FILES = {
    "assignment.toml": "assignments/{slug}/assignment.toml",
    "oracle.py.txt": "assignments/{slug}/oracle.py",
    "workload.py.txt": "assignments/{slug}/workload.py",
    "mutants.toml": "assignments/{slug}/mutants.toml",
    "master.py.txt": "reference/{slug}.py",
}
"""The files, and where they go in a course. What is Python is no module of the grader's."""

SLUG = re.compile(r"[a-z][a-z0-9_-]*\Z")


def make_assignment(
    root: Path, slug: str, languages: Sequence[str] = tuple(LANGUAGES)
) -> list[Path]:
    """Write a new assignment into a course's folder, which may be empty; return the files.

    Its texts are in `languages`, English always among them. Raises UsageError for a name that
    cannot be one, for a language that the texts are not in, when a file is there already, and when
    one cannot be written: then no file is left.
    """
    if not SLUG.match(slug):
        raise UsageError(
            say("cannot-name-assignment", slug=repr(slug)),
            say("use-small-letters-digits-and-begin"),
        )
    contents = {root / path: text.encode() for path, text in _files(slug, languages).items()}
    places = (*contents, *(root / "templates").glob(f"{slug}.*"))
    # A link that leads nowhere is theirs as well.
    taken = [path for path in places if lexists(path)]
    if taken:
        raise UsageError(
            say("exists-already", path=str(taken[0])), say("choose-another-name-or-move-away-first")
        )
    with _none_left_over(written := [*contents]):
        write_files(contents)
        made = build_templates(root, load_course(root).get(slug))
        templates = {root / "templates" / name: content for name, content in made.items()}
        written += templates
        write_files(templates)
    return written


@contextmanager
def _none_left_over(written: list[Path]) -> Iterator[None]:
    """Remove new files if not all could be written: the same command would find them taken."""
    try:
        yield
    except BaseException:  # Ctrl-C as well
        for path in written:
            with suppress(OSError):  # where none could be written none can be removed
                path.unlink()
        raise


def _files(slug: str, languages: Sequence[str]) -> dict[str, str]:
    unknown = sorted({*languages} - {*LANGUAGES})
    if unknown:
        raise UsageError(
            say("new-assignment-cannot-written", languages=", ".join(unknown)),
            say("known", known=", ".join(LANGUAGES)),
        )
    title = slug.replace("-", " ").replace("_", " ").capitalize()
    texts: dict[str, str] = {}
    for name, path in FILES.items():
        text = (files("grader.authoring") / "skeleton_files" / name).read_text(encoding="utf-8")
        for language in {*LANGUAGES} - {*languages, "en"}:
            text = without_language(text, path, language)
        text = text.replace("{slug}", slug).replace("{title}", title)
        texts[path.replace("{slug}", slug)] = text
    return texts
