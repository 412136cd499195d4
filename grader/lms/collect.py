"""Collecting what a class handed in: from the archive of a learning management system into a folder
of which `grader batch` grades every student's.

    FOLDER/submissions/ada/hw.ipynb      what each student handed in last
    FOLDER/earlier/ada/1/hw.ipynb        what it has replaced
    FOLDER/collected.json                whose each folder is, by what, when, and what was left out

The same may be collected again, and later archives into the same folder: what has not changed stays
as it is. Killed at any moment, the next call goes on: a folder appears whole, by its name alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from grader.batch.collect import name_reports
from grader.decoding import prepared
from grader.errors import UsageError
from grader.files import OwnFolder, unwritable, write_whole
from grader.language import say
from grader.lms.archives import OF_A_STUDENT, ArchiveError, LeftOut, is_archive, unpack
from grader.lms.choices import Key, Layout
from grader.lms.delivery import Delivery
from grader.lms.layouts import read_layout
from grader.lms.roster import Acquainted, Roster, RosterPerson
from grader.reading.submission import absolute

SUBMISSIONS, EARLIER, MANIFEST = "submissions", "earlier", "collected.json"
_INCOMING = ".incoming"
_NESTED = 2
"""So deep are archives unpacked that were handed in within one another."""


class CollectedAttempt(msgspec.Struct, frozen=True):
    """Something that was handed in. `folder` is where it lies, `sha256` of its names and bytes.

    `given` is what the learning management system called it, for feedback that goes back to it.
    """

    folder: str
    sha256: str
    source: str
    at: str = ""
    late: bool | None = None
    given: str = ""
    left_out: tuple[LeftOut, ...] = ()


class CollectedStudent(msgspec.Struct, frozen=True):
    """A student's folder: `id` is that of the roster, empty where nobody could be matched."""

    folder: str
    id: str
    name: str
    keys: dict[Key, str]
    attempts: tuple[CollectedAttempt, ...]


class Collected(msgspec.Struct, frozen=True):
    """All that was collected into a folder. `left_out` belongs to nobody."""

    students: tuple[CollectedStudent, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    strangers: tuple[str, ...] = ()
    version: int = 1


class CollectOutcome(msgspec.Struct, frozen=True):
    """What a call has done: folders of students by what became of them, and all that is there."""

    layouts: tuple[Layout, ...]
    new: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    unmatched: tuple[str, ...]
    absent: tuple[str, ...]
    collected: Collected


class CollectRequest(msgspec.Struct, frozen=True):
    """The arguments of a collection."""

    sources: tuple[Path, ...]
    output: Path
    layout: Layout | None = None
    assignment: str | None = None


def collect_class(wanted: CollectRequest, roster: Roster | None = None) -> CollectOutcome:
    """Collect archives and folders into a folder. Raises UsageError where one cannot be read."""
    _refuse_within(wanted)
    known = read_manifest(wanted.output)
    work = _Work(wanted.output, known, roster)
    try:
        for source in wanted.sources:
            with _opened(source) as (folder, left_out):
                work.left_out += left_out
                found = read_layout(folder, wanted.layout, wanted.assignment)
                work.layouts.append(found.layout)
                work.strangers += found.strangers
                work.take_all(found.handed_in, source.name)
                work.save()
    except OSError as error:
        raise unwritable(wanted.output, error, say("what was collected")) from None
    return work.outcome()


def _refuse_within(wanted: CollectRequest) -> None:
    """Refuse a folder that would be collected itself the next time. Raises UsageError."""
    output = wanted.output.resolve()
    if any(output.is_relative_to(source.resolve()) for source in wanted.sources):
        raise UsageError(
            say("{output} lies in what is to be collected.", output=str(wanted.output)),
            say("Name a folder beside it."),
        )


def read_manifest(folder: Path) -> Collected:
    """Read what was collected into a folder before; nothing where it holds nothing of ours."""
    path = folder / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=prepared(Collected))
    except FileNotFoundError:
        return Collected()
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            say("{path} cannot be read as what was collected before.", path=str(path)),
            say("Name another folder, or move the file away."),
        ) from None


def collected_times(folder: Path) -> dict[Path, datetime]:
    """Return when what lies in each student's folder was handed in, where that is known.

    A time without an offset from UTC is this machine's. Raises UsageError as `read_manifest` does.
    """
    here, times = absolute(folder, Path.cwd()), {}  # as a batch names files: no link is resolved
    students = read_manifest(folder).students
    for attempt in (each for student in students for each in student.attempts):
        try:
            at = datetime.fromisoformat(attempt.at)
        except ValueError:
            continue
        times[here / attempt.folder] = at if at.utcoffset() is not None else at.astimezone()
    return times


@contextmanager
def _opened(source: Path) -> Iterator[tuple[Path, tuple[LeftOut, ...]]]:
    """Yield the folder of a source, unpacked where it is an archive, and what is left out of it."""
    if source.is_dir():
        yield source, tuple(_not_plain(source))
        return
    if not source.is_file():
        raise UsageError(
            say("There is no file or folder {source}.", source=str(source)), say("Check the name.")
        )
    own = OwnFolder()
    try:
        inside = own.path / source.name.partition(".")[0]
        inside.mkdir()
        yield inside, unpack(source, inside)
    finally:
        own.remove()


def _not_plain(folder: Path) -> Iterator[LeftOut]:
    """Yield the links, pipes and devices of a folder, which nobody may have handed in."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink():
                yield LeftOut(path.relative_to(folder).as_posix(), "link")
            elif not (path.is_dir() or path.is_file()):
                yield LeftOut(path.relative_to(folder).as_posix(), "special")


class _Work:
    """A collection while it is being made."""

    def __init__(self, output: Path, known: Collected, roster: Roster | None) -> None:
        self.layouts: list[Layout] = []
        self.left_out, self.strangers = known.left_out, known.strangers
        self._output = output
        self._roster = roster
        people = (RosterPerson(e.id, e.name, e.keys) for e in known.students if e.id)
        self._owners = Acquainted(people) if roster is None else roster
        self._students = {each.folder: each for each in known.students}
        self._seen: dict[str, set[str]] = {"new": set(), "replaced": set(), "unchanged": set()}

    def take_all(self, handed_in: Sequence[Delivery], source: str) -> None:
        """Take what was handed in, what is older first, so that the last is what counts."""
        owners = [*map(self._owners.find, handed_in)]
        names = _folders_of(list(zip(handed_in, owners, strict=True)))
        rows = sorted(zip(handed_in, owners, names, strict=True), key=lambda row: row[0].at)
        for each, owner, name in rows:
            self._take(each, owner, name, source)

    def _take(
        self, handed_in: Delivery, owner: RosterPerson | None, name: str, source: str
    ) -> None:
        """Take one student's, unless it is there or was."""
        incoming = self._output / _INCOMING / name
        _remove(incoming)
        incoming.mkdir(parents=True)
        left_out = _place(handed_in, incoming)
        digest = _digest(incoming)
        before = self._students.get(name)
        if before is not None and _is_known(before, digest, handed_in.at):
            self._note("unchanged", name)
            return
        is_last = before is None or not handed_in.at or handed_in.at >= before.attempts[-1].at
        place = self._put(incoming, name, digest) if is_last else self._put_aside(incoming, name)
        attempt = CollectedAttempt(
            place, digest, source, handed_in.at, handed_in.late, handed_in.given, left_out
        )
        self._students[name] = _with_attempt(before, attempt, handed_in, owner, name)
        self._note("new" if before is None else "replaced" if is_last else "unchanged", name)

    def _put(self, incoming: Path, name: str, digest: str) -> str:
        """Put a folder where it counts; what is there, unless it is the same, goes aside."""
        place = self._output / SUBMISSIONS / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and _digest(place) == digest:  # a call was killed after it put it there
            _remove(incoming)
        else:
            if place.is_dir():
                self._put_aside(place, name)
            incoming.rename(place)
        return f"{SUBMISSIONS}/{name}"

    def _put_aside(self, folder: Path, name: str) -> str:
        """Put a folder among the earlier ones of a student. Returns where."""
        earlier = self._output / EARLIER / name
        earlier.mkdir(parents=True, exist_ok=True)
        number = len(list(earlier.iterdir())) + 1
        folder.rename(earlier / str(number))
        return f"{EARLIER}/{name}/{number}"

    def _note(self, what: str, name: str) -> None:
        for names in self._seen.values():
            names.discard(name)
        self._seen[what].add(name)

    def save(self) -> None:
        """Write the manifest."""
        content = msgspec.json.format(msgspec.json.encode(self._collected()), indent=2)
        write_whole(self._output / MANIFEST, content + b"\n", mode=0o600)
        _remove(self._output / _INCOMING)

    def _collected(self) -> Collected:
        students = tuple(self._students[name] for name in sorted(self._students))
        unique = dict.fromkeys
        return Collected(students, tuple(unique(self.left_out)), tuple(unique(self.strangers)))

    def outcome(self) -> CollectOutcome:
        """Return what was done."""
        seen = {what: tuple(sorted(names)) for what, names in self._seen.items()}
        matched = {each.id for each in self._students.values()}
        people = () if self._roster is None else self._roster.people
        return CollectOutcome(
            layouts=tuple(dict.fromkeys(self.layouts)),
            unmatched=tuple(
                each.folder for each in self._collected().students if people and not each.id
            ),
            absent=tuple(person.id for person in people if person.id not in matched),
            collected=self._collected(),
            **seen,
        )


def _is_known(before: CollectedStudent, digest: str, at: str) -> bool:
    """Say whether it was collected before; the same at another time was handed in once more."""
    return any(each.sha256 == digest and each.at in ("", at) for each in before.attempts)


def _with_attempt(
    before: CollectedStudent | None,
    attempt: CollectedAttempt,
    handed_in: Delivery,
    owner: RosterPerson | None,
    name: str,
) -> CollectedStudent:
    """Return a student with one attempt more, the one that counts last."""
    attempts = () if before is None else before.attempts
    if attempt.folder.startswith(EARLIER):
        attempts = (attempt, *attempts)
    else:
        last = [_aside(each, name, len(attempts)) for each in attempts[-1:]]
        attempts = (*attempts[:-1], *last, attempt)
    return CollectedStudent(
        folder=name,
        id="" if owner is None else owner.id,
        name=handed_in.name if owner is None else owner.name,
        keys={
            **({} if before is None else before.keys),
            **({} if owner is None else owner.keys),
            **handed_in.keys,
        },
        attempts=attempts,
    )


def _aside(attempt: CollectedAttempt, name: str, number: int) -> CollectedAttempt:
    return msgspec.structs.replace(attempt, folder=f"{EARLIER}/{name}/{number}")


def _folders_of(rows: Sequence[tuple[Delivery, RosterPerson | None]]) -> list[str]:
    """Return the name of each student's folder: what the roster calls the student, or else a name
    and what identifies it, so that two of one name have two folders.
    """
    wanted = [_called(handed_in, owner) for handed_in, owner in rows]
    safe = name_reports(dict.fromkeys(wanted))
    return [safe[each] for each in wanted]


def _called(handed_in: Delivery, owner: RosterPerson | None) -> str:
    if owner is not None:
        return _one_part(owner.id)
    key, value = next(iter(handed_in.keys.items()), ("folder", "unknown"))
    return _one_part(value if key == "folder" else f"{handed_in.name or key}-{value}")


def _one_part(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("/", "_")


def _place(handed_in: Delivery, folder: Path) -> tuple[LeftOut, ...]:
    """Copy what was handed in into a folder; archives in it are unpacked beside their names."""
    left_out: list[LeftOut] = []
    taken = Counter[str]()
    for path, name in handed_in.files:
        target = folder / name
        if target.exists():  # of the same name, twice
            taken[name] += 1
            target = target.with_name(f"{target.stem}-{taken[name]}{target.suffix}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    whole: set[Path] = set()
    for _ in range(_NESTED):
        for archive in _packed_in(folder, whole):
            left_out += _unpack_within(archive, folder)
            whole.add(archive)
    deeper = (each.relative_to(folder).as_posix() for each in _packed_in(folder, whole))
    return (*left_out, *(LeftOut(name, "nested") for name in deeper))


def _packed_in(folder: Path, known: Container[Path]) -> list[Path]:
    """Return the archives in a folder that are not known."""
    found = sorted(folder.rglob("*"))
    return [e for e in found if is_archive(e.name) and e.is_file() and e not in known]


def _unpack_within(archive: Path, folder: Path) -> Iterable[LeftOut]:
    """Unpack what a student handed in packed, in place of it; it stays where it cannot be."""
    name = archive.relative_to(folder).as_posix()
    draft = archive.with_name(f".unpacked-{hashlib.sha256(name.encode()).hexdigest()[:8]}")
    draft.mkdir()
    try:
        inside = unpack(archive, draft, OF_A_STUDENT)
    except ArchiveError:
        _remove(draft)
        return [LeftOut(name, "damaged")]
    archive.unlink()
    draft.rename(archive)
    return [LeftOut(f"{name}/{each.name}", each.reason) for each in inside]


def _digest(folder: Path) -> str:
    """Return the SHA-256 of the names and bytes of a folder's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = os.fsencode(path.relative_to(folder).as_posix())
            digest.update(len(name).to_bytes(8, "big") + name)
            digest.update(_digest_of_file(path))
    return digest.hexdigest()


def _digest_of_file(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.digest()


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
