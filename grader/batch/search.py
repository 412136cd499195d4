"""Searching a folder for what was handed in: notebooks, and whoever handed in none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.handed_in import LINK_HINT, kind_of
from grader.language import NOTHING, Text, say

SUFFIX = ".ipynb"
TEXTS = (".py", ".md")

DEEPEST = 60
"""So many folders below the one that was named are looked into."""

_TOOLS = frozenset({"__MACOSX", "__pycache__"})
"""Folders that programs make beside what is handed in; so do those that begin with a dot."""

_OF_A_MAC = "._"
"""So begins what a Mac puts beside `hw.ipynb` on foreign disks: icons and the like, no notebook."""

_NOT_LOOKED_INTO = _TOOLS | {".ipynb_checkpoints"}

PERMISSIONS = say("Mend its permissions, and run the same command again.")
HAND_IN = say("Hand in the .ipynb file itself.")


class Found(msgspec.Struct, frozen=True):
    """A notebook, or with a `problem` something that should be one. `trusted` is as of an Entry."""

    path: Path
    problem: Text = NOTHING
    hint: Text = NOTHING
    trusted: Path = Path("/")


def search(folder: Path, *, is_class: bool, reports: Path | None = None) -> Iterator[Found]:
    """Yield the notebooks below a folder, and those in it who handed in nothing.

    The folder of `reports` may lie in it, and nobody handed that in. Every other folder in it is
    somebody's where no notebook lies in the folder itself: a student's may have data beside the
    notebook. `is_class` says that it may be a class with a notebook beside the folders: it is one
    where another notebook lies in one of them.
    """
    here = _Walk(folder, deepest=0)
    linked = [Found(each, *problem_of_link(each)) for each in here.links if not _is_file(each)]
    yield from here.notebooks
    yield from here.obstacles
    yield from linked
    others = [each for each in here.folders if _is_somebodys(each) and each != reports]
    walks = {each: _Walk(each, DEEPEST) for each in here.folders}
    has_others = is_class and any(walks[each].notebooks for each in others)
    counted = frozenset(others if has_others or not here.notebooks else ())
    is_empty = not (here.notebooks or here.obstacles or linked or counted)
    for each, walk in walks.items():
        yield from walk.notebooks
        yield from walk.obstacles[:1]
        is_empty = is_empty and not (walk.notebooks or walk.obstacles)
        if each in counted and not walk.notebooks and not walk.obstacles:
            yield _nothing_in(each, walk)
    if is_empty:
        yield _nothing_in(folder, here)


def problem_of_file(mode: int) -> tuple[Text, Text]:
    """Say by its `st_mode` why a file may not be read, and what to do; both are empty if it may."""
    if stat.S_ISREG(mode):
        return NOTHING, NOTHING
    return say("It is {kind}, not a file.", kind=kind_of(mode)), HAND_IN


def problem_of_closed(error: OSError) -> tuple[Text, Text]:
    """Say why something cannot be looked at, and what to do."""
    return say("It cannot be read: {strerror}.", strerror=str(error.strerror)), PERMISSIONS


def problem_of_link(link: Path) -> tuple[Text, Text]:
    """Say that something is a link or lies behind one, and what to do."""
    return say("{link} is a link, which is not followed.", link=link.name), LINK_HINT


class _Walk:
    """What is in a folder and up to `deepest` below it.

    `notebooks` are there, `folders` lie directly in it, `obstacles` keep something from being
    found, `others` are files that are graded when they are named, `links` lead elsewhere.
    """

    def __init__(self, folder: Path, deepest: int) -> None:
        self.notebooks: list[Found] = []
        self.folders: list[Path] = []
        self.obstacles: list[Found] = []
        self.others: list[Path] = []
        self.links: list[Path] = []
        self._walk(folder, deepest)

    def _walk(self, folder: Path, deepest: int) -> None:
        waiting = [(folder, 0)]
        while waiting:
            place, depth = waiting.pop()
            inner = self._look_into(place, is_top=depth == 0)
            if depth < deepest:
                waiting += [(each, depth + 1) for each in reversed(inner)]
            elif inner and deepest:
                self.obstacles.append(_too_deep(inner[0]))

    def _look_into(self, folder: Path, *, is_top: bool) -> list[Path]:
        """Sort what is in a folder. Returns the folders in it."""
        try:
            with os.scandir(folder) as found:
                inside = sorted(found, key=lambda each: each.name)
        except OSError as error:  # a path that is too long, or one that is closed
            self.obstacles.append(_closed(folder, error))
            return []
        for each in inside:
            self._sort(each)
        folders = [Path(each.path) for each in inside if each.is_dir(follow_symlinks=False)]
        folders = [each for each in folders if each.name not in _NOT_LOOKED_INTO]
        if is_top:
            self.folders = folders
        return folders

    def _sort(self, entry: os.DirEntry[str]) -> None:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            return
        if entry.name.startswith(_OF_A_MAC):
            return
        if entry.name.lower().endswith(SUFFIX):
            self.notebooks.append(Found(path, *_problem_of(entry, path)))
        elif entry.is_symlink():
            self.links.append(path)
        elif entry.name.endswith(TEXTS):
            self.others.append(path)


def _problem_of(entry: os.DirEntry[str], path: Path) -> tuple[Text, Text]:
    """Say why a file in a folder may not be read, and what to do; both are empty if it may."""
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError as error:  # its path is too long, or its folder can be listed and not entered
        return problem_of_closed(error)
    return problem_of_link(path) if stat.S_ISLNK(mode) else problem_of_file(mode)


def _is_file(link: Path) -> bool:
    """Say whether a link leads to a file, so that nobody's folder is behind it."""
    try:
        return link.is_file()
    except OSError:
        return False


def _is_somebodys(folder: Path) -> bool:
    return not folder.name.startswith(".") and folder.name not in _TOOLS


def _nothing_in(folder: Path, walk: _Walk) -> Found:
    if walk.links:
        problem = say(
            "Nothing to grade in {folder}: there is no notebook, and {link} is a link, which is not"
            " followed.",
            folder=folder.name,
            link=walk.links[0].name,
        )
        return Found(folder, problem, LINK_HINT)
    problem = say("Nothing to grade in {folder}: there is no notebook.", folder=folder.name)
    if walk.others:
        other = walk.others[0].relative_to(folder.parent).as_posix()
        hint = say("Scripts and Markdown are graded when they are named: {other}.", other=other)
        return Found(folder, problem, hint)
    return Found(
        folder,
        problem,
        say("Look what became of it, or hand in a file that ends in {suffix}.", suffix=SUFFIX),
    )


def _closed(folder: Path, error: OSError) -> Found:
    reason = str(error.strerror)
    problem = say("Cannot look into {folder}: {strerror}.", folder=folder.name, strerror=reason)
    return Found(folder, problem, PERMISSIONS)


def _too_deep(folder: Path) -> Found:
    return Found(
        folder,
        say(
            "Not looked into {folder}: it lies more than {most} folders deep.",
            folder=folder.name,
            most=DEEPEST,
        ),
        say("Hand in the notebook in a folder of its own."),
    )
