"""Who marks which answers, where several divide them: the same each time, whoever asks.

Each answer ranks the markers by its own digest, and the first of them marks it. So nothing
moves when a student is added, and where a marker is added, only what that one gets.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from grader.errors import UsageError
from grader.language import in_a_row, say

MOST_MARKERS: Final = 100
_OF_SEVERAL = re.compile(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})")


class Share(NamedTuple):
    """What one of several markers marks. `twice` percent of all answers are marked by two."""

    markers: tuple[str, ...]
    own: str
    twice: float = 0.0

    def place(self, *answer: str) -> int | None:
        """Return 0 where this marker's marking of an answer counts, 1 where it is the second one.

        None where others mark it. An answer is named by its assignment, its part and its student.
        """
        ranked = sorted(self.markers, key=lambda each: _digest("marker", each, *answer))
        is_twice = _fraction(_digest("twice", *answer)) < self.twice / 100
        place = ranked.index(self.own)
        return place if place <= is_twice else None


def _digest(*words: str) -> bytes:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()


def _fraction(digest: bytes) -> float:
    return int.from_bytes(digest[:6], "big") / 2**48


def read_share(text: str, markers: Sequence[str], twice: float) -> Share:
    """Return the share that is meant: 2/3, or the name of one of the course's markers.

    Of a course with three markers, 2/3 is the second one's: some may use names, others fractions.
    Raises UsageError.
    """
    if text in markers:
        return Share(tuple(markers), text, twice)
    found = _OF_SEVERAL.fullmatch(text)
    if found is None or not int(found[1]) <= int(found[2]) <= MOST_MARKERS:
        known = say("write-1-3")
        if markers:
            known = say("write-1-3-or-one", names=in_a_row(markers))
        raise UsageError(say("there-no-share", text=repr(text)), known)
    number, count = int(found[1]), int(found[2])
    named = tuple(markers if count == len(markers) else map(str, range(1, count + 1)))
    return Share(named, named[number - 1], twice)
