"""What students have handed in, whichever system it was, before anybody knows who they are."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

import msgspec

from grader.lms.archives import LeftOut
from grader.lms.choices import Key, Layout
from grader.lms.times import ToldTime


class Delivery(msgspec.Struct, frozen=True):
    """What somebody handed in at one time.

    `name` is the student's as the layout spells it, empty where it says none. `files` are paths and
    the names that they had when they were handed in. `at` is ISO 8601, with an offset where it is
    known, empty where it is not. `said` are the words that say it, and `zone` is an abbreviation in
    them that several zones have. `late` is None where nothing says so. `given` is a name that the
    system itself has given: it knows by it whose feedback is. `entry` tells two apart that have the
    same keys. `left_out` are files that the system tells of and that are not here.
    """

    name: str
    keys: Mapping[Key, str]
    files: tuple[tuple[Path, str], ...]
    late: bool | None = None
    at: str = ""
    said: str = ""
    zone: str = ""
    given: str = ""
    entry: str = ""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """What the system itself tells students apart by."""
        return (*sorted(self.keys.items()), self.entry)


class FolderContents(msgspec.Struct, frozen=True):
    """What a folder holds by one layout, and the names that do not belong to it.

    `left_out` does belong to it, and has a reason. It is `certain` where a name that no student can
    have shows the layout, and not what most of the names are.
    """

    layout: Layout
    handed_in: tuple[Delivery, ...]
    strangers: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    certain: bool = False


class When(TypedDict):
    """The fields of a Delivery that say when."""

    at: str
    said: str
    zone: str


def told_when(words: str, read: Callable[[str], ToldTime]) -> When:
    """Return when something was handed in, by words that are one, or none."""
    found = read(words)
    return {"at": found.iso, "said": words, "zone": found.zone}
