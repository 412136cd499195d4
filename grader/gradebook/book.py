"""The gradebook: what is asked of it and what is written into it, each its own transaction."""

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from grader.assignment import Assignment
from grader.errors import GraderError, UsageError
from grader.gradebook import rows, schema
from grader.gradebook.database import Database, LostError
from grader.gradebook.entries import Adjustment, Changes, Marking, Student, Value, entries_of
from grader.gradebook.grades import Account, Rules
from grader.gradebook.objections import NewObjection
from grader.language import say
from grader.report import Report, decode_report, utc_now


class HandedIn(Value, frozen=True):
    """A file as it was handed in, by whom and for what; `handed_in` is None if nobody says when.

    `told_late` and `together` are as of an attempt.
    """

    student: int
    slug: str
    name: str
    content: bytes
    handed_in: datetime | None = None
    source: str = "folder"
    told_late: bool = False
    together: str = ""


class OvertakenError(GraderError):
    """Raised when somebody else has marked meanwhile; `entry` is what counts now, if one does."""

    def __init__(self, entry: Adjustment | None) -> None:
        super().__init__(say("somebody-else-has-marked-this-in-meantime"))
        self.entry = entry


class Recounted(NamedTuple):
    """A report, with what an overview says of it and who chose its assignment."""

    report: Report
    noticed: str = ""
    chosen_by: str = ""


class Recording(NamedTuple):
    """What the gradebook records of a file: how it was handed in, and its report if it is graded.

    `noticed` and `chosen_by` are what an overview says of the report.
    """

    given: HandedIn
    report: Report | None
    noticed: str = ""
    chosen_by: str = ""


class Gradebook:
    """Students, what they handed in, what came of it, and what was decided about it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.where = database.where

    def close(self) -> None:
        """Close it."""
        self._database.close()

    def hurry(self) -> None:
        """Wait no longer for a server that has gone away, also where somebody waits now."""
        self._database.hurry()

    def take_rules(self, assignments: Iterable[Assignment]) -> tuple[str, ...]:
        """Take over what assignments say of grades; return the slugs of those that changed."""
        wanted = {each.slug: rows.rules_row(each) for each in assignments}
        with self._database.reading() as connection:
            known = rows.rules_rows(connection)
        if all(known.get(slug) == row for slug, row in wanted.items()):
            return ()
        with self._database.writing() as connection:
            known = rows.rules_rows(connection)
            changed = tuple(slug for slug, row in wanted.items() if known.get(slug) != row)
            for slug in changed:
                rows.put(connection, schema.assignment, "slug", wanted[slug], first={})
        return changed

    def rules(self) -> dict[str, Rules]:
        """Return what is known of assignments, by slug in order."""
        with self._database.reading() as connection:
            return {each.slug: each for each in rows.read_rules(connection).values()}

    def students(self) -> tuple[Student, ...]:
        """Return everybody, by login in order."""
        with self._database.reading() as connection:
            return rows.read_students(connection)

    def change_students(self, changes: Changes, withdrawn: Iterable[str] = ()) -> None:
        """Write what a roster changes, and note who has withdrawn, by logins."""
        table = schema.student
        new = {"name": "", "email": "", "section": "", "github": ""}
        with self._database.writing() as connection:
            for row in changes.rows:
                rows.put(connection, table, "login", {**row, "withdrawn": None}, first=new)
            gone = table.c.login.in_([*withdrawn]) & table.c.withdrawn.is_(None)
            connection.execute(sa.update(table).where(gone).values(withdrawn=utc_now()))

    def accounts(self, student: int | None = None) -> dict[int, dict[str, Account]]:
        """Return what happened, by students' ids and assignments: of everybody, or of one.

        Who handed in nothing has no account here. Free days are shared by all assignments, so who
        derives grades needs all of a student's.
        """
        with self._database.reading() as connection:
            rules = rows.read_rules(connection)
            attempts = rows.read_attempts(connection, student)
            extensions = rows.read_extensions(connection, student)
            objections = rows.read_objections(connection, student)
        found: dict[int, dict[str, Account]] = defaultdict(dict)
        for key in {*attempts, *extensions, *objections}:
            given, files = tuple(extensions.get(key, ())), tuple(attempts.get(key, ()))
            account = Account(rules[key[1]], given, files, tuple(objections.get(key, ())))
            found[key[0]][account.rules.slug] = account
        return found

    def record_all(self, recordings: Iterable[Recording]) -> None:
        """Record files and their reports, all or none; what is there already stays as it is.

        So it can be told twice. Raises GradebookError, UsageError for an unknown assignment.
        """
        packed = [_packed(each) for each in recordings]
        if not packed:
            return

        def write(connection: sa.Connection) -> None:
            for given, sha256, content, grading in packed:
                attempt = _attempt(connection, given, sha256, content)
                if grading is None:
                    continue
                if (attempt, grading["digest"]) not in rows.gradings_of(connection, {attempt}):
                    rows.insert(connection, schema.grading, {**grading, "attempt": attempt})

        self._write_surely(write)

    def supersede(self, gradings: Iterable[tuple[int, Recounted]]) -> None:
        """Give attempts, by their ids, other gradings: all of them, or none."""
        made = {}
        for attempt, (report, noticed, chosen_by) in gradings:
            row = {**rows.grading_row(report, noticed, chosen_by), "attempt": attempt}
            made[attempt, row["digest"]] = row

        def write(connection: sa.Connection) -> None:
            known = rows.gradings_of(connection, {attempt for attempt, _ in made})
            new = [row for key, row in made.items() if key not in known]
            if new:
                connection.execute(sa.insert(schema.grading), new)

        self._write_surely(write)

    def _write_surely(self, write: Callable[[sa.Connection], None]) -> None:
        """Write what may be written twice: once more if the server went away meanwhile."""
        try:
            with self._database.writing() as connection:
                write(connection)
        except LostError:
            with self._database.writing() as connection:
                write(connection)

    def stored(self) -> list[rows.StoredGrading]:
        """Return what all gradings are known by, in order."""
        with self._database.reading() as connection:
            return rows.read_stored(connection)

    def stored_attempts(self) -> list[rows.StoredAttempt]:
        """Return the attempts of those who have not withdrawn, in order."""
        with self._database.reading() as connection:
            return rows.read_stored_attempts(connection)

    def documents(self, gradings: Iterable[int]) -> dict[int, bytes]:
        """Return the reports of gradings, by their ids, as JSON: read by one query."""
        table = schema.grading
        query = sa.select(table.c.id, table.c.report).where(table.c.id.in_({*gradings}))
        with self._database.reading() as connection:
            return {row.id: zlib.decompress(row.report) for row in connection.execute(query)}

    def content(self, attempt: int) -> bytes:
        """Return the file of an attempt, by its id."""
        query = sa.select(schema.attempt.c.content).where(schema.attempt.c.id == attempt)
        with self._database.reading() as connection:
            return zlib.decompress(connection.execute(query).scalar_one())

    def recorded(self) -> frozenset[tuple[int, str]]:
        """Return which reports are recorded: students' ids, and digests of documents."""
        query = sa.select(schema.attempt.c.student, schema.grading.c.digest).join_from(
            schema.grading, schema.attempt, schema.grading.c.attempt == schema.attempt.c.id
        )
        with self._database.reading() as connection:
            return frozenset((row.student, row.digest) for row in connection.execute(query))

    def report_of(self, attempt: int) -> Report | None:
        """Return the newest report of an attempt, by its id; None where nothing is graded."""
        return self._newest_report(schema.attempt.c.id == attempt)

    def find_report(self, sha256: str) -> Report | None:
        """Return the newest report of a file with this digest, whoever handed it in."""
        return self._newest_report(schema.attempt.c.sha256 == sha256)

    def _newest_report(self, chosen: sa.ColumnElement[bool]) -> Report | None:
        query = (
            sa.select(schema.grading.c.report)
            .join(schema.attempt, schema.grading.c.attempt == schema.attempt.c.id)
            .where(chosen)
            .order_by(schema.grading.c.id.desc())
        )
        with self._database.reading() as connection:
            packed = connection.execute(query).scalar()
        return None if packed is None else decode_report(zlib.decompress(packed))

    def adjust(
        self,
        attempt: int,
        *,
        part: str = "",
        points: Decimal | None = None,
        factor: Decimal | None = None,
        reason: str,
        who: str,
    ) -> int:
        """Write down an adjustment of an attempt, by its id; return the adjustment's number."""
        row = {"attempt": attempt, "part": part, "points": points, "factor": factor}
        with self._database.writing() as connection:
            return rows.insert(connection, schema.adjustment, {**row, "reason": reason, "who": who})

    def mark(
        self,
        attempt: int,
        part: str,
        points: Decimal | None,
        marking: Marking,
        *,
        seen: int,
        who: str,
    ) -> None:
        """Write down what a person gives a part of an attempt, in place of what was given before.

        What was given before is taken back, by an entry of its own; without `points` that is all.
        `seen` is the number of the newest entry that whoever marks has seen, 0 for none. Raises
        OvertakenError where another one counts by now: then nothing is written.
        """
        row = {"attempt": attempt, "part": part, "who": who}
        with self._database.writing() as connection:
            given = entries_of(rows.adjustments_of(connection, attempt), part)
            if seen != (given[-1].id if given else 0):
                raise OvertakenError(given[-1] if given else None)
            reason = "marked again" if points is not None else "not marked after all"
            for each in given:
                undone = {**row, "takes_back": each.id, "reason": reason}
                rows.insert(connection, schema.adjustment, undone)
            if points is not None:
                made = {"points": points, "reason": marking.reason.english, "marking": marking}
                rows.insert(connection, schema.adjustment, {**row, **made})

    def mark_second(
        self,
        attempt: int,
        part: str,
        points: Decimal | None,
        marking: Marking,
        *,
        seen: int,
        who: str,
    ) -> None:
        """Write down what a second person would give a part of an attempt: no points of a grade.

        Without `points` it is taken back. `seen` and OvertakenError are as in `mark`.
        """
        table = schema.second_marking
        own = (table.c.attempt == attempt, table.c.part == part)
        with self._database.writing() as connection:
            found = rows.read_second_markings(connection, *own).get((attempt, part))
            given = found if found is not None and found.points is not None else None
            if seen != (0 if given is None else given.id):
                raise OvertakenError(given)
            row = {"attempt": attempt, "part": part, "points": points, "marking": marking}
            rows.insert(connection, table, {**row, "who": who})

    def second_markings(self) -> dict[tuple[int, str], Adjustment]:
        """Return what second persons would give, by attempts and parts."""
        with self._database.reading() as connection:
            found = rows.read_second_markings(connection)
        return {key: each for key, each in found.items() if each.points is not None}

    def take_back(self, adjustment: int, *, reason: str, who: str) -> int:
        """Write down that an adjustment no longer counts. Returns the number of that entry.

        Raises UsageError where it is taken back already, or is such an entry itself.
        """
        table = schema.adjustment
        with self._database.writing() as connection:
            found = connection.execute(sa.select(table).where(table.c.id == adjustment)).first()
            undone = sa.select(table.c.id).where(table.c.takes_back == adjustment)
            if found is None or found.takes_back is not None:
                raise UsageError(
                    say("there-no-adjustment", adjustment=adjustment),
                    say("see-grader-grades-show-student"),
                )
            if connection.execute(undone).first() is not None:
                raise UsageError(
                    say("adjustment-has-already-been-undone", adjustment=adjustment),
                    say("see-grader-grades-show-student"),
                )
            row = {"attempt": found.attempt, "part": found.part, "takes_back": adjustment}
            return rows.insert(connection, table, {**row, "reason": reason, "who": who})

    def extend(
        self, student: int, slug: str, due: datetime | None, *, reason: str, who: str
    ) -> None:
        """Give one student another due date; None takes back what was given."""
        with self._database.writing() as connection:
            row = {"student": student, "assignment": rows.assignment_id(connection, slug)}
            rows.insert(
                connection, schema.extension, row | {"due": due, "reason": reason, "who": who}
            )

    def enter_objections(
        self, objections: Iterable[NewObjection], *, who: str
    ) -> list[tuple[int, bool]]:
        """Enter objections, all or none; return their numbers, and which of them are new.

        One that was entered before in the same words keeps its number.
        """
        with self._database.writing() as connection:
            return [self._enter(connection, each, who) for each in objections]

    def _enter(
        self, connection: sa.Connection, objection: NewObjection, who: str
    ) -> tuple[int, bool]:
        assignment = rows.assignment_id(connection, objection.slug)
        known = rows.objection_of(connection, objection, assignment)
        if known is not None:
            return known, False
        row = msgspec.structs.asdict(objection) | {"assignment": assignment, "who": who}
        del row["slug"]
        return rows.insert(connection, schema.objection, row), True

    def answer_objection(
        self,
        objection: int,
        text: str,
        *,
        seen: int,
        who: str,
        attempt: int | None = None,
        points: Decimal | None = None,
    ) -> int | None:
        """Answer an objection; with `points` adjust its part of an attempt, by the attempt's id.

        `seen` is how many replies whoever answers has seen: points are not given twice for one
        objection because two people answer it. Returns the number of the adjustment, if there is
        one. Raises UsageError where there is no such objection, or one more reply by now.
        """
        table, replies = schema.objection, schema.reply
        with self._database.writing() as connection:
            found = connection.execute(sa.select(table).where(table.c.id == objection)).first()
            if found is None:
                raise UsageError(
                    say("there-no-objection", number=objection), say("see-grader-objections-list")
                )
            known = sa.select(sa.func.count()).where(replies.c.objection == objection)
            if seen != connection.execute(known).scalar_one():
                raise UsageError(
                    say("somebody-else-has-answered-objection", number=objection),
                    say("see-grader-objections-list"),
                )
            adjustment = None
            if attempt is not None and points is not None:
                change = {"attempt": attempt, "part": found.part, "points": points}
                change |= {"reason": f"objection {objection}", "who": who}
                adjustment = rows.insert(connection, schema.adjustment, change)
            row = {"objection": objection, "text": text, "who": who, "adjustment": adjustment}
            rows.insert(connection, replies, row)
            return adjustment

    def forget(self, student: int) -> None:
        """Delete a student with all that is known of them, for good."""
        attempts = sa.select(schema.attempt.c.id).where(schema.attempt.c.student == student)
        taken_back = schema.adjustment.c.attempt.in_(attempts)
        asked = sa.select(schema.objection.c.id).where(schema.objection.c.student == student)
        with self._database.writing() as connection:
            connection.execute(sa.delete(schema.reply).where(schema.reply.c.objection.in_(asked)))
            counter = taken_back & schema.adjustment.c.takes_back.is_not(None)
            connection.execute(sa.delete(schema.adjustment).where(counter))
            connection.execute(sa.delete(schema.adjustment).where(taken_back))
            again = schema.second_marking.c.attempt.in_(attempts)
            connection.execute(sa.delete(schema.second_marking).where(again))
            of_them = schema.grading.c.attempt.in_(attempts)
            connection.execute(sa.delete(schema.grading).where(of_them))
            for table in (schema.attempt, schema.extension, schema.objection):
                connection.execute(sa.delete(table).where(table.c.student == student))
            connection.execute(sa.delete(schema.student).where(schema.student.c.id == student))
        self._database.sweep()


def _packed(each: Recording) -> tuple[HandedIn, str, bytes, dict[str, Any] | None]:
    """Return a recording as it is stored: what takes time, before the database is held."""
    grading = None
    if each.report is not None and each.report.parts:
        grading = rows.grading_row(each.report, each.noticed, each.chosen_by)
    content = each.given.content
    return each.given, hashlib.sha256(content).hexdigest(), zlib.compress(content, 6), grading


def _attempt(connection: sa.Connection, given: HandedIn, sha256: str, packed: bytes) -> int:
    """Return the id of the attempt that a file is; it is recorded where it is not there yet.

    Where nobody has said when it was handed in, what is said now is noted.
    """
    assignment = rows.assignment_id(connection, given.slug)
    found = rows.attempt_of(connection, given.student, assignment, sha256)
    if found is None:
        row = msgspec.structs.asdict(given) | {"assignment": assignment, "sha256": sha256}
        del row["slug"]
        row["content"] = packed
        return rows.insert(connection, schema.attempt, row)
    if found.handed_in is None and (given.handed_in is not None or given.told_late):
        change = sa.update(schema.attempt).where(schema.attempt.c.id == found.id)
        late = found.told_late or given.told_late
        connection.execute(change.values(handed_in=given.handed_in, told_late=late))
    return int(found.id)
