"""What an assignment gives: modules of its template, its target and its handouts, by their forms.

`given.json` beside `assignment.toml` lists them. It holds digests (`ir/form.py`) and no code, so
handouts that are not the course's to publish can be known as well.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.errors import CourseError
from grader.language import say

GIVEN_FILE = "given.json"


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forms of functions and modules that are never paid for.

    `given` are no answer under any name. `shown` are answers where a text shows how it is done and
    the exercise is to do it again: they count under the name that was asked for, and not where
    nobody gave them one.
    """

    given: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()

    def refuses(self, form: str, *, by_name: bool) -> bool:
        """Say whether what has a form is no answer, under the name asked for or another one."""
        return form in self.given or (form in self.shown and not by_name)


_DECODER = msgspec.json.Decoder(Given)


def load_given(folder: Path) -> Given:
    """Return what the assignment in a folder gives; nothing where no file says. Raises CourseError.

    The file is the course's own.
    """
    path = folder / GIVEN_FILE
    if not path.exists():
        return Given()
    try:
        return _DECODER.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise CourseError(
            say("{path} cannot be read: {error}", path=str(path), error=str(error)),
            say("Make it again with tools/make_given.py; see docs/assignment.md."),
        ) from error


def encode_given(given: Given) -> bytes:
    """Return the file's content: sorted, one form on a line."""
    lists = {"given": sorted(given.given), "shown": sorted(given.shown - given.given)}
    return msgspec.json.format(msgspec.json.encode(lists), indent=2) + b"\n"
