"""Which assignment of which system a folder was fetched from, for the push that follows.

By LTI it is a course there: the address of its line items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec

from grader.course_settings import LtiSettings
from grader.decoding import prepared
from grader.errors import UsageError
from grader.files import indented_json, write_whole, writing
from grader.language import Text, say
from grader.lms.choices import OwnApi, Platform
from grader.lms.sync.platform import LmsPlatform
from grader.lms.sync.session import LmsSession, Sleep, site_of
from grader.lms.sync.tokens import find_token
from grader.report import utc_now

if TYPE_CHECKING:
    from grader.lms.sync.lti import Column, LtiPlatform
    from grader.lms.sync.tool import ToolKey

SOURCE = "lms.json"

_CANVAS = re.compile(r"/courses/([0-9]{1,18})/assignments/([0-9]{1,18})(?:/.*)?")
_MOODLE = re.compile(r"((?:/[\w.~-]+)*)/mod/assign/view\.php")


class Source(msgspec.Struct, frozen=True):
    """An assignment of a system, and what was said of it when it was fetched.

    `extended` are due dates of single students, `excused` who need not hand in, `policy` what the
    system calls the lateness of whom, all by the system's id of the user.
    """

    platform: Platform
    url: str
    name: str = ""
    points: str | None = None
    due: datetime | None = None
    extended: Mapping[str, datetime] = {}
    excused: tuple[str | int, ...] = ()
    policy: Mapping[str, str] = {}
    version: int = 1


def address(platform: OwnApi, url: str) -> str:
    """Return the address of an assignment without what says nothing. Raises UsageError."""
    site = site_of(url)
    parts = urlsplit(url)
    if platform == "canvas" and (match := _CANVAS.fullmatch(parts.path)):
        return f"{site}/courses/{match[1]}/assignments/{match[2]}"
    numbers = parse_qs(parts.query).get("id", [""])
    match = _MOODLE.fullmatch(parts.path)
    if platform == "moodle" and match and re.fullmatch(r"[0-9]{1,18}", numbers[0]):
        return f"{site}{match[1]}/mod/assign/view.php?id={numbers[0]}"
    example = {
        "canvas": "https://canvas.example.org/courses/12/assignments/34",
        "moodle": "https://moodle.example.org/mod/assign/view.php?id=34",
    }
    raise UsageError(
        say("not-page-assignment", url=repr(url)),
        say("copy-from-browser-such", example=example[platform]),
    )


@contextmanager
def connected(
    platform: OwnApi, url: str, environment: Mapping[str, str], sleep: Sleep
) -> Iterator[LmsPlatform]:
    """Yield an assignment to ask, by the address of its page. Raises UsageError."""
    place = address(platform, url)
    parts = urlsplit(place)
    token = find_token(platform, parts.hostname or "", environment)
    session = LmsSession(site_of(place), token, bearer=platform == "canvas", sleep=sleep)
    try:
        yield _platform(platform, place, session)
    finally:
        session.close()


@contextmanager
def _needed(lack: Text, *modules: str) -> Iterator[None]:
    """Raise UsageError where one of the modules of the extra `lms` is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in modules:
            raise
        raise UsageError(lack, say("install", command="pip install 'tvm-grader[lms]'")) from None


def _platform(platform: OwnApi, place: str, session: LmsSession) -> LmsPlatform:
    if platform == "canvas":
        with _needed(say("canvas-needs-package-canvasapi"), "canvasapi"):
            from grader.lms.sync.canvas import CanvasPlatform
        _, _, course, _, assignment = urlsplit(place).path.split("/")
        return CanvasPlatform(session, int(course), int(assignment))
    from grader.lms.sync.moodle import MoodlePlatform, root_of

    return MoodlePlatform(session, session.site + root_of(place), int(place.rpartition("=")[2]))


@contextmanager
def connected_tool(
    settings: LtiSettings,
    environment: Mapping[str, str],
    inside: Sequence[Path],
    sleep: Sleep,
    clock: Callable[[], datetime] = utc_now,
    column: Column | None = None,
) -> Iterator[LtiPlatform]:
    """Yield an assignment by LTI; its key is in no folder of `inside`. Raises UsageError."""
    key, site = _tool_key(settings, environment, inside), site_of(settings.line_items)
    if site_of(settings.memberships) != site:
        raise UsageError(say("lti-addresses-of-two-sites"), say("copy-both-from-same-course"))
    from grader.lms.sync.lti import LtiPlatform
    from grader.lms.sync.tool import ToolToken

    token = ToolToken(settings, key, sleep, clock)
    session = LmsSession(site, token, bearer=True, sleep=sleep)
    try:
        yield LtiPlatform(session, settings, clock, column)
    finally:
        session.close()
        token.close()


def public_key(
    settings: LtiSettings, environment: Mapping[str, str], inside: Sequence[Path]
) -> dict[str, str]:
    """Return the tool's public key as a JWK. Raises UsageError."""
    return _tool_key(settings, environment, inside).public(settings.key_id)


def _tool_key(
    settings: LtiSettings, environment: Mapping[str, str], inside: Sequence[Path]
) -> ToolKey:
    with _needed(say("lti-needs-package-pyjwt"), "jwt", "cryptography"):
        from grader.lms.sync.tool import find_tool_key
    host = urlsplit(site_of(settings.line_items)).hostname or ""
    return find_tool_key(host, environment, inside)


def read_source(folder: Path) -> Source | None:
    """Return what a folder was fetched from; None where it was not. Raises UsageError."""
    path = folder / SOURCE
    try:
        return msgspec.json.decode(path.read_bytes(), type=prepared(Source))
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            say("damaged", path=str(path)), say("fetch-once-more-into-another-folder")
        ) from None


def write_source(folder: Path, source: Source) -> None:
    """Write down what a folder was fetched from. Raises UsageError."""
    content = indented_json(source)
    with writing(folder / SOURCE, say("what-fetched")):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / SOURCE, content, mode=0o600)
