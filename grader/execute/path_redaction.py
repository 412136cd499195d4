"""Paths of the grading machine, taken out of what a notebook printed.

Which folders the grader is installed in, who runs it and where is nobody's business. The student's
own paths stay: what is taken out is known by where this process runs, and by how notebooks run.
"""

import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

_COMMON = frozenset({
    "/", "/bin", "/etc", "/home", "/lib", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/usr/local",  # noqa: S108
    "/var", "/var/tmp",  # noqa: S108
})  # fmt: skip
"""Folders of every system: they tell nothing, and students name them too."""

_INSIDE = "/scratch"
"""The folder that notebooks run in, as they see it."""

_PATH = r"[\w.+@~/-]"
_CELL_FILE = re.compile(rf"(?<!{_PATH})/{_PATH}*/ipykernel_\d+/\d+\.py")
_PACKAGES = re.compile(rf"(?<!{_PATH})/{_PATH}*/(?:site|dist)-packages/")
_LIBRARY = re.compile(rf"(?<!{_PATH})/{_PATH}*/lib/python3\.\d+/")
_BOX = re.compile(
    rf"(?<!{_PATH})/{_PATH}*/grader-box-[\w-]{{8}}(?:/scratch|/tmp)?(?:/|(?!{_PATH}))"
)
# Only the start of a path is tried, so that a text of one long word costs linear time.


class PathRedaction:
    """Knows folders of this machine, and takes them out of texts."""

    def __init__(self, folders: Iterable[str | Path]) -> None:
        """`folders` are absolute paths; those that every system has are left alone."""
        known = {str(folder).rstrip("/") for folder in folders} - _COMMON - {"", "."}
        ordered = sorted(known | {_INSIDE}, key=len, reverse=True)
        names = "|".join(map(re.escape, ordered))
        self._known = re.compile(rf"(?<![\w.-])(?:{names})(/|(?![\w-]))")

    def without(self, text: str) -> str:
        """Return a text with paths from these folders on, and an ellipsis for a folder alone.

        A file of a package begins with the package's name; the file of a cell is "the cell".
        """
        text = _PACKAGES.sub("", _CELL_FILE.sub("the cell", text))
        text = _BOX.sub(_rest, _LIBRARY.sub("", text))
        return self._known.sub(_rest, text)


def _rest(match: re.Match[str]) -> str:
    return "" if match[0].endswith("/") else "…"


def own_folders() -> tuple[str | Path, ...]:
    """Return the folders of this process: Python's, the grader's, the user's, the working one."""
    installed = (sys.prefix, sys.exec_prefix, sys.base_prefix, *sysconfig.get_paths().values())
    searched = (folder for folder in sys.path if folder.startswith("/"))
    grader = Path(__file__).resolve().parents[2]
    user = (Path.home(), Path.cwd(), tempfile.gettempdir())
    return (*installed, *searched, Path(sys.executable).parent, grader, *user)
