"""`grader export` and `grader feedback`: grades and pages for the learning management system."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.console import Console

from grader.cli.migrate import printable
from grader.errors import UsageError
from grader.files import unwritable, write_or_rescue, write_whole
from grader.language import say
from grader.lms.collect import Collected, read_manifest
from grader.lms.export import export_grades
from grader.lms.handback import (
    Works,
    grades_of,
    pack_pages,
    page_names,
    read_works,
    student_page,
)
from grader.lms.names import FORMS, PACKED
from grader.lms.tables import read_table
from grader.render.audience import utc_now

_Name = TypeVar("_Name", bound=str)


class ExportOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader export`, as they were given."""

    form: str
    reports: Path
    collected: Path | None = None
    into: Path | None = None
    column: str | None = None
    output: Path | None = None


class FeedbackOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader feedback`, as they were given."""

    reports: Path
    output: Path
    collected: Path | None = None
    packed: str | None = None


def run_export(options: ExportOptions, messages: Console, write: Callable[[bytes], None]) -> bool:
    """Write the grades; say who is not in them. Returns whether everybody is.

    Raises UsageError where the file cannot be made.
    """
    form = _one_of(options.form, FORMS)
    works = _works(options.reports, options.collected)
    own = None if options.into is None else read_table(options.into)
    exported = export_grades(form, grades_of(works), own, options.column)
    if options.output is None:
        write(exported.content)
    else:
        write_or_rescue(options.output, exported.content, say("the grades"))
        _say(messages, f"Written: {options.output}")
    _list(messages, "Not in the file, as the system does not know them", exported.unknown)
    _list(messages, "Without a grade, and left as they were", exported.ungraded)
    _tell_problems(works, messages)
    return not (exported.unknown or works.ungraded or works.several)


def run_feedback(
    options: FeedbackOptions, messages: Console, clock: Callable[[], datetime] = utc_now
) -> bool:
    """Write the students' pages, or an archive of them. Returns whether everybody's is there."""
    works = _works(options.reports, options.collected)
    left_out: tuple[str, ...] = ()
    if options.packed is None:
        _write_pages(works, options.output, clock())
    else:
        content, left_out = pack_pages(works.each, _one_of(options.packed, PACKED), clock())
        write_or_rescue(options.output, content, say("the pages"))
    _say(messages, f"Written: {options.output}, with {len(works.each) - len(left_out)} pages")
    _list(messages, f"Not from {options.packed}, and not in it", left_out)
    _tell_problems(works, messages)
    return not (left_out or works.ungraded or works.several)


def _write_pages(works: Works, folder: Path, now: datetime) -> None:
    names = page_names(works.each)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for work in works.each:
            write_whole(folder / names[work.folder], student_page(work, now))
    except OSError as error:
        raise unwritable(folder, error, say("the pages")) from None


def _works(reports: Path, collected: Path | None) -> Works:
    known = Collected() if collected is None else read_manifest(collected)
    if collected is not None and not known.students:
        raise UsageError(
            f"Nothing was collected into {collected}.", "Name the --output of `grader collect`."
        )
    return read_works(reports, known)


def _one_of(name: str, known: tuple[_Name, ...]) -> _Name:
    found = next((each for each in known if each == name), None)
    if found is None:
        raise UsageError(f"There is no form {name}.", f"One of: {', '.join(known)}.")
    return found


def _tell_problems(works: Works, messages: Console) -> None:
    _list(messages, "Could not be graded", works.ungraded)
    _list(messages, "Several reports, so that none of them counts", works.several)


def _list(output: Console, what: str, names: Collection[str]) -> None:
    if names:
        _say(output, f"{what} ({len(names)}): {', '.join(names)}.")


def _say(output: Console, text: str) -> None:
    output.print(printable(text), markup=False, highlight=False, soft_wrap=True)
