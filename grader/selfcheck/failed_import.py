"""Why a notebook has no TVM: the cell that imports it failed before it came to that."""

from __future__ import annotations

import linecache
import re
import traceback
from typing import NamedTuple

_TVM = re.compile(r"^[ \t]*(?:import|from)[ \t]+tvm\b", re.MULTILINE)
_IMPORT = re.compile(r"(?:import|from)\s")

LONGEST = 300
"""Characters of an error's message that are shown."""


class FailedImport(NamedTuple):
    """The line of the cell that failed, such as "import torchvision", and the error in a line."""

    line: str
    error: str


def failed_import(error: BaseException) -> FailedImport | None:
    """Return what failed, if the error left a cell that imports TVM at an import; None if not."""
    for frame in traceback.extract_tb(error.__traceback__):
        source = "".join(linecache.getlines(frame.filename))
        line = (frame.line or "").strip()
        if "ipykernel" in frame.filename and _TVM.search(source) and _IMPORT.match(line):
            said = " ".join(str(error).split())
            return FailedImport(line, f"{type(error).__name__}: {said}"[:LONGEST])
    return None
