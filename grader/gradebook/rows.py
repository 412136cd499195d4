"""Rows of the gradebook's tables, and what is made of them; all of it within a transaction."""

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy import Connection, Row

from grader.assignment import Assignment
from grader.decoding import prepared
from grader.gradebook import schema
from grader.gradebook.entries import (
    Adjustment,
    Attempt,
    Extension,
    Grading,
    PartPoints,
    Student,
    Value,
)
from grader.gradebook.grades import Rules, unknown_assignment
from grader.gradebook.objections import NewObjection, Objection, Reply
from grader.report import Report, encode_report, utc_now


class StoredGrading(Value, frozen=True):
    """A grading without its report: how many `seconds` it took, what it left `open`."""

    id: int
    attempt: int
    student: int
    slug: str
    sha256: str
    digest: str
    basis: str
    rubric: str
    level: str
    dialect: str
    seed: int
    seconds: float
    score: float
    max_score: float
    settled: bool
    noticed: str
    chosen_by: str
    open: float


class StoredAttempt(Value, frozen=True):
    """A file that was handed in, without its content."""

    id: int
    student: int
    slug: str
    sha256: str
    name: str


_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")
Pair = tuple[int, int]
"""The ids of a student and of an assignment."""


def read_students(connection: Connection) -> tuple[Student, ...]:
    """Return everybody, by login in order."""
    table = schema.student
    columns = [table.c[name] for name in Student.__struct_fields__]
    query = sa.select(*columns).order_by(table.c.login)
    return tuple(Student(*row) for row in connection.execute(query))


def rules_row(assignment: Assignment) -> dict[str, Any]:
    """Return what an assignment says of grades, as it is stored."""
    return {
        "slug": assignment.slug,
        "version": assignment.version,
        "points": Decimal(repr(assignment.points)),
        "due": assignment.due,
        "late": assignment.late,
        "counts": assignment.counts,
        "parts": assignment.part_ids,
    }


def rules_rows(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return what is stored of assignments, by slug."""
    found = [row._asdict() for row in connection.execute(sa.select(schema.assignment))]
    return {
        row["slug"]: {name: value for name, value in row.items() if name != "id"} for row in found
    }


def read_rules(connection: Connection) -> dict[int, Rules]:
    """Return what assignments say of grades, by their ids, in order of their slugs."""
    query = sa.select(schema.assignment).order_by(schema.assignment.c.slug)
    return {
        row.id: Rules(row.slug, row.points, row.due, row.late, row.counts, row.parts)
        for row in connection.execute(query)
    }


def assignment_id(connection: Connection, slug: str) -> int:
    """Return the id of an assignment. Raises UsageError that lists what there is."""
    query = sa.select(schema.assignment.c.id).where(schema.assignment.c.slug == slug)
    found = connection.execute(query).scalar()
    if found is None:
        raise unknown_assignment(slug, [each.slug for each in read_rules(connection).values()])
    return int(found)


def put(
    connection: Connection, table: sa.Table, key: str, row: dict[str, Any], first: dict[str, Any]
) -> None:
    """Change the row with this key, or insert it, then also with what it has at `first`."""
    found = connection.execute(sa.update(table).where(table.c[key] == row[key]).values(**row))
    if found.rowcount == 0:
        insert(connection, table, {**first, **row})


def insert(connection: Connection, table: sa.Table, row: dict[str, Any]) -> int:
    """Insert a row; return its id."""
    (key,) = connection.execute(sa.insert(table).values(**row)).inserted_primary_key or (0,)
    return int(key)


def attempt_of(connection: Connection, student: int, assignment: int, sha256: str) -> Any:
    """Return the row of the attempt that a file is, None where it is none yet."""
    table = schema.attempt
    query = sa.select(table.c.id, table.c.handed_in, table.c.told_late).where(
        table.c.student == student, table.c.assignment == assignment, table.c.sha256 == sha256
    )
    return connection.execute(query).first()


def gradings_of(connection: Connection, attempts: Iterable[int]) -> set[tuple[int, str]]:
    """Return which reports attempts have: the attempts' ids, and the reports' digests."""
    table = schema.grading
    query = sa.select(table.c.attempt, table.c.digest).where(table.c.attempt.in_([*attempts]))
    return {(row.attempt, row.digest) for row in connection.execute(query)}


def grading_row(report: Report, noticed: str, chosen_by: str) -> dict[str, Any]:
    """Return a report as it is stored, with what is told of it in an overview."""
    document = encode_report(report)
    parts = [
        {"id": each.id, "score": repr(each.score), "max_score": repr(each.max_score)}
        | ({"open": repr(each.open)} if each.open else {})
        for each in report.parts
    ]
    undecided = any(check.again for part in report.parts for check in part.checks)
    return {
        "digest": hashlib.sha256(document).hexdigest(),
        "basis": report.basis,
        "rubric": report.rubric,
        "level": report.sandbox.level,
        "dialect": report.dialect,
        "seconds": repr(report.duration.total),
        "noticed": noticed,
        "chosen_by": chosen_by,
        "grader": report.environment.packages.get("tvm-grader", ""),
        "machine": report.environment.cpu,
        "seed": str(report.seed),
        "score": Decimal(repr(report.score)),
        "max_score": Decimal(repr(report.max_score)),
        "parts": parts,
        "settled": not undecided,
        "graded": report.graded or utc_now(),
        "report": zlib.compress(document, 6),
    }


def read_attempts(connection: Connection, student: int | None) -> dict[Pair, list[Attempt]]:
    """Return attempts by student and assignment, in the order in which they were handed in."""
    table = schema.attempt
    columns = [each for each in table.c if each.name != "content"]
    rows = connection.execute(sa.select(*columns).where(_of_student(table, student))).all()
    gradings = _gradings(connection, student)
    adjustments = _adjustments(connection, student)
    found: dict[Pair, list[Attempt]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.handed_in or row.recorded, row.id)):
        own = found[row.student, row.assignment]
        own.append(
            Attempt(
                row.id,
                len(own) + 1,
                row.name,
                row.sha256,
                row.handed_in,
                row.recorded,
                tuple(gradings.get(row.id, ())),
                tuple(adjustments.get(row.id, ())),
                row.told_late,
                row.together,
            )
        )
    return found


def _grouped(pairs: Iterable[tuple[_Key, _Entry]]) -> dict[_Key, list[_Entry]]:
    found: dict[_Key, list[_Entry]] = defaultdict(list)
    for key, entry in pairs:
        found[key].append(entry)
    return found


def _of_student(table: sa.Table, student: int | None) -> sa.ColumnElement[bool]:
    if student is None:
        return sa.true()
    if "student" in table.c:
        return table.c.student == student
    own = sa.select(schema.attempt.c.id).where(schema.attempt.c.student == student)
    return table.c.attempt.in_(own)


def _gradings(connection: Connection, student: int | None) -> dict[int, list[Grading]]:
    table = schema.grading
    columns = (table.c[name] for name in ("attempt", *Grading.__struct_fields__))
    query = sa.select(*columns).where(_of_student(table, student)).order_by(table.c.id)
    rows = connection.execute(query)
    return _grouped((attempt, Grading(*fields)) for attempt, *fields in rows)


def _adjustments(connection: Connection, student: int | None) -> dict[int, list[Adjustment]]:
    table = schema.adjustment
    query = sa.select(table).where(_of_student(table, student)).order_by(table.c.id)
    return _grouped((row.attempt, _as_adjustment(row)) for row in connection.execute(query))


def adjustments_of(connection: Connection, attempt: int) -> list[Adjustment]:
    """Return the adjustments of one attempt, in order."""
    table = schema.adjustment
    query = sa.select(table).where(table.c.attempt == attempt).order_by(table.c.id)
    return [_as_adjustment(row) for row in connection.execute(query)]


def _as_adjustment(row: Row[Any]) -> Adjustment:
    fields = row._asdict()
    del fields["attempt"]
    return Adjustment(**fields)


def read_second_markings(connection: Connection, *chosen: Any) -> dict[tuple[int, str], Adjustment]:
    """Return each answer's newest second marking; what was taken back has no points."""
    table = schema.second_marking
    found = {}
    for row in connection.execute(sa.select(table).where(*chosen).order_by(table.c.id)):
        told = row.id, row.part, row.points, None, None, "", row.who, row.recorded, row.marking
        found[row.attempt, row.part] = Adjustment(*told)
    return found


def read_extensions(connection: Connection, student: int | None) -> dict[Pair, list[Extension]]:
    """Return extensions by student and assignment, in order."""
    table = schema.extension
    query = sa.select(table).where(_of_student(table, student)).order_by(table.c.id)
    return _grouped(
        ((row.student, row.assignment), Extension(row.due, row.reason, row.who, row.recorded))
        for row in connection.execute(query)
    )


def read_objections(connection: Connection, student: int | None) -> dict[Pair, list[Objection]]:
    """Return objections by student and assignment, in order."""
    table = schema.objection
    query = sa.select(table).where(_of_student(table, student)).order_by(table.c.id)
    asked = connection.execute(query).all()
    replies = _replies(connection, [row.id for row in asked] if student is not None else None)
    return _grouped(
        (
            (each.student, each.assignment),
            Objection(
                each.id, each.part, each.text, each.who, each.recorded, tuple(replies[each.id])
            ),
        )
        for each in asked
    )


def _replies(connection: Connection, objections: list[int] | None) -> dict[int, list[Reply]]:
    table = schema.reply
    chosen = sa.true() if objections is None else table.c.objection.in_(objections)
    rows = connection.execute(sa.select(table).where(chosen).order_by(table.c.id))
    return _grouped(
        (row.objection, Reply(row.id, row.text, row.who, row.recorded, row.adjustment))
        for row in rows
    )


def objection_of(connection: Connection, objection: NewObjection, assignment: int) -> int | None:
    """Return the number of an objection in the same words, None where there is none."""
    table = schema.objection
    query = sa.select(table.c.id).where(
        table.c.student == objection.student,
        table.c.assignment == assignment,
        table.c.part == objection.part,
        table.c.text == objection.text,
    )
    found = connection.execute(query.order_by(table.c.id)).scalar()
    return None if found is None else int(found)


def read_stored(connection: Connection) -> list[StoredGrading]:
    """Return all gradings without their reports, in order."""
    table, attempt = schema.grading, schema.attempt
    names = StoredGrading.__struct_fields__
    elsewhere = {
        "student": attempt.c.student,
        "slug": schema.assignment.c.slug,
        "sha256": attempt.c.sha256,
        "open": sa.type_coerce(table.c.parts, sa.Text),
    }
    columns = [elsewhere[name] if name in elsewhere else table.c[name] for name in names]
    query = sa.select(*columns).select_from(table.join(attempt).join(schema.assignment))
    numbers = {"seed": int, "seconds": float, "score": float, "max_score": float}
    readers: dict[str, Callable[[Any], Any]] = {**numbers, "open": _open_in}
    read = [readers.get(name, _as_it_is) for name in names]
    return [
        StoredGrading(*(each(value) for each, value in zip(read, row, strict=True)))
        for row in connection.execute(query.order_by(table.c.id))
    ]


def _as_it_is(value: Any) -> Any:
    return value


def _open_in(parts: str) -> float:
    """Return the points that parts, as they are stored, leave to a person."""
    if '"open"' not in parts:  # as nearly always: a class has thousands
        return 0.0
    decoded = msgspec.json.decode(parts, type=prepared(tuple[PartPoints, ...]))
    return float(sum(each.open for each in decoded))


def read_stored_attempts(connection: Connection) -> list[StoredAttempt]:
    """Return all attempts without their files, of those who have not withdrawn, in order."""
    table, student = schema.attempt, schema.student
    query = (
        sa.select(
            table.c.id, table.c.student, schema.assignment.c.slug, table.c.sha256, table.c.name
        )
        .select_from(table.join(schema.assignment).join(student))
        .where(student.c.withdrawn.is_(None))
    )
    return [StoredAttempt(*row) for row in connection.execute(query.order_by(table.c.id))]
