"""Which files a batch grades, and under which name each of their reports is kept."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from grader.batch.search import (
    SUFFIX,
    Found,
    problem_of_closed,
    problem_of_file,
    problem_of_link,
    search,
)
from grader.errors import UsageError
from grader.handed_in import absolute, link_on_the_way, trusted_folder
from grader.language import NOTHING, Text, say

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
    def whose(self) -> str:
        """Return the folder that the file is in, a student's; empty where it is in none."""
        return "" if "/" not in self.file else self.file.rpartition("/")[0]


def collect(
    arguments: Iterable[Path], working: Path | None = None, reports: Path | None = None
) -> tuple[Entry, ...]:
    """Return the submissions that files and folders name, by name in order, none of them twice.

    Folders are searched for notebooks, and who handed in none has an entry too: every folder that
    was named, and every one in it. Links are not followed, whether they are found or named.
    `working` is the working folder, `reports` that of the reports. Raises UsageError where there is
    no such file or folder.
    """
    working = Path.cwd() if working is None else working
    named = _trusted_folders(arguments, working)
    found: dict[Path, Found] = {}
    bases: list[Path] = []
    for path, trusted in named.items():
        obstacle = _obstacle(path, trusted)
        is_folder = not any(obstacle) and path.is_dir()
        bases.append(path if is_folder else path.parent)
        below: Iterable[Found] = [Found(path, *obstacle)]
        if is_folder:
            own = None if reports is None else absolute(reports, working)
            below = search(path, is_class=len(named) == 1, reports=own)
        for each in below:
            found.setdefault(each.path, msgspec.structs.replace(each, trusted=trusted))
    return _entries(found.values(), Path(os.path.commonpath(bases)))


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
            say("There is no file or folder {path}.", path=str(path)), say("Check the name.")
        ) from None
    except OSError as error:
        return problem_of_closed(error)
    return (NOTHING, NOTHING) if stat.S_ISDIR(mode) else problem_of_file(mode)


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
    name had to be changed, is another's too, or looks like such a name, gets a digest of its own.
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
