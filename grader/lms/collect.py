"""Collecting what a class handed in: from the archive of a learning management system into a folder
of which `grader batch` grades every student's.

    FOLDER/submissions/ada/hw.ipynb      what each student handed in last
    FOLDER/earlier/ada/1/hw.ipynb        what it has replaced
    FOLDER/collected.json                whose each folder is, by what, when, and what was left out

The same may be collected again, and later archives into the same folder: what has not changed stays
as it is. Killed at any moment, the next call goes on: a folder appears whole, by its name alone.

Only what the system has added to a name says whose something is. Two in one archive who would be
the same student are nobody's, and nothing is written over.
"""

import errno
import hashlib
import itertools
import os
import shutil
import stat
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from grader.batch.collect import name_reports
from grader.decoding import prepared
from grader.errors import UsageError
from grader.files import OwnFolder, indented_json, write_whole, writing
from grader.language import say
from grader.lms.archives import LeftOut, LeftOutList, UnpackOutcome, limits_of_class, unpack
from grader.lms.choices import Key, Layout
from grader.lms.delivery import Delivery, FolderContents
from grader.lms.layouts import read_layout
from grader.lms.nbgrader import find_inbound, take_inbound
from grader.lms.placing import ClassRoom, StudentRoom, files_in, place_files
from grader.lms.roster import Acquainted, Roster, RosterPerson, with_logins
from grader.lms.times import moment_of, settled
from grader.progress import Pace, Progress, Silent
from grader.reading.reader import SubmissionReader
from grader.reading.submission import absolute

SUBMISSIONS, EARLIER, MANIFEST = "submissions", "earlier", "collected.json"
MANIFEST_LIMIT = 2**26
"""Most bytes of a manifest: a student takes some hundreds."""

_INCOMING = ".incoming"
_DIGITS = 16
_PASSING = ("unread", "unsubmitted", "textual")
"""Of a digest, as reports' names have it."""

_USERS = ("canvas", "brightspace", "moodle_user")
"""Numbers that one student has in all assignments. Moodle's archives have others in each."""


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


Doubt = Literal["", "unknown", "contested"]
"""Why a folder is nobody's: the roster has no such student, or several hand-ins would be one's."""


class CollectedStudent(msgspec.Struct, frozen=True):
    """A student's folder: `id` is that of the roster, empty where nobody could be matched.

    `entry` is as of a Delivery. `doubt` is empty as well where there was no roster to ask.
    """

    folder: str
    id: str
    name: str
    keys: dict[Key, str]
    attempts: tuple[CollectedAttempt, ...]
    entry: str = ""
    doubt: Doubt = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What this student is known by the next time: the id, or what the system says."""
        return (self.id,) if self.id else (*sorted(self.keys.items()), self.entry)


class Collected(msgspec.Struct, frozen=True):
    """All that was collected into a folder. `left_out` belongs to nobody."""

    students: tuple[CollectedStudent, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    strangers: tuple[str, ...] = ()
    version: int = 1


class CollectOutcome(msgspec.Struct, frozen=True):
    """What a call has done: folders of students by what became of them, and all that is there.

    `zoneless` are handed in by a clock of which nobody says where it stands: it is taken for this
    machine's. Of the `undated` something says when, in words that are not understood. `encodings`
    are those in which names were read that do not say theirs, by archive.
    """

    layouts: tuple[Layout, ...]
    new: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    unmatched: tuple[str, ...]
    contested: tuple[str, ...]
    absent: tuple[str, ...]
    collected: Collected
    zoneless: tuple[str, ...] = ()
    undated: tuple[str, ...] = ()
    encodings: dict[str, str] = {}


class CollectRequest(msgspec.Struct, frozen=True):
    """The arguments of a collection."""

    sources: tuple[Path, ...]
    output: Path
    layout: Layout | None = None
    assignment: str | None = None
    zone: ZoneInfo | None = None
    encoding: str = ""


def collect_class(
    wanted: CollectRequest,
    roster: Roster | None = None,
    progress: Progress | None = None,
    reader: SubmissionReader | None = None,
) -> CollectOutcome:
    """Collect archives and folders into a folder. Raises UsageError where one cannot be read.

    Times without a zone are in that of the request. The `reader` unpacks archives; without one a
    process is started for that and ended.
    """
    _refuse_within(wanted)
    known = read_manifest(wanted.output)
    progress = Silent() if progress is None else progress
    with _started(reader) as unpacker:
        work = _Work(wanted.output, known, roster, unpacker, progress, wanted.zone)
        with writing(wanted.output, say("what-collected")):
            for source in wanted.sources:
                progress.stage(say("unpacking", name=source.name))
                with _read(source, unpacker, wanted, progress, work.knows_folder) as taken:
                    work.note(taken.found, taken.left_out)
                    if taken.encoding:
                        work.encodings[source.name] = taken.encoding
                    progress.stage(say("collecting", name=source.name))
                    work.take_all(taken.found, source.name, taken.size)
                    work.save()
        return work.outcome()


Download = Callable[[Path, Collected], FolderContents]
"""Puts what was handed in into an empty folder, given what was collected before."""


def collect_fetched(
    output: Path, download: Download, source: str, roster: Roster, progress: Progress
) -> CollectOutcome:
    """Collect what `download` fetches from a system, which `source` names in the manifest.

    Raises UsageError as `collect_class` does, and what `download` raises.
    """
    known = read_manifest(output)
    with _started() as unpacker:
        work = _Work(output, known, roster, unpacker, progress)
        with writing(output, say("what-collected")), _own_folder(output) as folder:
            found = download(folder, known)
            work.note(found, ())
            work.take_all(found, source, _size_of(found))
            work.save()
        return work.outcome()


@contextmanager
def _started(reader: SubmissionReader | None = None) -> Iterator[Callable[[], SubmissionReader]]:
    """Yield what returns a reader; one of its own is started when it is first asked for."""
    with ExitStack() as stack:
        found = [] if reader is None else [reader]

        def get() -> SubmissionReader:
            if not found:
                found.append(stack.enter_context(SubmissionReader()))
            return found[0]

        yield get


def _refuse_within(wanted: CollectRequest) -> None:
    """Refuse a folder that would be collected itself the next time. Raises UsageError."""
    output = wanted.output.resolve()
    if any(output.is_relative_to(source.resolve()) for source in wanted.sources):
        raise UsageError(
            say("lies-in-what-collected", output=str(wanted.output)), say("name-folder-beside")
        )


def read_manifest(folder: Path) -> Collected:
    """Read what was collected into a folder before; nothing where it holds nothing of ours."""
    path = folder / MANIFEST
    try:
        content = _read_regular(path)
        _refuse_later(content, path)
        return msgspec.json.decode(content, type=prepared(Collected))
    except FileNotFoundError:
        return Collected()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(
            say("cannot-read-as-what-collected-before", path=str(path)),
            say("name-another-folder-or-move-file-away"),
        ) from None


def _read_regular(path: Path) -> bytes:
    """Read a manifest. Raises OSError for anything else: a student whose own folder is graded may
    have put a link to a device there, which has no end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    with path.open("rb") as file:
        content = file.read(MANIFEST_LIMIT + 1)
    if len(content) > MANIFEST_LIMIT:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


class _Versioned(msgspec.Struct):
    """What of any version's manifest can be read."""

    version: int = 0


def _refuse_later(content: bytes, path: Path) -> None:
    """Refuse a later grader's manifest: written anew, it would lose what it is later for.

    Raises UsageError, and msgspec.MsgspecError for what is none.
    """
    found = msgspec.json.decode(content, type=prepared(_Versioned))
    if found.version > Collected().version:
        raise UsageError(
            say("written-by-later-grader", path=str(path)),
            say("use-grader-that-wrote-or-later-one"),
        )


class Whose(NamedTuple):
    """Whose a path is, by the manifest in `root`; `attempt` is the folder of what came with it."""

    student: CollectedStudent
    attempt: Path
    root: Path


class CollectedFolders:
    """Whose files are, by what `grader collect` has written down beside them."""

    def __init__(self) -> None:
        self._known: dict[Path, dict[str, CollectedStudent]] = {}

    def find(self, path: Path, common: Path) -> Whose | None:
        """Return whose an absolute path is, None where it was not collected.

        `common` is the folder of a batch. What lies deeper has been handed in, and a manifest there
        is a student's; one further up counts more than one further down.
        """
        for folder in reversed((common, *common.parents)):
            parts = path.relative_to(folder).parts
            for length in (2, 3):  # `submissions/ada`, `earlier/ada/1`
                place = "/".join(parts[:length])
                student = self._students(folder).get(place)
                if student is not None:
                    return Whose(student, folder / place, folder)
        return None

    def class_folder(self, path: Path) -> Path:
        """Return the folder of all students around what was collected; any other path itself."""
        found = self.find(path, path.parent)
        return path if found is None else found.root / path.relative_to(found.root).parts[0]

    def _students(self, folder: Path) -> dict[str, CollectedStudent]:
        if folder not in self._known:
            try:
                students = read_manifest(folder).students
            except UsageError:
                students = ()
            self._known[folder] = {
                attempt.folder: each for each in students for attempt in each.attempts
            }
        return self._known[folder]


def collected_times(folder: Path) -> dict[Path, datetime | Literal["late"]]:
    """Return when what lies in each student's folder was handed in, where that is known.

    It is "late" where the system says so, and no time. A time without an offset from UTC is this
    machine's. Raises UsageError as `read_manifest` does.
    """
    here = absolute(folder, Path.cwd())  # as a batch names files: no link is resolved
    times: dict[Path, datetime | Literal["late"]] = {}
    students = read_manifest(folder).students
    for attempt in (each for student in students for each in student.attempts):
        at = moment_of(attempt.at)
        if at is not None:
            times[here / attempt.folder] = at
        elif attempt.late:
            times[here / attempt.folder] = "late"
    return times


class _Taken(NamedTuple):
    """What was read of a source. `size` is None where nothing may be moved from there."""

    found: FolderContents
    size: int | None
    left_out: tuple[LeftOut, ...] = ()
    encoding: str = ""


@contextmanager
def _read(
    source: Path,
    reader: Callable[[], SubmissionReader],
    wanted: CollectRequest,
    progress: Progress,
    is_student: Callable[[str], bool],
) -> Iterator[_Taken]:
    """Yield what a source holds: of an exchange of nbgrader a copy, of an archive its contents."""
    may_be = source.is_dir() and wanted.layout in (None, "nbgrader")
    inbound = find_inbound(source) if may_be else None
    if inbound is not None:
        with _own_folder(wanted.output) as place:
            found = take_inbound(inbound, place, wanted.assignment)
            yield _Taken(found, _size_of(found))
        return
    with _opened(source, reader, wanted, progress) as (folder, opened):
        found = read_layout(folder, wanted.layout, wanted.assignment, is_student)
        size = source.stat().st_size if source.is_file() else None
        yield _Taken(found, size, opened.left_out, opened.encoding)


def _size_of(found: FolderContents) -> int:
    return sum(path.stat().st_size for each in found.handed_in for path, _ in each.files)


@contextmanager
def _opened(
    source: Path,
    reader: Callable[[], SubmissionReader],
    wanted: CollectRequest,
    progress: Progress,
) -> Iterator[tuple[Path, UnpackOutcome]]:
    """Yield the folder of a source, unpacked where it is an archive, and what became of that.

    An archive is unpacked within the output, so that its files can be moved from there.
    """
    if source.is_dir():
        yield source, UnpackOutcome(tuple(_not_plain(source)), 0, 0, 0.0)
        return
    if not source.is_file():
        raise UsageError(say("there-no-file-or-folder", path=str(source)), say("check-name"))
    with _own_folder(wanted.output) as place:
        inside = place / source.name.partition(".")[0]
        inside.mkdir()
        limits = limits_of_class(source.stat().st_size, wanted.encoding)
        yield inside, unpack(source, inside, reader(), limits, progress)


@contextmanager
def _own_folder(output: Path) -> Iterator[Path]:
    """Yield an empty folder within the output, so that files can be moved from there."""
    with _incoming_folder(output) as place, OwnFolder(place=str(place)) as own:
        yield own


@contextmanager
def _incoming_folder(output: Path) -> Iterator[Path]:
    """Yield the folder in which the output is prepared; leave no folder that is empty."""
    place = output / _INCOMING
    missing = [each for each in (place, *place.parents) if not each.exists()]
    place.mkdir(parents=True, exist_ok=True)
    try:
        yield place
    finally:
        for each in missing:
            with suppress(OSError):  # something is in it
                each.rmdir()


def _not_plain(folder: Path) -> Iterator[LeftOut]:
    """Yield the links, pipes and devices of a folder, which nobody may have handed in."""
    told = LeftOutList()
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink():
                told.add(path.relative_to(folder).as_posix(), "link")
            elif not (path.is_dir() or path.is_file()):
                told.add(path.relative_to(folder).as_posix(), "special")
    yield from told.all


class _Owner(NamedTuple):
    """Whose something is, or why it is nobody's, and the folder for it."""

    person: RosterPerson | None
    doubt: Doubt
    folder: str


class _Work:
    def __init__(
        self,
        output: Path,
        known: Collected,
        roster: Roster | None,
        reader: Callable[[], SubmissionReader],
        progress: Progress,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._zoneless: set[str] = set()
        self._undated: set[str] = set()
        self.layouts: list[Layout] = []
        self.encodings: dict[str, str] = {}
        # Whoever was missing then may be in what is collected now.
        self.left_out = tuple(each for each in known.left_out if each.reason not in _PASSING)
        self.strangers = known.strangers
        self._output = output
        self._roster = roster
        self._reader = reader
        self._progress = progress
        people = (RosterPerson(e.id, e.name, e.keys) for e in known.students if e.id)
        self._owners = Acquainted(people) if roster is None else roster
        known = self._acquainted(known)
        self._students = {each.folder: each for each in known.students}
        self._folders = {each.identity: each.folder for each in known.students}
        self._named = {_folded(each.folder) for each in known.students}
        reserved = () if roster is None else [_one_part(each.id) for each in roster.people]
        self._reserved = {*map(_folded, name_reports(reserved).values())}
        self._seen: dict[str, set[str]] = {"new": set(), "replaced": set(), "unchanged": set()}

    def _acquainted(self, known: Collected) -> Collected:
        """Return what was collected with the students whom only this roster knows.

        Else a student who was collected without one had a second row from then on.
        """
        if self._roster is None:
            return known
        rows = [(each, self._person_of(each)) for each in known.students]
        ids = Counter([e.id for e in known.students] + [p.id for _, p in rows if p is not None])
        students = (
            _of_person(each, person) if person is not None and ids[person.id] == 1 else each
            for each, person in rows
        )
        return msgspec.structs.replace(known, students=tuple(students))

    def _person_of(self, each: CollectedStudent) -> RosterPerson | None:
        """Return who somebody is that had no id before; who was contested stays so."""
        if each.id or each.doubt == "contested":
            return None
        return self._owners.find(Delivery(each.name, each.keys, (), entry=each.entry))

    def knows_folder(self, name: str) -> bool:
        """Say whether a folder in an archive is called as a student is."""
        return self._owners.find(Delivery(name, {"folder": name}, ())) is not None

    def note(self, found: FolderContents, left_out: Sequence[LeftOut]) -> None:
        """Note how a source is laid out, and what of it is not taken."""
        self.layouts.append(found.layout)
        self.left_out += (*left_out, *found.left_out)
        self.strangers += found.strangers

    def take_all(self, found: FolderContents, source: str, size: int | None) -> None:
        """Take what was handed in, oldest first; `size` is the archive's, None of a folder."""
        handed_in = tuple(_dated(each, self._zone) for each in found.handed_in)
        handed_in = with_logins(handed_in, found.layout, self._owners)
        claims = self._claims(handed_in)
        rooms = ClassRoom(handed_in, size)
        rows = sorted(zip(handed_in, claims, strict=True), key=lambda row: _stamp(row[0].at))
        for done, (each, (owner, doubt)) in enumerate(rooms.in_turn(rows)):
            name = self._folder_of(each, owner, doubt)
            tell = partial(self._progress.step, done, len(rows))
            tell()
            self._take(each, _Owner(owner, doubt, name), source, rooms.of(each), Pace(tell))

    def _claims(self, handed_in: Sequence[Delivery]) -> list[tuple[RosterPerson | None, Doubt]]:
        """Return whose each is; nobody's where two of one source would be one student's."""
        owners = [*map(self._owners.find, handed_in)]
        claimed: dict[tuple[object, ...], set[tuple[object, ...]]] = defaultdict(set)
        for each, owner in zip(handed_in, owners, strict=True):
            claimed[_claim(each, owner)].add(each.identity)
        return [
            self._doubted(each, owner, claimed[_claim(each, owner)])
            for each, owner in zip(handed_in, owners, strict=True)
        ]

    def _doubted(
        self, each: Delivery, owner: RosterPerson | None, claims: set[tuple[object, ...]]
    ) -> tuple[RosterPerson | None, Doubt]:
        if len(claims) > 1 or (owner is not None and self._was_another(each, owner)):
            return None, "contested"
        return owner, "unknown" if owner is None and self._roster is not None else ""

    def _was_another(self, each: Delivery, owner: RosterPerson) -> bool:
        """Say whether a student has handed in before, as another user of the same system."""
        before = self._students.get(self._folders.get((owner.id,), ""))
        known = {} if before is None else before.keys
        return any(
            known.get(key, value) != value for key, value in each.keys.items() if key in _USERS
        )

    def _folder_of(self, each: Delivery, owner: RosterPerson | None, doubt: Doubt) -> str:
        """Return what a student's folder is called: as it was, or as nobody else's is.

        It is called as the roster calls the student, or by a name and what identifies it. One of
        somebody unknown is never called as a student of the roster.
        """
        identity = each.identity if owner is None else (owner.id,)
        if identity not in self._folders:
            called = _called(each, owner)
            (name,) = name_reports([called]).values()
            is_reserved = owner is None and _folded(name) in self._reserved
            if is_reserved or doubt == "contested" or _folded(name) in self._named:
                digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:_DIGITS]
                name = f"{name}-{digest}"
            self._named.add(_folded(name))
            self._folders[identity] = name
        return self._folders[identity]

    def _take(
        self, handed_in: Delivery, owner: _Owner, source: str, room: StudentRoom, pace: Pace
    ) -> None:
        """Take one student's, unless it is there or was."""
        name = owner.folder
        incoming = self._output / _INCOMING / name
        _remove(incoming)
        incoming.mkdir(parents=True)
        placed = place_files(handed_in, incoming, self._reader, room, pace)
        left_out = (*handed_in.left_out, *placed)
        digest = _digest(incoming, pace)
        self._note_time(name, handed_in)
        before = self._students.get(name)
        if before is not None and _is_known(before, digest, handed_in.at):
            self._students[name] = _with_zone(before, digest, handed_in.at)
            self._note("unchanged", name)
            return
        is_last = before is None or not handed_in.at or _is_later(handed_in, before)
        moved = ""
        if is_last:
            place, moved = self._put(incoming, name, digest, pace)
        else:
            place = self._put_aside(incoming, name)
        attempt = CollectedAttempt(
            place, digest, source, handed_in.at, handed_in.late, handed_in.given, left_out
        )
        self._students[name] = _with_attempt(before, attempt, handed_in, owner, moved)
        self._note("new" if before is None else "replaced" if is_last else "unchanged", name)

    def _put(self, incoming: Path, name: str, digest: str, pace: Pace) -> tuple[str, str]:
        """Put a folder where it counts, and what was there aside; return both places."""
        place, moved = self._output / SUBMISSIONS / name, ""
        place.parent.mkdir(parents=True, exist_ok=True)
        if (
            place.is_dir() and _digest(place, pace) == digest
        ):  # a call was killed after it put it there
            _remove(incoming)
        else:
            if place.is_dir():
                moved = self._put_aside(place, name)
            incoming.rename(place)
        return f"{SUBMISSIONS}/{name}", moved

    def _put_aside(self, folder: Path, name: str) -> str:
        earlier = self._output / EARLIER / name
        earlier.mkdir(parents=True, exist_ok=True)
        number = next(n for n in itertools.count(1) if not (earlier / str(n)).exists())
        folder.rename(earlier / str(number))
        return f"{EARLIER}/{name}/{number}"

    def _note_time(self, name: str, handed_in: Delivery) -> None:
        """Note whose time has no zone, or is none."""
        if handed_in.said and not handed_in.at:
            self._undated.add(name)
        elif handed_in.at and not _has_zone(handed_in.at):
            self._zoneless.add(name)

    def _note(self, what: str, name: str) -> None:
        for names in self._seen.values():
            names.discard(name)
        self._seen[what].add(name)

    def save(self) -> None:
        """Write the manifest."""
        self._output.mkdir(parents=True, exist_ok=True)
        content = indented_json(self._collected())
        write_whole(self._output / MANIFEST, content, mode=0o600)
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
            unmatched=self._doubtful("unknown"),
            contested=self._doubtful("contested"),
            absent=tuple(person.id for person in people if person.id not in matched),
            collected=self._collected(),
            zoneless=tuple(sorted(self._zoneless)),
            undated=tuple(sorted(self._undated)),
            encodings=self.encodings,
            **seen,
        )

    def _doubtful(self, doubt: Doubt) -> tuple[str, ...]:
        return tuple(e.folder for e in self._collected().students if e.doubt == doubt)


def _of_person(each: CollectedStudent, person: RosterPerson) -> CollectedStudent:
    keys = {**person.keys, **each.keys}
    return msgspec.structs.replace(each, id=person.id, name=person.name, keys=keys, doubt="")


def _is_known(before: CollectedStudent, digest: str, at: str) -> bool:
    """Say whether it was collected before; the same at another time was handed in once more."""
    return any(each.sha256 == digest and _is_same_time(each.at, at) for each in before.attempts)


def _is_same_time(before: str, at: str) -> bool:
    """Say whether two times are one, or only one of them has no zone yet, or none is known."""
    if not before or _stamp(before) == _stamp(at):
        return True
    return _has_zone(before) < _has_zone(at) and _clock(before) == _clock(at)


def _with_zone(before: CollectedStudent, digest: str, at: str) -> CollectedStudent:
    """Return a student whose attempt of before has the zone that is known by now."""
    attempts = tuple(
        msgspec.structs.replace(each, at=at)
        if each.sha256 == digest and _has_zone(each.at) < _has_zone(at) and each.at
        else each
        for each in before.attempts
    )
    return msgspec.structs.replace(before, attempts=attempts)


def _is_later(handed_in: Delivery, before: CollectedStudent) -> bool:
    return _stamp(handed_in.at) >= _stamp(before.attempts[-1].at)


def _dated(each: Delivery, zone: ZoneInfo | None) -> Delivery:
    """Return what was handed in with its time in a zone, as far as one is known.

    A time in CST, which is America's and China's, is none until somebody names the zone.
    """
    if not each.at or _has_zone(each.at):
        return each
    if zone is None:
        return msgspec.structs.replace(each, at="") if each.zone else each
    at = settled(datetime.fromisoformat(each.at), each.zone, zone)
    return msgspec.structs.replace(each, at="" if at is None else at.isoformat())


def _stamp(at: str) -> float:
    """Return what times are compared by: texts of two zones are in no order."""
    moment = moment_of(at)
    return float("-inf") if moment is None else moment.timestamp()


def _has_zone(at: str) -> bool:
    clock = _parsed(at)
    return clock is not None and clock.utcoffset() is not None


def _clock(at: str) -> datetime | None:
    clock = _parsed(at)
    return None if clock is None else clock.replace(tzinfo=None)


def _parsed(at: str) -> datetime | None:
    """Return a time; None for words, which earlier manifests have there."""
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None


def _with_attempt(
    before: CollectedStudent | None,
    attempt: CollectedAttempt,
    handed_in: Delivery,
    owner: _Owner,
    moved: str,
) -> CollectedStudent:
    """Return a student with one attempt more, the one that counts last."""
    attempts = () if before is None else before.attempts
    if attempt.folder.startswith(EARLIER):
        attempts = (attempt, *attempts)
    else:
        aside = moved or f"{EARLIER}/{owner.folder}/{len(attempts)}"  # a killed call moved it
        last = [msgspec.structs.replace(each, folder=aside) for each in attempts[-1:]]
        attempts = (*attempts[:-1], *last, attempt)
    person = owner.person
    return CollectedStudent(
        folder=owner.folder,
        id="" if person is None else person.id,
        name=handed_in.name if person is None else person.name,
        keys={
            **({} if before is None else before.keys),
            **({} if person is None else person.keys),
            **handed_in.keys,
        },
        attempts=attempts,
        entry=handed_in.entry,
        doubt=owner.doubt,
    )


def _claim(handed_in: Delivery, owner: RosterPerson | None) -> tuple[object, ...]:
    """Return which student something would be: of one that nobody knows, by what it is called."""
    return ("", _folded(_called(handed_in, None))) if owner is None else (owner.id,)


def _called(handed_in: Delivery, owner: RosterPerson | None) -> str:
    if owner is not None:
        return _one_part(owner.id)
    key, value = next(iter(handed_in.keys.items()), ("folder", "unknown"))
    return _one_part(value if key == "folder" else f"{handed_in.name or key}-{value}")


def _one_part(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("/", "_")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())


def _digest(folder: Path, pace: Pace) -> str:
    """Return the SHA-256 of the names and bytes of a folder's files."""
    digest = hashlib.sha256()
    for path in files_in(folder):
        name = os.fsencode(path.relative_to(folder).as_posix())
        digest.update(len(name).to_bytes(8, "big") + name)
        digest.update(digest_of_file(path))
        pace.step()
    return digest.hexdigest()


def digest_of_file(path: Path) -> bytes:
    """Return the SHA-256 of a file, which is read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.digest()


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
