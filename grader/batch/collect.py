"""Which files a batch grades, and under which name each of their reports is kept."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.errors import UsageError

SUFFIX = ".ipynb"
IGNORED_FOLDER = ".ipynb_checkpoints"

_LONGEST_PART = 120
"""Bytes of a file name that are kept; file systems allow 255, and some of ours is added."""

_RESERVED = frozenset({"summary"})
_OWN = re.compile(r"-[0-9a-f]{16}\Z")
_FORBIDDEN = frozenset('<>:"/\\|?*')


class Entry(msgspec.Struct, frozen=True):
    """A submission of a batch.

    `file` is its path below the folder that all submissions have in common, `name` the same as a
    name for people and for the report's file, unique in the batch. `problem` says why the file may
    not be read.
    """

    path: Path
    file: str
    name: str
    problem: str = ""


def collect(arguments: Iterable[Path]) -> tuple[Entry, ...]:
    """Return the submissions that files and folders name, by name in order, none of them twice.

    Folders are searched for notebooks. Links in them are not followed: a link that was handed in
    may lead to a solution. Raises UsageError where there is no such file, or no notebook at all.
    """
    found: dict[Path, str] = {}
    bases: list[Path] = []
    for argument in arguments:
        path = Path(os.path.abspath(argument))  # noqa: PTH100  it must not follow links
        if path.is_dir():
            bases.append(path)
            for each in _notebooks_below(path):
                found.setdefault(each, _problem(each))
        elif path.exists():
            bases.append(path.parent)
            found[path] = ""
        else:
            raise UsageError(f"There is no file or folder {argument}.", "Check the name.")
    if not found:
        raise UsageError("No notebook was found.", f"Name files, or folders with {SUFFIX} files.")
    common = Path(os.path.commonpath(bases))
    files = {path: path.relative_to(common).as_posix() for path in found}
    names = name_reports(files.values())
    entries = [Entry(path, file, names[file], found[path]) for path, file in files.items()]
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


def _notebooks_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if name != IGNORED_FOLDER)
        for name in sorted(names):
            if name.endswith(SUFFIX):
                yield Path(parent, name)


def _refuse(error: OSError) -> None:
    raise UsageError(
        f"Cannot look into the folder {error.filename}: {error.strerror}.", "Check its permissions."
    )


def _problem(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        return ""
    return "It is a link, which is not followed." if stat.S_ISLNK(mode) else "It is not a file."


def _safe_name(file: str) -> str:
    *folders, last = file.removesuffix(SUFFIX).split("/")
    parts = [_safe_part(folder) for folder in folders]
    # A folder may not bear the name of another submission's report.
    parts = [f"{part}_" if part.casefold().endswith(".json") else part for part in parts]
    return "/".join([*parts, _safe_part(last)])


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
