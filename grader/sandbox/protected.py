"""Folders that no submission may read although they lie below something that every box shows.

A box shows `/usr` and the folders of Python. A course, data, submissions or reports may lie below
one of them: somewhere in `/usr/local/share`, say, or beside the libraries, where the grader's own
assignments are when it is installed. There they are covered, or nothing is graded.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.errors import SandboxError
from grader.sandbox.layout import SYSTEM_FILES, SYSTEM_FOLDERS, interpreter_folders


def covers(protected: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders that a box must cover, as they are spelt there, outermost first.

    Of a file that is its folder; what does not exist needs no cover. Raises SandboxError when
    Python itself would be covered.
    """
    found: set[Path] = set()
    for folder in _folders(protected):
        inside = {_place(folder, shown) for shown in shown_folders()} - {None}
        if inside and holds_python(folder):
            raise SandboxError(
                f"The folder {folder} cannot be kept from submissions: Python itself lies in it.",
                "Keep courses, data, submissions and reports apart from the Python environment:"
                " in another folder, or the environment in one of its own, such as .venv.",
            )
        found |= {place for place in inside if place is not None}
    return tuple(
        sorted(path for path in found if not any(other in path.parents for other in found))
    )


def shown_folders() -> tuple[Path, ...]:
    """Return all folders of the host that a box shows, once each: some are links in it too."""
    system = [Path("/") / name for name in ("usr", *SYSTEM_FOLDERS)]
    paths = [path for path in (*system, *map(Path, SYSTEM_FILES)) if not path.is_symlink()]
    return tuple(path for path in (*paths, *interpreter_folders()) if path.is_dir())


def holds_python(folder: Path) -> bool:
    """Say whether the interpreter or its packages lie in a folder."""
    return any(needed.is_relative_to(folder) for needed in _python_folders())


def is_for_packages(folder: Path) -> bool:
    """Say whether a folder is one in which Python looks for packages that were installed."""
    return folder.resolve() in {Path(path).resolve() for path in site.getsitepackages()}


def readable_beside(covered: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return what of the shown folders may be read, and what only listed, where nothing can cover.

    A folder on the way to a covered one is taken apart into what else is in it. Only where Python
    looks for packages it may be listed all the same: names below it can be seen then.
    """
    roots = {folder.resolve() for folder in shown_folders()}
    outermost = sorted(root for root in roots if not any(each in root.parents for each in roots))
    closed = {path.resolve() for path in covered}
    readable = [path for root in outermost for path in _without(root, closed)]
    readable += [path for path in map(Path, SYSTEM_FILES) if path.is_file()]
    on_the_way = {parent for path in closed for parent in path.parents}
    python = _python_folders()
    listed = [
        path for path in sorted(on_the_way) if any(path.is_relative_to(each) for each in python)
    ]
    return tuple(readable), tuple(listed)


def _without(folder: Path, closed: set[Path]) -> Iterator[Path]:
    """Yield a folder, or what is in it beside what is closed, without following links."""
    if folder in closed:
        return
    if not any(folder in each.parents for each in closed):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink():  # a rule for a link would be one for what it leads to
            yield from _without(entry, closed)


def _folders(paths: Iterable[Path]) -> set[Path]:
    real = {path.resolve() for path in paths if path.exists()}
    return {path if path.is_dir() else path.parent for path in real}


def _place(folder: Path, shown: Path) -> Path | None:
    """Return where a folder is seen below one that is shown, which may be spelt with links."""
    real = shown.resolve()
    return shown / folder.relative_to(real) if folder.is_relative_to(real) else None


def _python_folders() -> set[Path]:
    paths = sysconfig.get_paths()
    names = [*(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))]
    names += [*site.getsitepackages(), sys.prefix, sys.base_prefix]
    return {Path(name).resolve() for name in names}
