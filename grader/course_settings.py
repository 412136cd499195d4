"""`course.toml` beside `assignments/`: what holds for a whole course. Nothing of it decides points.

Who has no such file has the defaults.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Final

import msgspec

from grader.assignment_files import find_line
from grader.decoding import prepared
from grader.errors import Mistake, MistakeError
from grader.language import Text, say
from grader.refusals import told as told_refusal
from grader.render.asking import checked_address

SETTINGS_FILE: Final = "course.toml"
_LARGEST = 2**16


class ObjectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where students ask about their grades: the address on their pages."""

    address: str = ""

    def __post_init__(self) -> None:
        checked_address(self.address)


Address = Annotated[str, msgspec.Meta(pattern=r"\Ahttps?://[!-~]+\Z", max_length=2_000)]

Marker = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class MarkingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who divides the answers that are marked by hand, and what percent of them two people mark."""

    markers: Annotated[tuple[Marker, ...], msgspec.Meta(max_length=100)] = ()
    twice: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0

    def __post_init__(self) -> None:
        if len(set(self.markers)) != len(self.markers):
            raise ValueError("two of the `markers` have the same name")
        if not all(each.isprintable() and each.strip() == each for each in self.markers):
            raise ValueError("`markers` are names of printable characters")


class LtiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The grader as a tool of an LMS by LTI 1.3, as the LMS says where the tool was registered.

    `line_items` and `memberships` are addresses of services of one course there.
    """

    client_id: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    token_url: Address
    line_items: Address
    memberships: Address
    audience: str = ""
    key_id: str = ""


class CourseSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `course.toml` says."""

    objections: ObjectionSettings = ObjectionSettings()
    marking: MarkingSettings = MarkingSettings()
    lti: LtiSettings | None = None


def load_settings(root: Path) -> CourseSettings:
    """Read `course.toml` of a course's folder. Raises CourseError, naming the line."""
    path = root / SETTINGS_FILE
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return CourseSettings()
    except OSError as error:
        told = say("cannot-read-reason", reason=str(error.strerror))
        raise _mistake(path, None, told) from None
    if len(content) > _LARGEST:
        raise _mistake(path, None, say("larger-than-64-kb"))
    if content.startswith(BOM_UTF8):
        mark = say("starts-with-byte-order-mark-save")
        raise _mistake(path, 1, mark)
    try:
        return msgspec.toml.decode(content, type=prepared(CourseSettings))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        line = find_line(content.decode("utf-8", "replace"), str(error))
        raise _mistake(path, line, told_refusal(error, CourseSettings)) from None


def _mistake(path: Path, line: int | None, told: Text) -> MistakeError:
    problem = say("not-valid", error=told)
    return MistakeError(Mistake("toml", path, line, problem, say("see-docs-gradebook-md")))
