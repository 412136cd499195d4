"""`grader sync` within the process of a test: what it printed and returned, how long it waited."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.cli.syncing import (
    FetchOptions,
    PushOptions,
    run_fetch,
    run_fetch_students,
    run_push,
)
from tests.lms.sync.lti_server import Lti
from tests.lms.sync.servers import Canvas, Site

SLUG = "small"


class Ran:
    """A command that has ended."""

    def __init__(self, complete: bool, text: str, waits: list[float]) -> None:
        self.complete, self.text, self.waits = complete, " ".join(text.split()), waits


def url_of(site: Site) -> str:
    if isinstance(site, Canvas):
        return f"{site.url}/courses/12/assignments/34"
    if isinstance(site, Lti):
        return site.line_items
    return f"{site.url}/mod/assign/view.php?id=77"


def platform_of(site: Site) -> Any:
    if isinstance(site, Lti):
        return "lti"
    return "canvas" if isinstance(site, Canvas) else "moodle"


def fetch(site: Site, folder: Path, **options: Any) -> Ran:
    """Fetch into `folder/class`."""
    console, waits = _console(), list[float]()
    given = FetchOptions(platform_of(site), url_of(site), folder / "class", course=folder)
    for name, value in options.items():
        given = _with(given, name, value)
    complete = run_fetch(given, console, os.environ, waits.append)
    return Ran(complete, console.file.getvalue(), waits)  # type: ignore[attr-defined]


def fetch_students(folder: Path, **options: Any) -> Ran:
    """Fetch the students by LTI into `folder/class`."""
    console, waits = _console(), list[float]()
    given = (folder / "class", options.get("roster"), folder)
    complete = run_fetch_students(*given, console, os.environ, waits.append)
    return Ran(complete, console.file.getvalue(), waits)  # type: ignore[attr-defined]


def push(site: Site, folder: Path, **options: Any) -> Ran:
    """Push from `folder/class`, without a question."""
    console, waits = _console(), list[float]()
    ask = options.pop("ask", None)
    given = PushOptions(platform_of(site), folder / "class", SLUG, yes=ask is None, course=folder)
    for name, value in options.items():
        given = _with(given, name, value)
    try:
        complete = run_push(given, console, os.environ, waits.append, ask=ask)
    except Exception as error:
        error.ran = Ran(False, console.file.getvalue(), waits)  # type: ignore[attr-defined]
        raise
    return Ran(complete, console.file.getvalue(), waits)  # type: ignore[attr-defined]


def _with(given: Any, name: str, value: Any) -> Any:
    from msgspec.structs import replace

    return replace(given, **{name: value})


def _console() -> Console:
    return Console(file=io.StringIO(), width=200, emoji=False)
