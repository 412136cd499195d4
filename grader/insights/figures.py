"""The figures of a class: pure functions of what was observed of each student's report."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from grader.insights.observation import CheckSeen, Concern, Failure, Observation, Person, Speed
from grader.language import NOTHING, Text
from grader.report import Frozen, MistakeKind, Verdict

BINS = 10

Source = Literal["gradebook", "folder"]
Ids = tuple[str, ...]
"""Students, by their ids, in the order of the class."""


class Numbers(Frozen, frozen=True):
    """Quartiles with ends and the mean of points; None where nobody has any."""

    lowest: float | None
    quarter: float | None
    median: float | None
    three_quarters: float | None
    highest: float | None
    mean: float | None


class Bin(Frozen, frozen=True):
    """Who reached from `low` to `high` points; the last one holds all points, too."""

    low: float
    high: float
    students: Ids


class CodeRow(Frozen, frozen=True):
    """What came of a check that was not passed, with the reason that one of them was given."""

    code: str
    students: Ids
    example: Text


class CheckRow(Frozen, frozen=True):
    """A check: who passed it, in part, failed it, or was not graded in it."""

    part: str
    id: str
    title: Text
    max_score: float
    mean: float
    verdicts: dict[Verdict, Ids]
    codes: tuple[CodeRow, ...]

    @property
    def count(self) -> int:
        """How many reports have the check."""
        return sum(map(len, self.verdicts.values()))


class PartRow(Frozen, frozen=True):
    """A part with its checks; `mean` are the points that were reached in it on average."""

    id: str
    title: Text
    max_score: float
    mean: float
    checks: tuple[CheckRow, ...]


class MistakeRow(Frozen, frozen=True):
    """A mistake, who made it, in which parts; `mistake` is empty for those not recognised."""

    mistake: MistakeKind | Literal[""]
    parts: Ids
    students: Ids
    example: Text


class FailureRow(Frozen, frozen=True):
    """An error under a heading. Of whom it is the `first` one, nothing failed before it."""

    place: str
    error: str
    cells: tuple[int, ...]
    students: Ids
    first: Ids
    example: str


class SpeedRow(Frozen, frozen=True):
    """A student's speed-up with its interval."""

    student: str
    speedup: float
    low: float
    high: float


class SpeedGroup(Frozen, frozen=True):
    """What was measured on one kind of machine, the fastest first."""

    machine: str
    function: str
    reference: float
    rows: tuple[SpeedRow, ...]


class AttemptRow(Frozen, frozen=True):
    """Who handed in so many times, and the points of that attempt in the median."""

    number: int
    students: Ids
    median: float | None


class DayRow(Frozen, frozen=True):
    """What was handed in on a day (ISO 8601), each time in its own zone."""

    day: str
    attempts: int
    students: Ids


class StageRow(Frozen, frozen=True):
    """Seconds of wall time that a stage of the grading took, in the median and at most."""

    stage: str
    median: float
    longest: float
    student: str


class ConcernRow(Frozen, frozen=True):
    """Somebody whose report needs a look, and why."""

    student: str
    reasons: tuple[Concern, ...]


class StudentRow(Frozen, frozen=True):
    """A student of the class, with what they reached."""

    person: Person
    points: float | None
    possible: float
    mistakes: Ids
    attempts: int
    speedup: float | None


ObjectionState = Literal["open", "answered", "moved"]


class ObjectionRow(Frozen, frozen=True):
    """How many objections to a part stand so, and of whom; `part` is empty for the whole."""

    part: str
    state: ObjectionState
    count: int
    students: Ids


class Insights(Frozen, frozen=True):
    """The figures of one assignment. `missing` handed in nothing, as far as a roster says.

    `objections` are a gradebook's. `titles` are those of all parts.
    """

    assignment: str
    title: Text
    source: Source
    possible: float
    numbers: Numbers
    bins: tuple[Bin, ...]
    parts: tuple[PartRow, ...]
    mistakes: tuple[MistakeRow, ...]
    failures: tuple[FailureRow, ...]
    speeds: tuple[SpeedGroup, ...]
    attempts: tuple[AttemptRow, ...]
    days: tuple[DayRow, ...]
    stages: tuple[StageRow, ...]
    concerns: tuple[ConcernRow, ...]
    students: tuple[StudentRow, ...]
    titles: dict[str, Text]
    missing: tuple[Person, ...] = ()
    objections: tuple[ObjectionRow, ...] = ()
    schema_version: Literal[1] = 1

    @property
    def graded(self) -> int:
        """How many students have points."""
        return sum(each.points is not None for each in self.students)


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def insights_of(
    slug: str,
    source: Source,
    seen: Iterable[Observation],
    missing: Iterable[Person] = (),
    objections: Iterable[ObjectionRow] = (),
) -> Insights:
    """Return the figures of a class; each student is observed once."""
    every = sorted(seen, key=lambda each: each.person.id)
    titles = {part: title for each in every for part, title in each.titles.items()}
    possible = max((each.possible for each in every), default=0.0)
    graded = [each for each in every if each.points is not None]
    return Insights(
        assignment=slug,
        title=next((each.title for each in graded if each.title), NOTHING),
        source=source,
        possible=possible,
        numbers=_numbers([each.points for each in graded if each.points is not None]),
        bins=_bins(graded, possible),
        parts=_parts(graded, titles),
        mistakes=_mistakes(graded),
        failures=_failures(graded),
        speeds=_speeds(graded),
        attempts=_attempts(every),
        days=_days(every),
        stages=_stages(graded),
        concerns=tuple(ConcernRow(e.person.id, e.concerns) for e in every if e.concerns),
        students=tuple(map(_student, every)),
        missing=tuple(sorted(missing, key=lambda each: each.id)),
        objections=tuple(objections),
        titles=titles,
    )


def _student(each: Observation) -> StudentRow:
    mistakes = dict.fromkeys(found.mistake for found in each.mistakes)
    speedup = None if each.speed is None else each.speed.speedup
    count = max(len(each.attempts), 1)
    points = (each.points, each.possible)
    return StudentRow(each.person, *points, tuple(mistakes), count, speedup)


def _numbers(points: Sequence[float]) -> Numbers:
    if not points:
        return Numbers(None, None, None, None, None, None)
    several = points if len(points) > 1 else [*points, *points]
    cuts = statistics.quantiles(several, n=4, method="inclusive")
    mean = statistics.fmean(points)
    figures = (min(points), *cuts, max(points), mean)
    return Numbers(*(round(each, 2) for each in figures))


def _bins(graded: Sequence[Observation], possible: float) -> tuple[Bin, ...]:
    if not possible:
        return ()
    groups = _grouped(graded, lambda each: _bin_of(each.points or 0.0, possible))
    width = possible / BINS
    return tuple(
        Bin(round(width * n, 4), round(width * (n + 1), 4), _ids(groups.get(n, ())))
        for n in range(BINS)
    )


def _bin_of(points: float, possible: float) -> int:
    """Return the bin of a number of points; a bonus is in the last one."""
    return max(0, min(BINS - 1, int(points / possible * BINS + 1e-9)))


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    found: dict[Key, list[Item]] = defaultdict(list)
    for each in items:
        found[key(each)].append(each)
    return found


def _ids(seen: Iterable[Observation]) -> Ids:
    return tuple(dict.fromkeys(each.person.id for each in seen))


def _mean(numbers: Sequence[float]) -> float:
    return round(statistics.fmean(numbers), 4) if numbers else 0.0


def _parts(graded: Sequence[Observation], titles: Mapping[str, Text]) -> tuple[PartRow, ...]:
    found = [(check, each.person.id) for each in graded for check in each.checks]
    rows = []
    for part, entries in _grouped(found, lambda entry: entry[0].part).items():
        by_check = _grouped(entries, lambda entry: entry[0].id)
        checks = tuple(_check(part, id, own) for id, own in by_check.items())
        most, mean = (sum(getattr(e, name) for e in checks) for name in ("max_score", "mean"))
        rows.append(PartRow(part, titles[part], round(most, 4), round(mean, 4), checks))
    return tuple(rows)


def _check(part: str, id: str, own: Sequence[tuple[CheckSeen, str]]) -> CheckRow:
    verdicts = _grouped(own, lambda entry: entry[0].verdict)
    lost = [entry for entry in own if entry[0].verdict != "passed"]
    codes = _grouped(lost, lambda entry: entry[0].code)
    rows = [CodeRow(c, tuple(w for _, w in of), of[0][0].reason) for c, of in codes.items()]
    return CheckRow(
        part=part,
        id=id,
        title=own[0][0].title,
        max_score=max(check.max_score for check, _ in own),
        mean=_mean([check.score for check, _ in own]),
        verdicts={verdict: tuple(who for _, who in of) for verdict, of in verdicts.items()},
        codes=tuple(sorted(rows, key=lambda row: (-len(row.students), row.code))),
    )


def _mistakes(graded: Sequence[Observation]) -> tuple[MistakeRow, ...]:
    """Return mistakes, the most frequent first: a student counts once, in however many parts."""
    found = [(mistake, each.person.id) for each in graded for mistake in each.mistakes]
    rows = [
        MistakeRow(
            name,
            tuple(dict.fromkeys(seen.part for seen, _ in own)),
            tuple(dict.fromkeys(who for _, who in own)),
            own[0][0].message,
        )
        for name, own in _grouped(found, lambda entry: entry[0].mistake).items()
    ]
    return tuple(sorted(rows, key=lambda row: (not row.mistake, -len(row.students), row.mistake)))


def _failures(graded: Sequence[Observation]) -> tuple[FailureRow, ...]:
    found = [(failure, each.person.id) for each in graded for failure in each.failures]
    groups = _grouped(found, lambda entry: (entry[0].place, entry[0].error))
    rows = [_failure(*key, own) for key, own in groups.items()]
    return tuple(sorted(rows, key=lambda row: (-len(row.students), row.place, row.error)))


def _failure(place: str, error: str, own: Sequence[tuple[Failure, str]]) -> FailureRow:
    return FailureRow(
        place=place,
        error=error,
        cells=tuple(sorted({failure.cell for failure, _ in own})),
        students=tuple(dict.fromkeys(who for _, who in own)),
        first=tuple(dict.fromkeys(who for failure, who in own if failure.first)),
        example=own[0][0].message,
    )


def _speeds(graded: Sequence[Observation]) -> tuple[SpeedGroup, ...]:
    found = [(each.speed, each.person.id) for each in graded if each.speed is not None]
    groups = _grouped(found, lambda entry: (entry[0].machine, entry[0].function))
    rows = [_speed_group(*key, own) for key, own in groups.items()]
    return tuple(sorted(rows, key=lambda row: (-len(row.rows), row.machine, row.function)))


def _speed_group(machine: str, function: str, own: Sequence[tuple[Speed, str]]) -> SpeedGroup:
    rows = [SpeedRow(who, each.speedup, each.low, each.high) for each, who in own]
    reference = statistics.median(each.reference for each, _ in own)
    ordered = sorted(rows, key=lambda row: (-row.speedup, row.student))
    return SpeedGroup(machine, function, reference, tuple(ordered))


def _attempts(every: Sequence[Observation]) -> tuple[AttemptRow, ...]:
    """Return what each attempt came to; nothing where nobody handed in twice."""
    found = [(attempt, each.person.id) for each in every for attempt in each.attempts]
    groups = _grouped(found, lambda entry: entry[0].number)
    if len(groups) < 2:
        return ()
    rows = []
    for number, own in sorted(groups.items()):
        scores = [attempt.scores[-1] for attempt, _ in own if attempt.scores]
        median = round(statistics.median(scores), 2) if scores else None
        rows.append(AttemptRow(number, tuple(who for _, who in own), median))
    return tuple(rows)


def _days(every: Sequence[Observation]) -> tuple[DayRow, ...]:
    found = [
        (attempt.handed_in.date().isoformat(), each.person.id)
        for each in every
        for attempt in each.attempts
        if attempt.handed_in is not None
    ]
    groups = _grouped(found, lambda entry: entry[0])
    return tuple(
        DayRow(day, len(own), tuple(dict.fromkeys(who for _, who in own)))
        for day, own in sorted(groups.items())
    )


def _stages(graded: Sequence[Observation]) -> tuple[StageRow, ...]:
    found = [(stage, time, e.person.id) for e in graded for stage, time in e.stages.items()]
    rows = []
    for stage, own in _grouped(found, lambda entry: entry[0]).items():
        times = [time for _, time, _ in own]
        longest = max(own, key=lambda entry: entry[1])
        rows.append(StageRow(stage, statistics.median(times), longest[1], longest[2]))
    return tuple(sorted(rows, key=lambda row: -row.median))
