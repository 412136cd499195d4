"""Files where notebooks look for them: folders of Colab, of Kaggle, of a course's own machine.

What is there is opened as it is. Only where a name leads to nothing, two other readings of it are
tried: the folder that stands in for Colab's and Kaggle's is the working folder, and the course's
files are known by their names (`../data/FashionMNIST/raw/t10k-images-idx3-ubyte`). So nothing that
works without this module works otherwise with it, and nothing can be reached that was out of reach.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core import interactiveshell

_AWAY = ("/content/drive/MyDrive", "/content/drive", "/content", "/kaggle/working", "/kaggle/temp")
"""What the working folder stands in for, the longest first."""

_READ_ONLY = ("/kaggle/input",)
_FILE_LIMIT = 1000


def install() -> None:
    """Have this process find the files that lie in its working folder by other names, too."""
    home = Path.cwd()
    given = [path for path in sorted(home.rglob("*"))[:_FILE_LIMIT] if path.is_file()]
    known = _Known(str(home), {path.name: str(path) for path in given})
    # io.open and builtins.open are one function, and must stay one: it is pickled as io.open.
    opened = _opening(io.open, known)
    builtins.open = io.open = opened
    interactiveshell.io_open = opened  # what notebooks have for `open` is IPython's
    for name in ("stat", "lstat", "listdir", "scandir"):
        _replace(name, known.readings)
    _replace("mkdir", known.writings)
    _replace("chdir", known.enterings)


class _Known:
    """Knows other readings of a path. `files` are the course's, by their names."""

    def __init__(self, home: str, files: dict[str, str]) -> None:
        self._home = home
        self._files = files

    def readings(self, path: object) -> list[str]:
        """Return where else something may lie that is to be read."""
        text = _text(path)
        return [*self._inside(text, (*_AWAY, *_READ_ONLY)), *self._named(text)]

    def writings(self, path: object) -> list[str]:
        """Return where else something may be made."""
        return self._inside(_text(path), _AWAY)

    def enterings(self, path: object) -> list[str]:
        """Return what other folder may be entered: that of a drive is the working folder."""
        inside = self.writings(path)
        return [*inside, self._home] if inside else []

    def _inside(self, path: str, folders: tuple[str, ...]) -> list[str]:
        for folder in folders:
            if path == folder or path.startswith(f"{folder}/"):
                return [posixpath.normpath(self._home + path[len(folder) :])]
        return []

    def _named(self, path: str) -> list[str]:
        """Return the course's file of that name, wherever it was looked for."""
        found = self._files.get(posixpath.basename(path))
        return [] if found is None else [found]


def _text(path: object) -> str:
    """Return a path as text, empty for what is none; a student's `__fspath__` is not asked."""
    if type(path) is str:
        return path
    return str(path) if isinstance(path, Path) else ""


def _opening(original: Callable[..., Any], known: _Known) -> Callable[..., Any]:
    @functools.wraps(original)
    def open(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        writes = type(mode) is str and any(letter in mode for letter in "wax+")
        others = known.writings if writes else known.readings
        return _first(lambda path: original(path, mode, *arguments, **options), file, others)

    open.__module__ = "io"
    return open


def _replace(name: str, others: Callable[[object], list[str]]) -> None:
    original = getattr(os, name)

    @functools.wraps(original)
    def function(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        return _first(lambda each: original(each, *arguments, **options), path, others)

    function.__module__ = "os"
    setattr(os, name, function)
    for names in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if original in names:
            names.add(function)


def _first(use: Callable[[Any], Any], path: Any, others: Callable[[object], list[str]]) -> Any:
    """Use a path, or what else it may mean where it leads to nothing."""
    try:
        return use(path)
    except OSError as error:
        for other in others(path):
            try:
                return use(other)
            except OSError:  # noqa: PERF203 - there are two at most
                continue
        raise error from None
