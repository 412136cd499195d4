"""Opening what was handed in: no link in it is followed, and nothing but a plain file is read.

A link that was handed in may lead to a solution, or to another student's work. Whoever grades may
have links of their own above what was handed in, as where homes lie on another disk. So a path has
two parts: down to a trusted folder links are followed, below it they are not.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageError
from grader.language import Text, say

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# a named pipe would be waited for without O_NONBLOCK

LINK_HINT = say(
    "A link that was handed in may lead to a solution. If it is your own, name what it leads to."
)


class RefusedError(UsageError):
    """Raised for what is no plain file, or lies behind a link."""


def trusted_folder(named: Path, working: Path) -> Path:
    """Return the folder below which no link is followed on the way to a file that was named.

    What was typed from the working folder on may have been handed in, also behind leading `..`; so
    may all of an absolute path that lies below the working folder. Of another absolute path only
    its last name is distrusted: the folders before it are those of the machine.
    """
    path = absolute(named, working)
    if not named.is_absolute():
        ups = next((at for at, part in enumerate(named.parts) if part != ".."), len(named.parts))
        start = absolute(Path(*named.parts[:ups]), working)
    else:
        start = working
    return start if path != start and path.is_relative_to(start) else path.parent


def absolute(path: Path, working: Path) -> Path:
    """Return a path from the root on, its `..` resolved by name, so that no link is followed."""
    return Path(os.path.normpath(working / path))


def link_on_the_way(path: Path, trusted: Path) -> Path | None:
    """Return the first link below a trusted folder on the way to a path, itself included.

    Raises OSError where one cannot look.
    """
    way = (*reversed(path.relative_to(trusted).parents), path.relative_to(trusted))
    places = (trusted / each for each in way[1:])
    return next((each for each in places if stat.S_ISLNK(each.lstat().st_mode)), None)


def open_handed_in(path: Path, trusted: Path) -> BinaryIO:
    """Open a plain file that lies below a trusted folder, unbuffered.

    Every name on the way is opened from the folder before it, so nothing can be exchanged for a
    link in between, and no path is too long. Raises RefusedError for a link and for what is no
    plain file, OSError for what cannot be opened.
    """
    *folders, name = path.relative_to(trusted).parts or (os.curdir,)
    at = os.open(trusted, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for folder in folders:
            inner = _open_at(at, folder, _FOLDER)
            os.close(at)
            at = inner
        descriptor = _open_at(at, name, _FILE)
    finally:
        os.close(at)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _not_a_file(path.name or str(path), mode)
    return os.fdopen(descriptor, "rb", buffering=0)


def _open_at(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        mode = os.lstat(name, dir_fd=folder).st_mode
        if stat.S_ISLNK(mode):
            raise RefusedError(
                say("{link} is a link, which is not followed.", link=name), LINK_HINT
            ) from None
        if error.errno == errno.ENXIO:  # a socket cannot be opened at all
            raise _not_a_file(name, mode) from None
        raise


def _not_a_file(name: str, mode: int) -> RefusedError:
    hint = say("Name a notebook, a script or a Markdown file.")
    if stat.S_ISDIR(mode):
        hint = say(
            "Name a notebook in it, or grade all of it: grader batch FOLDER --output REPORTS."
        )
    return RefusedError(say("{name} is {kind}, not a file.", name=name, kind=kind_of(mode)), hint)


def kind_of(mode: int) -> Text:
    """Say what something is that is no plain file, by its `st_mode`."""
    kinds = (
        (stat.S_ISDIR, say("a folder")),
        (stat.S_ISLNK, say("a link")),
        (stat.S_ISFIFO, say("a named pipe")),
        (stat.S_ISSOCK, say("a socket")),
    )
    return next((name for is_kind, name in kinds if is_kind(mode)), say("a device"))
