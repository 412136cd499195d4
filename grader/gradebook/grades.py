"""From what happened to a grade, step by step: pure functions, and the sentences that explain it.

A grade is never stored. It is what a grading gave, with the adjustments in the order in which they
were made, less what lateness costs, for the attempt that counts.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from grader.errors import UsageError
from grader.gradebook.entries import (
    Adjustment,
    Attempt,
    Extension,
    Grading,
    PartPoints,
    Value,
    rounded,
    show,
    valid,
)
from grader.gradebook.objections import (
    Objection,
    adjustment_line,
    decided_parts,
    idle_line,
    told_objections,
    told_time,
)
from grader.language import NOTHING, Text, foreign, in_a_row, join, say
from grader.lateness import IN_TIME, NONE, Counting, Lateness, LatePolicy, lateness
from grader.render.final_grade import DecidedPart, FinalGrade, ToldObjection


class Rules(Value, frozen=True):
    """What an assignment says of grades. `parts` are the ids of its parts."""

    slug: str
    points: Decimal
    due: datetime | None = None
    late: LatePolicy | None = None
    counts: Counting = "best"
    parts: tuple[str, ...] = ()


def unknown_assignment(slug: str, slugs: Collection[str]) -> UsageError:
    """Return what is said of an assignment that is not among those of the gradebook."""
    known = in_a_row(slugs) if slugs else say("none")
    return UsageError(
        say("gradebook-has-no-assignment", slug=repr(slug)), say("known", known=known)
    )


class Account(Value, frozen=True):
    """All that happened between one student and one assignment."""

    rules: Rules
    extensions: tuple[Extension, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    objections: tuple[Objection, ...] = ()

    @property
    def adjustments(self) -> tuple[Adjustment, ...]:
        """The adjustments of all attempts."""
        return tuple(entry for each in self.attempts for entry in each.adjustments)

    @property
    def extension(self) -> Extension | None:
        """The extension that holds, if one does."""
        last = self.extensions[-1] if self.extensions else None
        return last if last is not None and last.due is not None else None

    @property
    def due(self) -> datetime | None:
        """When it is due for this student: an extension makes nothing due earlier.

        It would where everybody was given more time than somebody had been before.
        """
        own = None if self.extension is None else self.extension.due
        known = [each for each in (self.rules.due, own) if each is not None]
        return max(known, default=None)


class Grade(Value, frozen=True):
    """A grade, and how it came about. `points` are None where nothing has been graded.

    `attempt` is the number of the one that counts, `lines` explain it from top to bottom. `open`
    are points that a person has yet to give: neither `points` nor `possible` has them. `decided`
    are the parts of which a person decided something, `objections` what the student asked. `idle`
    are adjustments of parts that the grading does not have.
    """

    points: Decimal | None
    possible: Decimal
    attempt: int | None
    lateness: Lateness
    settled: bool
    parts: tuple[PartPoints, ...]
    lines: tuple[Text, ...]
    open: Decimal = NONE
    decided: tuple[DecidedPart, ...] = ()
    objections: tuple[ToldObjection, ...] = ()
    idle: tuple[Adjustment, ...] = ()

    @property
    def final(self) -> FinalGrade | None:
        """The grade as a page shows it, None where nothing has been graded."""
        if self.points is None:
            return None
        numbers = float(self.points), float(self.possible), float(self.open)
        return FinalGrade(*numbers, self.lines, parts=self.decided, objections=self.objections)


class _Total(NamedTuple):
    attempt: Attempt
    points: Decimal
    grading: Grading
    lateness: Lateness
    parts: tuple[PartPoints, ...]
    lines: tuple[Text, ...]

    @property
    def possible(self) -> Decimal:
        """The points that could be reached: those of the grading, and those that were marked."""
        before = sum((each.max_score for each in self.grading.parts), NONE)
        return self.grading.max_score - before + sum((e.max_score for e in self.parts), NONE)

    @property
    def open(self) -> Decimal:
        """The points that a person has yet to give."""
        return sum((each.open for each in self.parts), NONE)


def derive_all(accounts: Iterable[Account]) -> dict[str, Grade]:
    """Return a student's grades by assignment; free days are used in the order of due dates."""
    used, found = 0, {}
    for account in sorted(accounts, key=_by_due):
        policy = account.rules.late
        left = 0 if policy is None else max(policy.free_days - used, 0)
        grade = derive(account, left)
        used += grade.lateness.free_days
        found[account.rules.slug] = grade
    return found


def _by_due(account: Account) -> tuple[bool, float, str]:
    due = account.rules.due
    return due is None, 0.0 if due is None else due.timestamp(), account.rules.slug


def derive(account: Account, free_days: int = 0) -> Grade:
    """Return a grade, for a student who has so many free days left."""
    heads = tuple(filter(None, (_due_line(account), _extension_line(account))))
    totals = [_total(account, each, free_days) for each in account.attempts if each.gradings]
    listed = tuple(_attempt_line(each, totals) for each in account.attempts)
    if not totals:
        lines = (*heads, *listed, say("there-no-grade-nothing-has-been-graded"))
        return Grade(None, account.rules.points, None, IN_TIME, True, (), lines)
    candidates = ending([each.attempt for each in totals], account.rules.counts)
    compared, others = _comparable([each for each in totals if each.attempt in candidates])
    chosen = max(compared, key=lambda each: each.points)
    possible = chosen.possible
    end = say("grade", **_of(chosen.points, possible))
    if chosen.open:
        end = say("grade-not-marked-yet", **_of(chosen.points, possible), open=show(chosen.open))
    uncounted = (
        say("attempt-graded-by-another-rubric", number=each.attempt.number) for each in others
    )
    why = _choice_line(chosen, len(totals), len(compared), account.rules.counts)
    return Grade(
        chosen.points,
        possible,
        chosen.attempt.number,
        chosen.lateness,
        chosen.grading.settled and not others,
        chosen.parts,
        (*heads, *listed, *uncounted, why, *chosen.lines, end),
        chosen.open,
        decided_parts(chosen.attempt, chosen.parts),
        told_objections(account.objections, account.attempts, chosen.attempt.number),
        _idle(chosen.attempt, chosen.parts),
    )


def _comparable(totals: list[_Total]) -> tuple[list[_Total], list[_Total]]:
    """Return the attempts that were graded by the newest rubric, and the others.

    An attempt with 40 points of an earlier rubric would else beat one with 30 of today's 35.
    """
    newest = max(totals, key=lambda each: each.grading.id).grading.rubric
    compared = [each for each in totals if each.grading.rubric == newest]
    return compared, [each for each in totals if each not in compared]


def ending(attempts: Sequence[Attempt], counts: Counting) -> tuple[Attempt, ...]:
    """Return of which attempts the best is the grade.

    That is one alone where the last or the first counts, but for those handed in together with it.
    """
    if counts == "best" or not attempts:
        return tuple(attempts)
    last = attempts[0 if counts == "first" else -1]
    return tuple(
        each
        for each in attempts
        if each == last or (each.together and each.together == last.together)
    )


def _total(account: Account, attempt: Attempt, free_days: int) -> _Total:
    grading = attempt.gradings[-1]
    lines = [_grading_line(grading)]
    reached, parts, steps = _adjusted(grading, attempt)
    lines += steps
    late = lateness(account.rules.late, account.due, attempt.handed_in, free_days)
    lost = NONE
    if account.rules.late is not None:
        possible = _Total(attempt, reached, grading, late, parts, ()).possible
        lost = late.lost(account.rules.late, reached, possible)
    lines.append(_late_line(account, attempt, late, lost))
    exact = max(reached - lost, NONE)
    points = rounded(exact)
    if points != exact:
        lines.append(say("rounded-points", points=show(points)))
    return _Total(attempt, points, grading, late, parts, tuple(filter(None, lines)))


def _adjusted(
    grading: Grading, attempt: Attempt
) -> tuple[Decimal, tuple[PartPoints, ...], list[Text]]:
    """Return the points after all adjustments, in all and by part, and a line for every step.

    Those of a part come before those of all: what a factor of all takes, it takes of the sum. Those
    of a part that the grading does not have count for nothing: a question that was taken out of the
    assignment gave 14 of 10 points to whoever had been marked for it.
    """
    entries = valid(attempt.adjustments)
    scores = {each.id: each.score for each in grading.parts}
    rest = grading.score - sum(scores.values(), NONE)  # of a report whose parts do not add up
    lines = [_part_line(each) for each in grading.parts]
    for each in entries:
        if each.part in scores:
            scores[each.part] = _applied(each, scores[each.part])
            lines.append(adjustment_line(each, scores[each.part]))
    lines += map(idle_line, _idle(attempt, grading.parts))
    total = sum(scores.values(), rest)
    for each in entries:
        if not each.part:
            total = _applied(each, total)
            lines.append(adjustment_line(each, total))
    parts = tuple(_standing(each, scores[each.id], attempt) for each in grading.parts)
    return total, parts, lines


def _idle(attempt: Attempt, parts: Iterable[PartPoints]) -> tuple[Adjustment, ...]:
    known = {"", *(each.id for each in parts)}
    return tuple(each for each in valid(attempt.adjustments) if each.part not in known)


def attempt_parts(attempt: Attempt) -> tuple[DecidedPart, ...]:
    """Return the parts of an attempt of which a person decided something, whether it counts or not.

    An attempt that could not be graded has none.
    """
    if not attempt.gradings:
        return ()
    _, parts, _ = _adjusted(attempt.gradings[-1], attempt)
    return decided_parts(attempt, parts)


def _standing(part: PartPoints, score: Decimal, attempt: Attempt) -> PartPoints:
    """Return a part with its points of now; those that a person gave are open no more."""
    if not part.open or not attempt.given(part.id):
        return PartPoints(part.id, score, part.max_score, part.open)
    return PartPoints(part.id, score, part.max_score + part.open)


def _applied(adjustment: Adjustment, points: Decimal) -> Decimal:
    if adjustment.factor is not None:
        return points * adjustment.factor
    return max(points + (adjustment.points or NONE), NONE)


def _of(points: Decimal, possible: Decimal) -> dict[str, str]:
    return {"points": show(points), "possible": show(possible)}


def _told_span(span: timedelta) -> Text:
    minutes = -(-span // timedelta(minutes=1))
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return say("d-h", days=days, hours=hours)
    if hours:
        return say("h-min", hours=hours, minutes=rest)
    return say("min", minutes=rest)


def _due_line(account: Account) -> Text:
    rules = account.rules
    if rules.due is None:
        return say("has-no-due-date", assignment=rules.slug)
    return say("due-sentence", assignment=rules.slug, time=told_time(rules.due))


def _extension_line(account: Account) -> Text:
    held = account.extension
    if held is None or held.due is None or held.due != account.due:
        return NOTHING
    return say("extended-until-by", time=told_time(held.due), who=held.who, reason=held.reason)


def _attempt_line(attempt: Attempt, totals: Iterable[_Total]) -> Text:
    when = say("at-time-that-not-known")
    if attempt.handed_in is not None:
        when = foreign(told_time(attempt.handed_in))
    named: dict[str, str | int | Text] = {
        "number": attempt.number,
        "file": attempt.name,
        "time": when,
    }
    for each in totals:
        if each.attempt == attempt:
            points = _of(each.points, each.possible)
            return say("attempt-handed-in-sentence", **named, **points)
    return say("attempt-handed-in-not-graded", **named)


def _choice_line(chosen: _Total, count: int, compared: int, counts: Counting) -> Text:
    number = chosen.attempt.number
    if count == 1:
        return say("attempt-counts-no-other-attempt-graded", number=number)
    if counts == "best":
        return say("attempt-counts-best", number=number, count=compared)
    if compared > 1:
        return say("attempt-counts-best-that-handed-in-together", number=number, count=compared)
    if counts == "first":
        return say("attempt-counts-first", number=number, count=count)
    return say("attempt-counts-last", number=number, count=count)


def _grading_line(grading: Grading) -> Text:
    told = {"time": told_time(grading.graded), "version": grading.grader}
    told |= _of(grading.score, grading.max_score)
    if grading.settled:
        return say("graded-by-grader", **told)
    return say("graded-by-grader-so-far-machine-prevented", **told)


def _part_line(part: PartPoints) -> Text:
    points = _of(part.score, part.max_score)
    if part.open and not part.max_score:
        return say("part-points-given-by-hand", part=part.id, open=show(part.open))
    return say("part-sentence", part=part.id, **points)


def _late_line(account: Account, attempt: Attempt, late: Lateness, lost: Decimal) -> Text:
    policy = account.rules.late
    if account.due is None:
        return NOTHING
    if attempt.handed_in is None and attempt.told_late:
        return say("lms-calls-late-without-saying-by-how")
    if attempt.handed_in is None:
        return say("time-submission-unknown-so-counts")
    if not late.late_by:
        return say("handed-in-on-time")
    told = {"span": _told_span(late.late_by)}
    if policy is None:
        return say("submitted-late-assignment-sets-no-penalty", **told)
    if late.is_closed:
        return say("submitted-late-after-closing-all-points-lost", **told, lost=show(lost))
    used = NOTHING
    if late.free_days:
        used = say("free-days-used", days=late.free_days)
    if not late.units:
        within = say("submitted-late-without-penalty", **told)
        return join(within, used)
    cost = say(
        "handed-in-late-lost-points",
        **told,
        percent=format(late.percent.normalize(), "f"),
        lost=show(lost),
    )
    return join(cost, used)
