"""`grader collect`: what a class handed in, from archives into a folder for each student."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import get_args

import msgspec
from rich.console import Console

from grader.cli.migrate import printable
from grader.errors import UsageError
from grader.language import in_a_row, say
from grader.lms.archives import Reason
from grader.lms.collect import MANIFEST, SUBMISSIONS, Collected, Outcome, Wanted, collect_class
from grader.lms.names import LAYOUTS, Layout
from grader.lms.roster import read_roster

_SHOWN = 20
"""So many names are printed; all of them are in the manifest and in `--json`."""

_REASONS: dict[Reason, str] = {
    "link": "a link, which is not followed",
    "special": "no plain file",
    "outside": "it would lie outside of the folder",
    "name": "its name is too long, or none",
    "twice": "there is another of its name",
    "large": "it is too large",
    "encrypted": "it is encrypted",
    "unsupported": "it is packed in a way that cannot be read here",
    "damaged": "it is damaged",
}


class CollectOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader collect`, as they were given."""

    sources: tuple[Path, ...]
    output: Path
    layout: str | None = None
    roster: Path | None = None
    assignment: str | None = None
    json: bool = False


def run_collect(options: CollectOptions, output: Console, write: Callable[[bytes], None]) -> bool:
    """Collect and say what was done. Returns whether everything was somebody's and was taken.

    Raises GraderError when a source cannot be read.
    """
    roster = None if options.roster is None else read_roster(options.roster)
    wanted = Wanted(options.sources, options.output, _layout(options.layout), options.assignment)
    outcome = collect_class(wanted, roster)
    if options.json:
        write(msgspec.json.format(msgspec.json.encode(outcome), indent=2) + b"\n")
    else:
        _print(outcome, options.output, output)
    return not (outcome.unmatched or _left_out(outcome.collected))


def _layout(name: str | None) -> Layout | None:
    if name is not None and name not in LAYOUTS:
        raise UsageError(
            say("--from {name} is unknown.", name=name),
            say("One of: {names}.", names=in_a_row(get_args(Layout))),
        )
    return next((each for each in LAYOUTS if each == name), None)


def _print(outcome: Outcome, folder: Path, output: Console) -> None:
    students = outcome.collected.students
    late = [each.folder for each in students if each.attempts[-1].late]
    _say(output, f"Laid out as by {' and '.join(outcome.layouts)}: {_count(students, 'student')}.")
    _list(output, "New", outcome.new)
    _list(output, "Handed in once more", outcome.replaced)
    if outcome.unchanged:
        _say(output, f"As before: {len(outcome.unchanged)}.")
    _list(output, "Late", late)
    _list(output, "Not matched to the roster", outcome.unmatched)
    _list(output, "Of the roster, nothing from", outcome.absent)
    _list(output, "Nobody's, left out", _left_out(outcome.collected))
    _say(output, f"Whose each folder is: {folder / MANIFEST}")
    _say(output, f"Next: grader batch {folder / SUBMISSIONS} --output reports")


def _left_out(collected: Collected) -> list[str]:
    """Say what was not taken, and why."""
    everything = [
        *((each.name, each) for each in collected.left_out),
        *(
            (f"{student.folder}/{each.name}", each)
            for student in collected.students
            for each in student.attempts[-1].left_out
        ),
    ]
    return [
        *(f"{name} ({_REASONS[each.reason]})" for name, each in everything),
        *(f"{name} (its name says not whose it is)" for name in collected.strangers),
    ]


def _list(output: Console, what: str, names: Collection[str]) -> None:
    if names:
        shown = list(names)[:_SHOWN]
        more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        _say(output, f"{what} ({len(names)}): {', '.join(shown)}{more}.")


def _count(things: Collection[object], what: str) -> str:
    return f"{len(things)} {what}" if len(things) == 1 else f"{len(things)} {what}s"


def _say(output: Console, text: str) -> None:
    output.print(printable(text), markup=False, highlight=False, soft_wrap=True)
