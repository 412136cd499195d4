"""Fetching a class: the latest attempts, into the folder that `grader collect` makes.

    FOLDER/collected.json, submissions/, earlier/    as of `grader collect`
    FOLDER/roster.csv                                the students, for `grader roster import`
    FOLDER/lms.json                                  the assignment, due dates, who is excused

Whose something is the system's id of the user says, and in a roster from elsewhere the login or
the number that administrators gave: never a name or an address, which students can change.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from grader.errors import UsageError
from grader.files import write_whole
from grader.language import say
from grader.lms.archives import LeftOut, Reason
from grader.lms.choices import PLATFORM_NAMES, Key, OwnApi
from grader.lms.collect import Collected, CollectedStudent, CollectOutcome, collect_fetched
from grader.lms.delivery import Delivery, FolderContents
from grader.lms.roster import Acquainted, Roster, RosterPerson
from grader.lms.sync.platform import LmsFile, LmsGrades, LmsHandIn, LmsPerson, LmsPlatform, Standing
from grader.lms.sync.session import NotFoundError, TooLargeError
from grader.lms.sync.source import Source, read_source, write_source
from grader.lms.times import moment_of
from grader.progress import Progress
from grader.tables import write_table

ROSTER = "roster.csv"

_FILE = 512 * 2**20
_STUDENT = 2**30
_CLASS = 16 * 2**30
_FILES = 200
"""Of one student. More is no way to hand in a notebook."""

USER_COLUMNS: Mapping[Key, str] = {
    "canvas": "Canvas user ID",
    "moodle_user": "Moodle user ID",
    "lti": "LTI user ID",
}
"""The column of a roster that has the system's ids."""


class Fetched(NamedTuple):
    """The result of a fetch and its source; `due_dates` are students' own, by their ids.

    `excused` are called by their ids, too, and as the system does where the roster has none.
    """

    outcome: CollectOutcome
    source: Source
    due_dates: Mapping[str, datetime]
    excused: tuple[str, ...] = ()


def fetch_class(
    platform: LmsPlatform, url: str, output: Path, progress: Progress, roster: Roster | None = None
) -> Fetched:
    """Fetch an assignment for a `roster`, or the course's own. Raises LmsError, UsageError."""
    _refuse_other(output, url)
    progress.stage(say("asking", platform=PLATFORM_NAMES[platform.name]))
    assignment, people = platform.assignment(), platform.people()
    known = {each.user: each for each in people}
    standings = platform.standings()
    excused = tuple(
        user for user in sorted(known, key=_order) if standings.get(user, _NOTHING).excused
    )
    source = Source(
        platform.name,
        url,
        assignment.name,
        None if assignment.points is None else format(assignment.points, "f"),
        assignment.due,
        {user: due for user, due in assignment.extended.items() if user in known},
        excused,
        {
            user: standings[user].policy
            for user in sorted(standings, key=_order)
            if standings[user].policy
        },
    )
    write_source(output, source)
    own = _own_roster(people, platform.key)
    _write_roster(output, own, people, platform.key)
    owners = Acquainted(own.people if roster is None else roster.people)

    def called(person: LmsPerson) -> str:
        owner = owners.find(_delivery(person, platform.key))
        return person.user if owner is None else owner.id

    fetching = _Fetching(platform, known, progress, called)
    outcome = collect_fetched(output, fetching.download, url, owners, progress)
    unchanged = tuple(sorted({*outcome.unchanged, *fetching.kept}))
    due_dates = {
        owner.id: due
        for user, due in source.extended.items()
        if (owner := owners.find(_delivery(known[user], platform.key))) is not None
    }
    spared = tuple(called(known[user]) for user in excused)
    return Fetched(replace(outcome, unchanged=unchanged), source, due_dates, spared)


_NOTHING = Standing()


def _order(user: str) -> tuple[int, str]:
    return len(user), user


class FetchedStudents(NamedTuple):
    """The students of a course there, and the names of those who are not in the own roster."""

    people: tuple[LmsPerson, ...]
    unmatched: tuple[str, ...]


def fetch_students(
    platform: LmsGrades, url: str, output: Path, progress: Progress, roster: Roster | None = None
) -> FetchedStudents:
    """Write a roster of the course's students into a folder, and where they are from.

    With an own `roster` it has those who are in it, by what they are called there. Raises LmsError,
    UsageError.
    """
    _refuse_other(output, url)
    progress.stage(say("asking", platform=PLATFORM_NAMES[platform.name]))
    people = platform.people()
    write_source(output, Source(platform.name, url))
    if roster is None:
        called = [replace(each, login=each.sid) for each in people]
        own = _own_roster(called, platform.key)
        _write_roster(output, own, people, platform.key)
        return FetchedStudents(people, ())
    owners = Acquainted(roster.people)
    found = [(each, owners.find(_delivery(each, platform.key))) for each in people]
    counts = Counter(owner.id for _, owner in found if owner is not None)
    matched = [(o.id, each.user) for each, o in found if o is not None and counts[o.id] == 1]
    table = write_table(["login", USER_COLUMNS[platform.key]], matched, end="\n")
    write_whole(output / ROSTER, table, mode=0o600)
    unmatched = (each.name or each.user for each, o in found if o is None or counts[o.id] > 1)
    return FetchedStudents(people, tuple(unmatched))


def _refuse_other(output: Path, url: str) -> None:
    """Refuse a folder of another assignment: grades would go to the wrong one."""
    before = read_source(output)
    if before is not None and before.url != url:
        raise UsageError(
            say("has-class", folder=str(output), url=before.url),
            say("name-another-folder-with-output"),
        )


class _Fetching:
    def __init__(
        self,
        platform: LmsPlatform,
        people: Mapping[str, LmsPerson],
        progress: Progress,
        called: Callable[[LmsPerson], str],
    ) -> None:
        self._platform, self._people, self._progress = platform, people, progress
        self._called = called
        self._left = _CLASS
        self.kept: set[str] = set()

    def download(self, folder: Path, before: Collected) -> FolderContents:
        """Download new submissions. A complete copy with the same time is not fetched again."""
        here = {
            (each.keys.get(self._platform.key, ""), moment_of(attempt.at)): each.folder
            for each in before.students
            for attempt in each.attempts
            if all(file.reason != "gone" for file in attempt.left_out)
        }
        waiting = []
        left_out: list[LeftOut] = []
        for each in self._platform.handed_in():
            person = self._people.get(each.user)
            if person is None:  # who has left the course, and Canvas' trial student
                continue
            kept = here.get((each.user, each.at))
            if kept is not None:
                self.kept.add(kept)
            elif not each.files:
                left_out.append(LeftOut(self._called(person), "textual"))
            else:
                waiting.append((person, each))
        self._progress.stage(say("downloading"))
        found = []
        for done, (person, each) in enumerate(waiting):
            self._progress.step(done, len(waiting))
            found.append(self._one(folder / str(done), person, each))
        layout: OwnApi = "canvas" if self._platform.name == "canvas" else "moodle"
        return FolderContents(layout, tuple(found), left_out=tuple(left_out), certain=True)

    def _one(self, folder: Path, person: LmsPerson, each: LmsHandIn) -> Delivery:
        folder.mkdir()
        files, left_out, room = [], [], min(_STUDENT, self._left)
        for number, file in enumerate(each.files):
            path = folder / str(number)  # its name is the student's, and comes later
            is_over = number >= _FILES
            reason: Reason | None = "large" if is_over else self._file(file, path, room)
            if reason is None:
                files.append((path, file.name or "unnamed"))
                room -= path.stat().st_size
                self._left -= path.stat().st_size
            else:
                left_out.append(LeftOut(file.name or "unnamed", reason))
        return replace(
            _delivery(person, self._platform.key),
            files=tuple(files),
            left_out=tuple(left_out),
            late=each.late,
            at=each.at.isoformat(),
            name=person.name,
        )

    def _file(self, file: LmsFile, path: Path, room: int) -> Literal["gone", "large"] | None:
        """Download a file; return why not, where that is about the file."""
        if not file.url:
            return "gone"
        if file.size > min(_FILE, room):
            return "large"
        try:
            self._platform.download(file, path, min(_FILE, room))
        except TooLargeError:
            path.unlink(missing_ok=True)
            return "large"
        except NotFoundError:
            path.unlink(missing_ok=True)
            return "gone"
        return None


def _delivery(person: LmsPerson, key: Key) -> Delivery:
    """Return what identifies a student, with nothing that the student chose."""
    told: dict[Key, str] = {key: person.user, "user": person.login, "sid": person.sid}
    return Delivery("", {name: value for name, value in told.items() if value}, ())


def _own_roster(people: Iterable[LmsPerson], key: Key) -> Roster:
    """Return the course's students, called by their login where one alone has it."""
    people = tuple(people)
    counts = Counter(each.login.casefold() for each in people)
    return Roster(
        RosterPerson(
            each.login if each.login and counts[each.login.casefold()] == 1 else each.user,
            each.name,
            _delivery(each, key).keys,
        )
        for each in people
    )


def _write_roster(output: Path, roster: Roster, people: Iterable[LmsPerson], key: Key) -> None:
    both = zip(roster.people, people, strict=True)
    rows = ((person.id, person.name, each.email, each.user) for person, each in both)
    table = write_table(["login", "name", "email", USER_COLUMNS[key]], rows, end="\n")
    write_whole(output / ROSTER, table, mode=0o600)


def collected_users(students: Iterable[CollectedStudent], key: Key) -> dict[str, set[str]]:
    """Return the system's ids of students, by what the roster calls them."""
    found: dict[str, set[str]] = {}
    for each in students:
        number = each.keys.get(key, "")
        if each.id and not each.doubt and number:
            found.setdefault(each.id, set()).add(number)
    return found
