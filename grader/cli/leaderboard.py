"""`grader leaderboard`: ranks of schedules for students, of those who want to be in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
from rich.console import Console

from grader import __version__
from grader.cli.class_reports import ClassOptions, open_class
from grader.cli.process import command_language
from grader.cli.telling import tell
from grader.errors import UsageError
from grader.files import unwritable, write_whole
from grader.insights.leaderboard import encode_leaderboard, leaderboard, made_up
from grader.insights.observation import Speed, speed_of
from grader.language import NOTHING, Text, say
from grader.render.audience import shown, utc_now
from grader.render.html.leaderboard import leaderboard_markdown, render_leaderboard
from grader.tables import harmless, read_table, write_table

_STUDENT, _NAME = "student", "name"


class LeaderboardOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader leaderboard`, as they were given."""

    found: ClassOptions
    output: Path
    consent: Path
    machine: str = ""
    language: str | None = None


def run_leaderboard(
    options: LeaderboardOptions, console: Console, clock: Callable[[], datetime] = utc_now
) -> None:
    """Write page, Markdown and JSON for each assignment that times schedules.

    Raises UsageError where nobody in the file was measured, or nothing can be written.
    """
    names = read_consent(options.consent)
    language = options.language or command_language()
    speeds, titles = _speeds(options.found, clock())
    boards = [leaderboard(slug, own, names, options.machine) for slug, own in speeds.items()]
    known = [each for each in boards if each is not None]
    if not known:
        raise UsageError(
            say("Nobody who wants to be in it was measured."),
            say("A line of {file} is for each student who does.", file=str(options.consent)),
        )
    made = say(
        "Made {day} by grader {version}.", day=clock().date().isoformat(), version=__version__
    )
    for board in known:
        slug, title = board.assignment, titles[board.assignment]
        path = options.output / f"{slug}-leaderboard.html"
        try:
            options.output.mkdir(parents=True, exist_ok=True)
            write_whole(path, render_leaderboard(board, title, language, made.in_(language)))
            write_whole(path.with_suffix(".md"), leaderboard_markdown(board, title, language))
            write_whole(path.with_suffix(".json"), encode_leaderboard(board))
        except OSError as error:
            raise unwritable(options.output, error, say("the leaderboard")) from None
        tell(console, say("Written: {path}", path=str(path)))


def read_consent(path: Path) -> dict[str, str]:
    """Return the names under which students want to be seen, by their ids.

    Who has chosen none gets one that is made up, and written into the file, so that it stays.
    Raises UsageError for what is no such table, and where two have one name.
    """
    table = read_table(path)
    header = [each.strip().casefold() for each in table.header]
    if _STUDENT not in header or _NAME not in header:
        raise UsageError(
            say("{file} has no columns student and name.", file=path.name),
            say("Write a line for each student who wants to be in it; the name may be empty."),
        )
    student, name = header.index(_STUDENT), header.index(_NAME)
    taken = {row[name].strip() for row in table.rows}
    fresh = False
    for row in table.rows:
        if not row[name].strip():
            row[name] = made_up(taken)
            taken.add(row[name])
            fresh = True
    if fresh:
        rows = [[harmless(cell) for cell in row] for row in table.rows]
        try:
            write_whole(path, write_table(table.header, rows))
        except OSError as error:
            raise unwritable(path, error, say("the names that were made up")) from None
    names = {row[student].strip(): row[name].strip() for row in table.rows}
    if len({*names.values()}) < len(names):
        raise UsageError(
            say("Two students in {file} have the same name.", file=path.name),
            say("Ask one of them for another one."),
        )
    return names


def _speeds(
    found: ClassOptions, now: datetime
) -> tuple[dict[str, list[tuple[str, Speed]]], dict[str, Text]]:
    """Return what was measured of all attempts, as far as students may see it today."""
    speeds: dict[str, list[tuple[str, Speed]]] = defaultdict(list)
    titles: dict[str, Text] = defaultdict(lambda: NOTHING)
    with open_class(found) as opened:
        for work in opened.works:
            if work.report is None:
                continue
            report = shown(work.report, "student", now)
            speed = speed_of(report)
            titles[work.slug] = report.assignment.title
            if speed is not None:
                speeds[work.slug].append((work.person.id, speed))
    return speeds, titles
