"""What a class's figures need of one student's report: a few facts, so that no report is kept."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from typing import Literal

from msgspec import field
from msgspec.structs import replace

from grader.language import Text, say
from grader.report import Cell, Check, CheckCode, Frozen, MistakeKind, Report, Verdict
from grader.report.parts import nothing

ConcernKind = Literal[
    "ungraded",
    "again",
    "held",
    "contested",
    "unmarked",
    "several",
    "interval",
    "near",
    "fell",
    "regraded",
]
"""Why somebody should look at a student's report.

The JSON has these codes; their labels are also those of other tables, so they are no ids.
"""

_WIDE = 0.05
"""An interval that is worth so much of all points is a reason to look."""

_FELL = 0.1
"""Whose later attempt is worth so much of all points less than an earlier one is looked at."""

_HEADING_LENGTH = 120


class Person(Frozen, frozen=True):
    """A student: `id` is unique in the class, `name` what people read; `page` is the address of
    the student's page beside the class's, empty where there is none."""

    id: str
    name: str = ""
    page: str = ""
    section: str = ""


class ReportedAttempt(Frozen, frozen=True):
    """A file that was handed in, the first one being 1; `scores` are what its gradings gave.

    `rules` says by which each was graded; where it is empty, by the same ones. Files that were
    handed in `together` have one word there.
    """

    number: int
    handed_in: datetime | None
    scores: tuple[float, ...]
    max_score: float = 0.0
    rules: tuple[str, ...] = ()
    together: str = ""

    @property
    def alike(self) -> tuple[tuple[float, ...], ...]:
        """The scores of gradings that should have given the same: those by the same rules."""
        groups: dict[str, list[float]] = {}
        for score, rule in zip(self.scores, self.rules or ("",) * len(self.scores), strict=True):
            groups.setdefault(rule, []).append(score)
        return tuple(map(tuple, groups.values()))


class Concern(Frozen, frozen=True):
    """Why somebody should look at a report."""

    kind: ConcernKind
    why: Text


class CheckSeen(Frozen, frozen=True):
    """What came of a check."""

    part: str
    id: str
    title: Text
    verdict: Verdict
    code: CheckCode
    score: float
    max_score: float
    reason: Text


class MistakeSeen(Frozen, frozen=True):
    """The first step that departs, by which mistake: empty where none was recognised."""

    part: str
    mistake: MistakeKind | Literal[""]
    message: Text


class Failure(Frozen, frozen=True):
    """A cell that ended in an error. `place` is the heading above it; `first` says that no cell
    failed before it."""

    place: str
    cell: int
    error: str
    message: str
    first: bool


class Speed(Frozen, frozen=True):
    """A measured schedule: how many times as fast as the unscheduled function, with its interval.

    `machine` names all that times depend on; what was measured on two kinds is not compared.
    """

    machine: str
    function: str
    speedup: float
    low: float
    high: float
    reference: float


class Observation(Frozen, frozen=True):
    """One student's work. `points` are those that count, None where there is no grade.

    `titles` are those of the parts, also of such as a person marks: these have no checks.
    """

    person: Person
    points: float | None
    possible: float
    checks: tuple[CheckSeen, ...] = ()
    mistakes: tuple[MistakeSeen, ...] = ()
    failures: tuple[Failure, ...] = ()
    speed: Speed | None = None
    stages: dict[str, float] = field(default_factory=dict)
    attempts: tuple[ReportedAttempt, ...] = ()
    concerns: tuple[Concern, ...] = ()
    title: Text = field(default_factory=nothing)
    titles: dict[str, Text] = field(default_factory=dict)


def unobserved(
    person: Person, why: Text, attempts: tuple[ReportedAttempt, ...] = ()
) -> Observation:
    """Return what is known of whose work could not be graded, and why that was."""
    concern = Concern("ungraded", why)
    return Observation(person, None, 0.0, attempts=attempts, concerns=(concern,))


def best_of(seen: Sequence[Observation]) -> Observation:
    """Return what counts of one student of whom there are several reports: the best one.

    Nobody has said which of them counts, so that somebody should look.
    """
    best = max(seen, key=lambda each: -1.0 if each.points is None else each.points)
    if len(seen) == 1:
        return best
    told = say("there-reports-best-one-counts-here", count=len(seen))
    return replace(best, concerns=(Concern("several", told), *best.concerns))


def observe(
    report: Report,
    person: Person,
    *,
    points: float | None = None,
    possible: float | None = None,
    attempts: tuple[ReportedAttempt, ...] = (),
    passing: float | None = None,
    marked: Collection[str] = (),
) -> Observation:
    """Return what counts of a report. `marked` are the parts that a person has marked since.

    `points` of `possible` are the grade, where a gradebook makes one of the report; `passing` are
    the points that one needs, near which somebody should look.
    """
    reached = report.score if points is None else points
    most = report.max_score if possible is None else possible
    return Observation(
        person=person,
        points=reached,
        possible=most,
        title=report.assignment.title,
        titles={part.id: part.title for part in report.parts},
        checks=tuple(_checks(report)),
        mistakes=tuple(_mistakes(report)),
        failures=tuple(_failures(report)),
        speed=speed_of(report),
        stages=dict(report.duration.stages),
        attempts=attempts,
        concerns=(*_concerns(report, marked), *_of_points(reached, most, attempts, passing)),
    )


def _checks(report: Report) -> Iterator[CheckSeen]:
    for part in report.parts:
        for each in part.checks:
            told = (each.verdict, each.code, each.score, each.max_score, each.reason)
            yield CheckSeen(part.id, each.id, each.title, *told)


def _mistakes(report: Report) -> Iterator[MistakeSeen]:
    for part in report.parts:
        if part.diagnosis is not None:
            yield MistakeSeen(part.id, part.diagnosis.mistake, part.diagnosis.message)


def _failures(report: Report) -> Iterator[Failure]:
    headings = dict(_headings(report.cells))
    for place, each in enumerate(report.problems):
        heading = headings.get(each.cell, "")
        yield Failure(heading, each.cell, each.error, each.message[:400], place == 0)


def _headings(cells: tuple[Cell, ...]) -> Iterator[tuple[int, str]]:
    """Yield each code cell's number, and the heading that it stands under.

    Students add cells, so that cell 7 of one is cell 9 of another: headings stay.
    """
    heading = ""
    for cell in cells:
        if cell.kind == "markdown":
            lines = cell.source.splitlines()
            found = [line.lstrip("# ").strip() for line in lines if line.startswith("#")]
            heading = found[-1][:_HEADING_LENGTH] if found else heading
        elif cell.number is not None:
            yield cell.number, heading


def machine_of(report: Report) -> str:
    """Return what a report's times depend on beside the schedule, in a line."""
    timing, machine = report.timing, report.environment
    if timing is None:
        return ""
    tvm = machine.packages.get("apache-tvm", "")
    return f"{machine.cpu}, {timing.threads} × {timing.target}" + (f", TVM {tvm}" if tvm else "")


def speed_of(report: Report) -> Speed | None:
    """Return what was measured; None where nothing was that makes sense."""
    timing = report.timing
    if timing is None or min(timing.ci_low, timing.speedup, timing.reference_speedup) <= 0:
        return None
    numbers = (timing.speedup, timing.ci_low, timing.ci_high, timing.reference_speedup)
    return Speed(machine_of(report), timing.workload, *numbers)


def _concerns(report: Report, marked: Collection[str]) -> Iterator[Concern]:
    """Yield what the report itself asks somebody to look at."""
    for part in report.parts:
        for check in part.checks:
            yield from _of_check(check, report.max_score)
        if part.contested:
            why = say("another-candidate-for-does-better-in-some", part=part.title)
            yield Concern("contested", why)
        if part.open and part.id not in marked:
            yield Concern("unmarked", say("part-not-marked-yet", part=part.title))


def _of_check(check: Check, most: float) -> Iterator[Concern]:
    if check.again:
        yield Concern("again", check.reason)
    elif check.code == "held":
        yield Concern("held", check.reason)
    worth = check.interval * check.max_score
    if check.interval and worth >= _WIDE * most > 0:
        told = say("interval-worth-points", check=check.title, points=worth)
        yield Concern("interval", told)


def _best_at_once(attempts: tuple[ReportedAttempt, ...]) -> Iterator[ReportedAttempt]:
    """Yield what is graded: of files that were handed in together, of which one counts, the best.

    Their order is that of their names, and says nothing about what came later.
    """
    graded = (each for each in attempts if each.scores)
    for _, group in groupby(graded, key=lambda each: each.together or each.number):
        yield max(group, key=lambda each: each.scores[-1])


def _of_points(
    points: float, most: float, attempts: tuple[ReportedAttempt, ...], passing: float | None
) -> Iterator[Concern]:
    if passing is not None and abs(passing - points) <= _WIDE / 2 * most:
        told = say("points-needed", points=points, passing=passing)
        yield Concern("near", told)
    for each in attempts:
        for scores in each.alike:  # another rubric gives everybody other points
            if max(scores) - min(scores) > 0.005:
                told = say(
                    "attempt-got-points-in-one-grading",
                    number=each.number,
                    low=min(scores),
                    high=max(scores),
                )
                yield Concern("regraded", told)
    for before, after in pairwise(_best_at_once(attempts)):
        if before.scores[-1] - after.scores[-1] >= _FELL * most > 0:
            told = say(
                "attempt-got-points-one-before",
                number=after.number,
                points=after.scores[-1],
                before=before.scores[-1],
            )
            yield Concern("fell", told)
