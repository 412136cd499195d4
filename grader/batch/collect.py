"""Which files a batch grades, searched for in folders, and the name that each report gets."""

import hashlib
import itertools
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.language import NOTHING, Text, join, say
from grader.reading.submission import LINK_HINT, absolute, kind_of, link_on_the_way, trusted_folder
from grader.render.wording import one_line

SUFFIX = ".ipynb"
SUFFIXES = (SUFFIX, ".ipynb.json", ".ipynb.txt")
"""What notebooks are called: browsers put an end of their own behind what they save."""

FOREIGN_ARCHIVES = (".rar", ".7z", ".alz", ".egg", ".lzh", ".cab", ".zipx", ".tar.zst")
"""Archives that are not unpacked here."""

_ARCHIVES = (*FOREIGN_ARCHIVES, ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
TEXTS = (".py", ".md")

DEEPEST = 60
"""So many folders below the one that was named are looked into."""

_TOOLS = frozenset({"__MACOSX", "__pycache__"})
"""Folders that programs make beside what is handed in; so do those that begin with a dot."""

_OF_A_MAC = "._"
"""So begins what a Mac puts beside `hw.ipynb` on foreign disks: icons and the like, no notebook."""

_NOT_LOOKED_INTO = _TOOLS | {".ipynb_checkpoints"}

PERMISSIONS = say("fix-permissions-and-run-same-command-again")
HAND_IN = say("hand-in-ipynb-file-itself")


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
    return say("not-file-sentence", kind=kind_of(mode)), HAND_IN


def problem_of_closed(error: OSError) -> tuple[Text, Text]:
    """Say why something cannot be looked at, and what to do."""
    return say("cannot-read-strerror", strerror=str(error.strerror)), PERMISSIONS


def problem_of_link(link: Path) -> tuple[Text, Text]:
    """Say that something is a link or lies behind one, and what to do."""
    return say("path-link", path=link.name), LINK_HINT


class _Walk:
    """What is in a folder and up to `deepest` below it.

    `notebooks` are there, `folders` lie directly in it, `obstacles` keep something from being
    found, `others` are files that are graded when they are named, `links` lead elsewhere. `rest`
    are files of other kinds.
    """

    def __init__(self, folder: Path, deepest: int) -> None:
        self.notebooks: list[Found] = []
        self.folders: list[Path] = []
        self.obstacles: list[Found] = []
        self.others: list[Path] = []
        self.links: list[Path] = []
        self.rest: list[Path] = []
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
        if entry.name.lower().endswith(SUFFIXES):
            self.notebooks.append(Found(path, *_problem_of(entry, path)))
        elif entry.is_symlink():
            self.links.append(path)
        elif entry.name.endswith(TEXTS):
            self.others.append(path)
        else:
            self.rest.append(path)


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
            "nothing-grade-in-there-no-notebook-and-link",
            folder=folder.name,
            link=walk.links[0].name,
        )
        return Found(folder, problem, LINK_HINT)
    problem = say("nothing-grade-in-there-no-notebook", folder=folder.name)
    if walk.others:
        other = walk.others[0].relative_to(folder.parent).as_posix()
        hint = say("name-scripts-and-markdown-files-grade-them", other=other)
        return Found(folder, problem, hint)
    return Found(folder, problem, _hint_without_notebook(walk.rest))


def _hint_without_notebook(files: Sequence[Path]) -> Text:
    """Say what to do where there are other files: of an archive, that nobody has unpacked it."""
    archive = next((each for each in files if each.name.lower().endswith(_ARCHIVES)), None)
    if archive is not None:
        return say("unpack-and-run-same-command-again", file=one_line(archive.name))
    what = say("find-out-what-became-or-hand", suffix=SUFFIX)
    if not files:
        return what
    return join(say("not-notebook", file=one_line(files[0].name)), what)


def _closed(folder: Path, error: OSError) -> Found:
    reason = str(error.strerror)
    problem = say("cannot-list", folder=folder.name, strerror=reason)
    return Found(folder, problem, PERMISSIONS)


def _too_deep(folder: Path) -> Found:
    return Found(
        folder,
        say("not-searched-more-than-folders-deep", folder=folder.name, most=DEEPEST),
        say("hand-in-notebook-in-folder-own"),
    )


_LONGEST_PART = 120
"""Bytes of a file name that are kept; file systems allow 255, and some of ours is added."""

_LONGEST_NAME = 1000
"""Bytes of a whole name that are kept; a path may have 4095, with the folder of the reports."""

_RESERVED = frozenset({"summary"})
_REPORTS = (".json", ".html")
_OWN = re.compile(r"-[0-9a-f]{16}\Z")
_FORBIDDEN = frozenset('<>:"/\\|?*')


class Entry(msgspec.Struct, frozen=True):
    """A submission of a batch, or a folder in which there is none.

    `file` is its path below the folder that all submissions have in common, `name` the same as a
    name for people and for the report's file, unique in the batch. `problem` says why the file may
    not be read, `hint` what to do then. Below the folder `trusted` no link is followed.
    """

    path: Path
    file: str
    name: str
    trusted: Path
    problem: Text = NOTHING
    hint: Text = NOTHING

    @property
    def common(self) -> Path:
        """Return the folder that all submissions of the batch lie in."""
        return self.path.parents[self.file.count("/")]

    @property
    def student(self) -> str:
        """Return the folder in that of the batch, which the student has not named; empty for none.

        What is below it, and a file's name, are the student's own words.
        """
        return self.file.partition("/")[0] if "/" in self.file else ""

    @property
    def whose(self) -> str:
        """Return the folder that the file is in, a student's; empty where it is in none."""
        return "" if "/" not in self.file else self.file.rpartition("/")[0]


MOST_NOTEBOOKS = 5
"""Notebooks of one student that are graded; of a student with more none is."""

OfAttempt = Callable[[Entry], str]
"""Returns the folder of one student's hand-in that a file is in; empty where that is not known."""


def unknown_attempt(_: Entry) -> str:
    """Return that nothing is known of whose folders these are.

    A recipe grades `submissions/ada/hw.ipynb` of a whole repository, where a limit for each folder
    in the batch's would be one for the whole class.
    """
    return ""


def collect(
    arguments: Iterable[Path],
    working: Path | None = None,
    reports: Path | None = None,
    of_attempt: OfAttempt = unknown_attempt,
    class_folder: Callable[[Path], Path] = Path,
) -> tuple[Entry, ...]:
    """Return the submissions that files and folders name, by name in order, none of them twice.

    Folders are searched for notebooks, and who handed in none has an entry too: every folder that
    was named, and every one in it. Links are not followed, whether they are found or named. Of more
    than MOST_NOTEBOOKS in one folder `of_attempt` there is one entry, which says so.
    `working` is the working folder, `reports` that of the reports. Reports are named by the path in
    the `class_folder` of what was named. Raises UsageError where there is no such file or folder.
    """
    working = Path.cwd() if working is None else working
    named = _trusted_folders(arguments, working)
    found: dict[Path, Found] = {}
    bases: list[Path] = []
    for path, trusted in named.items():
        obstacle = _obstacle(path, trusted)
        is_folder = not any(obstacle) and path.is_dir()
        bases.append(class_folder(path if is_folder else path.parent))
        below: Iterable[Found] = [Found(path, *obstacle)]
        if is_folder:
            own = None if reports is None else absolute(reports, working)
            below = search(path, is_class=len(named) == 1, reports=own)
        for each in below:
            found.setdefault(each.path, msgspec.structs.replace(each, trusted=trusted))
    entries = _entries(found.values(), Path(os.path.commonpath(bases)))
    return _without_floods(entries, of_attempt)


def _without_floods(entries: Sequence[Entry], of_attempt: OfAttempt) -> tuple[Entry, ...]:
    """Return the entries, one in place of all that somebody has handed in too many of."""
    groups: dict[str, list[Entry]] = {}
    for each in entries:
        groups.setdefault(of_attempt(each) or f"/{each.name}", []).append(each)
    kept = [
        [_flood(folder, group)] if len(group) > MOST_NOTEBOOKS else group
        for folder, group in groups.items()
    ]
    return tuple(sorted(itertools.chain(*kept), key=lambda entry: entry.name))


def _flood(folder: str, group: Sequence[Entry]) -> Entry:
    first = group[0]
    path = Path(os.path.normpath(first.common / folder))
    folder = path.name if folder == os.curdir else folder
    (name,) = name_reports([folder]).values()
    problem = say(
        "there-notebooks-in-at-most-one-student",
        count=len(group),
        folder=folder,
        most=MOST_NOTEBOOKS,
    )
    hint = say("grade-right-one-by-name-if-folder")
    return Entry(path, folder, name, first.trusted, problem, hint)


def _trusted_folders(arguments: Iterable[Path], working: Path) -> dict[Path, Path]:
    """Return the absolute paths that were named, each with the folder below which links count.

    What several absolute paths have in common is the machine's, and what follows was handed in.
    """
    named = {absolute(each, working): trusted_folder(each, working) for each in arguments}
    elsewhere = [path.parent for path in named if not path.is_relative_to(working)]
    above = Path(os.path.commonpath(elsewhere or [working]))
    if above == Path("/"):  # then they have nothing in common
        return named
    return {
        path: above if trusted.is_relative_to(above) and path.parent in elsewhere else trusted
        for path, trusted in named.items()
    }


def _obstacle(path: Path, trusted: Path) -> tuple[Text, Text]:
    """Say why what was named may not be read, and what to do; both are empty if it may."""
    try:
        link = link_on_the_way(path, trusted)
        if link is not None:
            return problem_of_link(link)
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            say("there-no-file-or-folder", path=str(path)), say("check-name")
        ) from None
    except OSError as error:
        return problem_of_closed(error)
    if stat.S_ISDIR(mode):
        return NOTHING, NOTHING
    if stat.S_ISREG(mode) and path.name.lower().endswith(_ARCHIVES):
        return say("archive-is-not-unpacked", file=path.name), say("collect-class-or-name-notebook")
    return problem_of_file(mode)


def _entries(found: Iterable[Found], common: Path) -> tuple[Entry, ...]:
    files = {each.path.relative_to(common).as_posix(): each for each in found}
    files = {each.path.name if file == "." else file: each for file, each in files.items()}
    names = name_reports(files)
    entries = [
        Entry(each.path, file, names[file], each.trusted, each.problem, each.hint)
        for file, each in files.items()
    ]
    return tuple(sorted(entries, key=lambda entry: entry.name))


def name_reports(files: Iterable[str]) -> dict[str, str]:
    """Return a name for each relative path: `ada/hw.ipynb` becomes `ada/hw`.

    Names are safe to use as paths below any folder, also where case does not count. A path whose
    name had to be changed, is another's too, or looks like such a name, gets its own digest.
    """
    plain = {file: _safe_name(file) for file in files}
    count = Counter(map(_folded, plain.values()))
    return {
        file: name if count[_folded(name)] == 1 and _is_free(name, file) else _own_name(name, file)
        for file, name in plain.items()
    }


def _is_free(name: str, file: str) -> bool:
    if name != unicodedata.normalize("NFC", file).removesuffix(SUFFIX):
        return False
    return _folded(name) not in _RESERVED and _OWN.search(_folded(name)) is None


def _own_name(name: str, file: str) -> str:
    return f"{name}-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"


def _safe_name(file: str) -> str:
    *folders, last = file.removesuffix(SUFFIX).split("/")
    parts = [_safe_part(folder) for folder in folders]
    # A folder may not bear the name of another submission's report, or of its page.
    parts = [f"{part}_" if part.casefold().endswith(_REPORTS) else part for part in parts]
    name = "/".join([*parts, _safe_part(last)])
    return name if len(name.encode()) <= _LONGEST_NAME else f"{parts[0]}/{_safe_part(last)}"


def _safe_part(part: str) -> str:
    """Replace what is not printable or means something to a file system."""
    text = "".join(_safe_character(character) for character in unicodedata.normalize("NFC", part))
    cut = text.encode()[:_LONGEST_PART].decode(errors="ignore")
    if cut.startswith("."):
        cut = f"_{cut[1:]}"
    return cut.rstrip(" .") or "_"


def _safe_character(character: str) -> str:
    is_safe = character == " " or (character.isprintable() and not character.isspace())
    return character if is_safe and character not in _FORBIDDEN else "_"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())
