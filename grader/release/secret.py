"""The complete course as one archive that is kept apart from a release: made, fetched, unpacked.

What is in it is trusted, and run by the referee. So it is opened only when its SHA-256 is the one
that the instructor noted down. It is read strictly all the same: an archive that was made by
mistake of something else is refused, and nothing is written outside of the folder that was named.
"""

import hashlib
import io
import ipaddress
import os
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urljoin, urlsplit

import msgspec
import requests

from grader.authoring.master import find_master, has_master, read_master, regions, sources
from grader.course import Course
from grader.errors import DataError, UsageError
from grader.language import Text, say
from grader.reading.submission import read_submission

URL, TOKEN = "GRADER_SECRET_URL", "GRADER_SECRET_TOKEN"
"""The environment variables that name the archive, and what its server wants to be shown."""

MOST_BYTES = 64 * 2**20
"""Of the archive, and of all that is in it."""

MOST_FILES = 1000
SECONDS = 30.0
_CHUNK = 2**16

_NAME = re.compile(r"assignments/[a-z][a-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}){1,4}\Z")
_IGNORED = {"__pycache__", "mutants.toml"}
_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that an archive can hold: the same course makes the same archive."""


class ArchiveSource(msgspec.Struct, frozen=True):
    """Where the archive is: an address, what its server is shown, and the SHA-256 it must have."""

    url: str
    token: str
    sha256: str


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of an archive, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def pack_course(course: Course) -> bytes:
    """Return an archive of all that grading needs: assignments, without masters and mutants.

    Raises UsageError for what could not be unpacked again.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _course_files(course):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: only then are the permissions read
            entry.external_attr = (stat.S_IFREG | 0o600) << 16
            archive.writestr(entry, content)
    content = buffer.getvalue()
    try:
        if len(content) > MOST_BYTES:
            raise _refusal(say("too-large"))
        for _ in _checked(content):
            pass
    except DataError as error:
        raise UsageError(
            say("course-cannot-packed", message=error.message),
            say("move-everything-that-grading-does-not-need"),
        ) from None
    return content


def source_of(environment: Mapping[str, str], sha256: str) -> ArchiveSource:
    """Return where the environment says that the archive is.

    Raises UsageError for no address, for one that is not encrypted, and for no digest.
    """
    url = environment.get(URL, "")
    if not _is_safe(url):
        unsafe = say("not-address-that-begins-with-https", url=URL)
        raise UsageError(
            unsafe if url else say("not-set", url=URL),
            say("let-address-archive-that-grader-release-secret"),
        )
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise UsageError(
            say("archives-sha-256-not-given"), say("give-sha256-or-let-release-json-there")
        )
    return ArchiveSource(url, environment.get(TOKEN, ""), sha256)


def fetch(source: ArchiveSource) -> bytes:
    """Download the archive. Raises DataError, which does not name the address: it may be a secret.

    Nothing is returned whose SHA-256 is another one.
    """
    headers = {"Accept": "application/octet-stream"}
    if source.token:
        headers["Authorization"] = f"Bearer {source.token}"
    try:
        with requests.get(
            source.url,
            headers=headers,
            stream=True,
            timeout=SECONDS,
            hooks={"response": _follow_safely},
        ) as answer:
            if answer.status_code != requests.codes.ok:
                raise _failure(say("server-answered-with-status", status=answer.status_code))
            content = b"".join(_bounded(answer))
    except requests.RequestException as error:
        raise _failure(say("server-could-not-reached", error=type(error).__name__)) from None
    found = digest_of(content)
    if found != source.sha256:
        raise DataError(
            say("archive-complete-course-has-another-sha-256", found=found),
            say("changed-or-belongs-another-release-make-both"),
        )
    return content


def unpack(content: bytes, folder: Path) -> None:
    """Unpack an archive into a new folder that nobody else may read, whole or not at all.

    Raises DataError for what `pack_course` would not have made: links, paths that lead elsewhere,
    names that occur twice, too many or too large files. Raises UsageError for a folder that is
    there.
    """
    if folder.exists():
        raise UsageError(say("exists-already", path=str(folder)), say("name-folder-that"))
    files = dict(_checked(content))
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))  # 0700
    try:
        for name, text in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        draft.rename(folder)
    except OSError as error:
        raise UsageError(
            say("cannot-write-path", path=str(folder), reason=str(error.strerror)),
            say("check-folder"),
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _course_files(course: Course) -> Iterator[tuple[str, bytes]]:
    for slug, each in sorted(course.assignments.items()):
        for path in sorted(each.folder.rglob("*")):
            inside = path.relative_to(each.folder)
            if not path.is_file() or _IGNORED.intersection(inside.parts):
                continue
            name = f"assignments/{slug}/{inside.as_posix()}"
            if not _NAME.match(name):
                raise UsageError(
                    say("cannot-packed", name=name),
                    say("names-have-letters-digits-and-move-hidden"),
                )
            yield name, path.read_bytes()


def _checked(content: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES or sum(each.file_size for each in entries) > MOST_BYTES:
                raise _refusal(say("too-large"))
            if len({each.filename.lower() for each in entries}) != len(entries):
                raise _refusal(say("contains-two-files-with-one-name"))
            for entry in entries:
                yield entry.filename, _read(archive, entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise _refusal(say("damaged-error", error=type(error).__name__)) from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if not _NAME.match(entry.filename) or kind not in (0, stat.S_IFREG):
        raise _refusal(say("not-file-assignment", name=ascii(entry.filename)))
    with archive.open(entry) as file:
        text = file.read(entry.file_size + 1)  # never more than was summed up
    if len(text) != entry.file_size:
        raise _refusal(say("larger-than-says", name=entry.filename))
    return text


def _bounded(answer: requests.Response) -> Iterator[bytes]:
    size = 0
    for chunk in answer.iter_content(_CHUNK):
        size += len(chunk)
        if size > MOST_BYTES:
            raise _failure(say("has-more-than-mb", size=MOST_BYTES // 2**20))
        yield chunk


def _follow_safely(answer: requests.Response, **_options: object) -> None:
    """Refuse to be sent on to where anybody on the way can read the archive."""
    if answer.is_redirect and not _is_safe(urljoin(answer.url, answer.headers["location"])):
        raise _failure(say("server-redirects-unencrypted-address"))


def _is_safe(url: str) -> bool:
    """Say whether nobody on the way can read what is asked for: a token may be sent."""
    try:
        parts = urlsplit(url)
        is_here = parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
    return parts.scheme == "https" or is_here


def _failure(why: Text) -> DataError:
    return DataError(
        say("archive-complete-course-not-fetched", why=why),
        say("check-secret-and-where-server-asks", url=URL, token=TOKEN),
    )


def _refusal(why: Text) -> DataError:
    return DataError(
        say("archive-complete-course-not-unpacked", why=why),
        say("make-with-grader-release-dir-secret-file"),
    )


# Recognising the course's own solutions in a repository, without having them there.
#
# A release holds, for each solution of a master, how many lines it has and the SHA-256 of them.
# What is indented otherwise, commented, or divided by empty lines is the same. Short solutions are
# left out: many write them alike, and a hash of one could be guessed.


LEAST_LINES, LEAST_CHARACTERS = 3, 120
"""A solution of less is not recognised."""

_ENDS = {".ipynb", ".py", ".md"}
_MOST_BYTES = 16 * 2**20
_MOST_FILES = 10_000
_MOST_LINES = 20_000

Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class SolutionFingerprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """Of one solution: how many lines it has, and the SHA-256 of them."""

    lines: Annotated[int, msgspec.Meta(ge=LEAST_LINES, le=10_000)]
    sha256: Digest


class FoundSolution(msgspec.Struct, frozen=True):
    """A solution in a repository: its file, and of a notebook the code cell, from 1."""

    path: Path
    cell: int | None


def fingerprints(course: Course) -> tuple[SolutionFingerprint, ...]:
    """Return those of all solutions in a course's masters. Raises CourseError for a damaged one."""
    found: set[SolutionFingerprint] = set()
    for slug in course.assignments | course.variants:
        if has_master(course.root, slug):
            for source in sources(read_master(find_master(course.root, slug))):
                kept = [each.lines for each in regions(source.text) if each.kind == "solution"]
                found.update(
                    _fingerprint(lines) for lines in map(_written, kept) if _is_long(lines)
                )
    return tuple(sorted(found))


def find_solutions(folder: Path, known: Iterable[SolutionFingerprint]) -> Iterator[FoundSolution]:
    """Yield every code cell, or file, below a folder that holds a solution, by the files' names.

    Notebooks, scripts and Markdown are looked at; links are not followed, folders whose name begins
    with a dot are passed over.
    """
    digests = frozenset(known)
    lengths = sorted({each.lines for each in digests})
    for path in _files(folder):
        for number, text in _texts(path):
            if _holds(_written(text.split("\n")[:_MOST_LINES]), digests, lengths):
                yield FoundSolution(path.relative_to(folder), number)


def _holds(lines: list[str], known: frozenset[SolutionFingerprint], lengths: list[int]) -> bool:
    return any(
        _fingerprint(lines[start : start + length]) in known
        for length in lengths
        for start in range(len(lines) - length + 1)
    )


def _written(lines: Iterable[str]) -> list[str]:
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def _is_long(lines: list[str]) -> bool:
    return len(lines) >= LEAST_LINES and sum(map(len, lines)) >= LEAST_CHARACTERS


def _fingerprint(lines: list[str]) -> SolutionFingerprint:
    text = "\n".join(lines).encode("utf-8", "replace")
    return SolutionFingerprint(max(len(lines), LEAST_LINES), hashlib.sha256(text).hexdigest())


def _files(folder: Path) -> Iterator[Path]:
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix in _ENDS and path.is_file() and not path.is_symlink():
                count += 1
                if count > _MOST_FILES:
                    return
                yield path


def _texts(path: Path) -> Iterator[tuple[int | None, str]]:
    """Yield the code cells of a notebook by number, or the text of another file.

    Nothing of one that cannot be read, is no notebook, or is too large to look at.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            return
        if path.suffix != ".ipynb":
            yield None, path.read_text("utf-8", "replace")
            return
        yield from enumerate(read_submission(path).sources, start=1)
    except (OSError, UsageError):
        return
