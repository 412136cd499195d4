"""How far two people agree who marked the same answers without seeing each other's marking."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Adjustment, Attempt, Student
from grader.gradebook.grades import Account

_NOTHING = Decimal(0)


class MarkedTwice(NamedTuple):
    """An answer that two marked. The points of the `first` count; `second` is the newest one."""

    student: Student
    attempt: Attempt
    part: str
    first: Decimal
    first_by: str
    second: Decimal
    second_by: str


class Agreement(NamedTuple):
    """How far two agree on a part: `difference` is the second's points less the first's, mean.

    `kappa` is Cohen's, weighted by the square of the difference; None where all points are equal.
    """

    part: str
    answers: int
    equal: int
    difference: float
    kappa: float | None

    @property
    def equal_percent(self) -> float:
        """How many of a hundred got the same points from both."""
        return 100 * self.equal / self.answers


def marked_twice(book: Gradebook, slug: str) -> tuple[MarkedTwice, ...]:
    """Return the answers to an assignment that two have marked, part by part."""
    seconds, accounts = book.second_markings(), book.accounts()
    found = [
        each
        for student in book.students()
        if slug in accounts.get(student.id, {})
        for each in _of(student, accounts[student.id][slug], seconds)
    ]
    return tuple(sorted(found, key=lambda each: (each.part, each.student.login)))


def _of(
    student: Student, account: Account, seconds: Mapping[tuple[int, str], Adjustment]
) -> Iterable[MarkedTwice]:
    for attempt in account.attempts:
        for part in {part for id, part in seconds if id == attempt.id}:
            second, given = seconds[attempt.id, part], attempt.given(part)
            if given and second.points is not None:
                first, by = _first(given)
                yield MarkedTwice(student, attempt, part, first, by, second.points, second.who)


def _first(given: Sequence[Adjustment]) -> tuple[Decimal, str]:
    """Return what was marked and by whom: without what an objection moved since then."""
    marked = [each for each in given if each.marking is not None] or given
    return sum((each.points or _NOTHING for each in marked), _NOTHING), marked[-1].who


def agreements(marked: Iterable[MarkedTwice]) -> tuple[Agreement, ...]:
    """Return the agreement on each part, in order."""
    parts: dict[str, list[MarkedTwice]] = {}
    for each in marked:
        parts.setdefault(each.part, []).append(each)
    return tuple(_agreement(part, own) for part, own in parts.items())


def _agreement(part: str, marked: Sequence[MarkedTwice]) -> Agreement:
    firsts, seconds = [each.first for each in marked], [each.second for each in marked]
    count = len(marked)
    equal = sum(one == other for one, other in zip(firsts, seconds, strict=True))
    difference = float(sum(seconds, _NOTHING) - sum(firsts, _NOTHING)) / count
    return Agreement(part, count, equal, difference, weighted_kappa(firsts, seconds))


def weighted_kappa(firsts: Sequence[Decimal], seconds: Sequence[Decimal]) -> float | None:
    """Return Cohen's kappa with squared weights, None where chance alone would leave no difference.

    It is 1 less the mean square of the differences in terms of what it would be if each second
    marking belonged to any of the answers.
    """
    count = len(firsts)
    differences = (one - other for one, other in zip(firsts, seconds, strict=True))
    observed = sum((each**2 for each in differences), _NOTHING)
    squares = sum((each**2 for each in (*firsts, *seconds)), _NOTHING)
    product = sum(firsts, _NOTHING) * sum(seconds, _NOTHING)
    by_chance = count * squares - 2 * product  # the sum over all pairs, of any two answers
    return float(1 - count * observed / by_chance) if by_chance else None
