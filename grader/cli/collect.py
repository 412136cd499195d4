"""`grader collect`: what a class handed in, from archives into a folder for each student."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import get_args

import msgspec
from rich.console import Console

from grader.cli.telling import some_of, students, tell, words
from grader.errors import UsageError
from grader.language import Text, in_a_row, say
from grader.lms.archives import Reason
from grader.lms.collect import MANIFEST, SUBMISSIONS, Collected, Outcome, Wanted, collect_class
from grader.lms.names import LAYOUTS, Layout
from grader.lms.roster import read_roster

_SHOWN = 20
"""So many names are printed; all of them are in the manifest and in `--json`."""

_REASONS: dict[Reason, Text] = {
    "link": say("a link, which is not followed"),
    "special": say("no plain file"),
    "outside": say("it would lie outside of the folder"),
    "name": say("its name is too long, or none"),
    "twice": say("there is another of its name"),
    "large": say("it is too large"),
    "encrypted": say("it is encrypted"),
    "unsupported": say("it is packed in a way that cannot be read here"),
    "damaged": say("it is damaged"),
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
    found = outcome.collected.students
    late = [each.folder for each in found if each.attempts[-1].late]
    layouts, count = in_a_row(outcome.layouts), students(len(found))
    tell(output, say("Laid out as by {layouts}: {students}.", layouts=layouts, students=count))
    _list(output, say("New ({count}): {names}."), outcome.new)
    _list(output, say("Handed in once more ({count}): {names}."), outcome.replaced)
    if outcome.unchanged:
        tell(output, say("As before: {count}.", count=len(outcome.unchanged)))
    _list(output, say("Late ({count}): {names}."), late)
    _list(output, say("Not matched to the roster ({count}): {names}."), outcome.unmatched)
    _list(output, say("Of the roster, nothing from ({count}): {names}."), outcome.absent)
    _list(output, say("Nobody's, left out ({count}): {names}."), _left_out(outcome.collected))
    tell(output, say("Whose each folder is: {path}", path=str(folder / MANIFEST)))
    command = f"grader batch {folder / SUBMISSIONS} --output reports"
    tell(output, say("Next: {command}", command=command))


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
        *(
            words(say("{name} ({reason})", name=name, reason=_REASONS[each.reason]))
            for name, each in everything
        ),
        *(
            words(say("{name} (its name does not say whose it is)", name=name))
            for name in collected.strangers
        ),
    ]


def _list(output: Console, sentence: Text, names: Collection[str]) -> None:
    """Tell a sentence with a `count` and `names`, where there are any."""
    if names:
        tell(output, say(sentence, count=len(names), names=some_of(names, _SHOWN)))
