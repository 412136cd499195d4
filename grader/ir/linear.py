"""Bounds of integer expressions: sums of unknowns times constants, and what is known of unknowns.

Intervals alone lose how numbers hang together: after a split, `i0 * 8 + i1` stays below 100 because
a predicate says so, and after a fuse `f // 8` and `f % 8` are parts of one number. So an expression
is a `LinearForm`, an unknown may be bounded by other unknowns, and a bound of a form is looked for
by eliminating its unknowns one by one, the latest first, each by its own interval or by an
inequality that it is the latest in. That ends, as all that comes in is earlier.

Whatever is given up gives a bound that is too wide, never one that is too narrow.
"""

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from grader.ir.expressions import Budget, IntegerRange

TERM_LIMIT = 48
"""Most unknowns of a form; one with more counts as a single unknown."""

INEQUALITY_LIMIT = 8
"""Most inequalities that are kept for one unknown."""

ATTEMPTS = 64
"""Most eliminations for one bound."""

LARGEST = 2**96
"""Beyond this nothing is bounded: no index is a hundredth of it."""


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LinearForm(NamedTuple):
    """A constant and a multiple of each unknown. Terms are sorted, and none is zero."""

    terms: tuple[tuple[int, int], ...]
    constant: int

    @property
    def is_constant(self) -> bool:
        """Say whether there is no unknown."""
        return not self.terms


ZERO = LinearForm((), 0)


def number(value: int) -> LinearForm:
    """Return a constant."""
    return LinearForm((), value)


def add(left: LinearForm, right: LinearForm, scale: int = 1) -> LinearForm:
    """Return `left + scale * right`."""
    if not right.terms or not scale:
        return LinearForm(left.terms, left.constant + scale * right.constant)
    terms = dict(left.terms)
    for unknown, factor in right.terms:
        terms[unknown] = terms.get(unknown, 0) + scale * factor
    kept = tuple(sorted(item for item in terms.items() if item[1]))
    return LinearForm(kept, left.constant + scale * right.constant)


def times(form: LinearForm, scale: int) -> LinearForm:
    """Return a multiple of a form."""
    return add(ZERO, form, scale)


class Knowledge:
    """What is known of unknowns, in scopes: what a condition says is forgotten after it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._ranges: list[IntegerRange] = []
        self._inequalities: dict[int, tuple[LinearForm, ...]] = {}
        self._names: dict[Hashable, int] = {}
        self._undo: list[Callable[[], object]] = []
        self._attempts = 0
        self.divided: set[int] = set()
        """Unknowns that are quotients or remainders of what is no multiple of the divisor."""

    # --- scopes -----------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope: what is learnt, narrowed or put within it is undone at its end."""
        before = len(self._undo)
        try:
            yield
        finally:
            while len(self._undo) > before:
                self._undo.pop()()

    def put(self, table: dict[_Key, _Value], key: _Key, value: _Value) -> None:
        """Write into a table until the end of the scope."""
        if key in table:
            old = table[key]
            self._undo.append(lambda: table.__setitem__(key, old))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    # --- unknowns ---------------------------------------------------------------------------------

    def unknown(self, low: int, high: int) -> LinearForm:
        """Return a new unknown of a range."""
        self._budget.spend()
        self._ranges.append(IntegerRange(low, high))
        return LinearForm(((len(self._ranges) - 1, 1),), 0)

    def named(self, name: Hashable, low: int, high: int) -> tuple[LinearForm, bool]:
        """Return the unknown of a name, and whether it is new in this scope.

        Two quotients of the same form by the same number are one unknown, so that they cancel. The
        name is forgotten with the scope, as the range may be owed to what is known in it.
        """
        known = self._names.get(name)
        if known is not None:
            return LinearForm(((known, 1),), 0), False
        form = self.unknown(low, high)
        self.put(self._names, name, form.terms[0][0])
        return form, True

    def learn(self, form: LinearForm) -> None:
        """Take down that a form is not negative.

        It is kept for the latest of its unknowns, and without that one, at its best, for the next:
        `64 * i + j < 100` says `i <= 1` as well.
        """
        # A proof may ask of any of the unknowns, and looks only at what is kept for the latest of
        # its own.
        while form.terms:
            self._budget.spend(len(form.terms))
            factor = math.gcd(*(each for _, each in form.terms))
            # All are integers: 4 * i <= 15 says i <= 3.
            form = LinearForm(
                tuple((unknown, each // factor) for unknown, each in form.terms),
                form.constant // factor,
            )
            self._narrow(form)
            latest, multiple = form.terms[-1]
            self.relate(latest, form)
            most = max(multiple * end for end in self._ranges[latest])
            form = LinearForm(form.terms[:-1], form.constant + most)

    def relate(self, latest: int, form: LinearForm) -> None:
        """Keep an inequality for the latest of its unknowns."""
        kept = self._inequalities.get(latest, ())
        if len(kept) < INEQUALITY_LIMIT and form not in kept:
            self.put(self._inequalities, latest, (*kept, form))

    def _narrow(self, form: LinearForm) -> None:
        """Narrow the range of every unknown of a form that is not negative."""
        most = self.reach(form).high
        for unknown, factor in form.terms:
            low, high = self._ranges[unknown]
            if factor > 0:  # factor * unknown >= factor * high - most
                low = max(low, -((most - factor * high) // factor))
            else:
                high = min(high, (most - factor * low) // -factor)
            if (low, high) != self._ranges[unknown] and low <= high:
                self._set_range(unknown, IntegerRange(low, high))

    def _set_range(self, unknown: int, value: IntegerRange) -> None:
        old = self._ranges[unknown]
        self._undo.append(lambda: self._ranges.__setitem__(unknown, old))
        self._ranges[unknown] = value

    # --- bounds -----------------------------------------------------------------------------------

    def reach(self, form: LinearForm) -> IntegerRange:
        """Return the range of a form as if its unknowns had nothing to do with each other."""
        self._budget.spend(1 + len(form.terms))
        low = high = form.constant
        for unknown, factor in form.terms:
            least, most = self._ranges[unknown]
            if factor < 0:
                least, most = most, least
            low += factor * least
            high += factor * most
        return IntegerRange(low, high)

    def magnitude(self, form: LinearForm) -> int:
        """Return a bound of all sums of parts of a form, in whatever order they are added.

        TVM and LLVM may distribute and reorder: `(x - y) * 16` may be computed as
        `x * 16 - y * 16`, whose parts can overflow where the whole does not.
        """
        total = abs(form.constant)
        for unknown, factor in form.terms:
            low, high = self._ranges[unknown]
            total += abs(factor) * max(abs(low), abs(high))
        return total

    def highest(self, form: LinearForm, enough: int | None = None) -> int:
        """Return an upper bound of a form; any that is at most `enough` will do."""
        self._attempts = ATTEMPTS
        return self._highest(form, enough)

    def lowest(self, form: LinearForm, enough: int | None = None) -> int:
        """Return a lower bound of a form; any that is at least `enough` will do."""
        return -self.highest(times(form, -1), None if enough is None else -enough)

    def is_at_most(self, left: LinearForm, right: LinearForm) -> bool:
        """Say whether `left <= right` is certain."""
        return self.highest(add(left, right, -1), 0) <= 0

    def _highest(self, form: LinearForm, enough: int | None) -> int:
        best = self.reach(form).high
        if not form.terms or (enough is not None and best <= enough) or self._attempts <= 0:
            return best
        latest, factor = form.terms[-1]
        for inequality in self._inequalities.get(latest, ()):
            multiple = dict(inequality.terms)[latest]
            # Only an inequality of the other sign takes the unknown out of the sum.
            if multiple * factor > 0:
                continue
            self._attempts -= 1
            common = math.lcm(abs(multiple), abs(factor))
            scale = common // abs(factor)
            # The inequality is not negative, so adding it gives a bound: 2 * i with 3 - i >= 0.
            combined = add(times(form, scale), inequality, common // abs(multiple))
            # Factors grow with every elimination; what has grown too far is given up, and the
            # interval is left.
            if abs(combined.constant) < LARGEST and len(combined.terms) <= TERM_LIMIT:
                wanted = None if enough is None else enough * scale
                best = min(best, self._highest(combined, wanted) // scale)
            if enough is not None and best <= enough:
                return best
        end = max(factor * each for each in self._ranges[latest])
        rest = LinearForm(form.terms[:-1], form.constant + end)
        self._attempts -= 1
        return min(best, self._highest(rest, enough))


# --- products, extremes, quotients ----------------------------------------------------------------
# Products, extremes and quotients of forms: unknowns again, with what is known of them.


class Quotient(NamedTuple):
    """What a division gives: `divisor * quotient + remainder` is the dividend."""

    quotient: LinearForm
    remainder: LinearForm


def range_of(know: Knowledge, form: LinearForm) -> IntegerRange:
    """Return the tightest range that is found of a form.

    Where conditions contradict each other, both ends may be the wrong way round: nothing runs
    there, so anything may be said of it.
    """
    low, high = know.lowest(form), know.highest(form)
    return IntegerRange(min(low, high), max(low, high))


def either(know: Knowledge, *ranges: IntegerRange) -> LinearForm:
    """Return an unknown that is in one of several ranges."""
    return know.unknown(min(each.low for each in ranges), max(each.high for each in ranges))


def multiply(know: Knowledge, left: LinearForm, right: LinearForm) -> LinearForm:
    """Return a product; of two unknowns it is an unknown, the same for the same two."""
    if left.is_constant:
        left, right = right, left
    if right.is_constant:
        return times(left, right.constant)
    ends = [a * b for a in range_of(know, left) for b in range_of(know, right)]
    # The same two factors give the same unknown, so that `i * j - i * j` is 0.
    name = ("product", *sorted((left, right)))
    return know.named(name, min(ends), max(ends))[0]


def extreme(know: Knowledge, left: LinearForm, right: LinearForm, *, largest: bool) -> LinearForm:
    """Return a minimum or maximum: one of both where that is certain, else an unknown that is
    bounded by both, as the extent of a last tile, `min(26 - i * 4, 4)`."""
    if know.is_at_most(left, right):
        return right if largest else left
    if know.is_at_most(right, left):
        return left if largest else right
    choose = max if largest else min
    (low, high), (other_low, other_high) = range_of(know, left), range_of(know, right)
    name = ("maximum" if largest else "minimum", *sorted((left, right)))
    form, is_new = know.named(name, choose(low, other_low), choose(high, other_high))
    if is_new:
        for side in (left, right):
            bound = add(form, side, -1)
            know.relate(form.terms[0][0], bound if largest else times(bound, -1))
    return form


def divide(know: Knowledge, form: LinearForm, divisor: int) -> Quotient:
    """Divide by a positive constant, rounding down.

    What the divisor divides is taken out first: `(i * 8 + j) // 8` is `i` where `j` stays below 8.
    What is left gives two unknowns, quotient and remainder, that make up the number again: so
    `f // 8 * 8 + f % 8` stays where `f` does. The remainder is one of its own, as in
    `f % 169 // 13 * 2 + j` the range of `f % 169` must be used before it is divided.
    """
    whole = tuple((each, factor // divisor) for each, factor in form.terms if not factor % divisor)
    terms = tuple((each, factor) for each, factor in form.terms if factor % divisor)
    outside = LinearForm(whole, form.constant // divisor)
    rest = LinearForm(terms, form.constant % divisor)
    low, high = (end // divisor for end in range_of(know, rest))
    # A quotient that is certain needs no unknown: `(i * 16 + j) // 16` is i, which is what makes
    # fused loops provable.
    if low == high:
        return Quotient(add(outside, number(low)), add(rest, number(-divisor * low)))
    quotient, is_new = know.named(("quotient", rest, divisor), low, high)
    difference = add(rest, quotient, -divisor)
    if is_new:
        know.relate(quotient.terms[0][0], difference)
        know.relate(quotient.terms[0][0], add(number(divisor - 1), difference, -1))
    remainder, is_new = know.named(("remainder", rest, divisor), 0, divisor - 1)
    if is_new:
        know.relate(remainder.terms[0][0], add(difference, remainder, -1))
        know.relate(remainder.terms[0][0], add(remainder, difference, -1))
    know.divided.update((quotient.terms[0][0], remainder.terms[0][0]))
    return Quotient(add(outside, quotient), remainder)


def divide_unknown(
    know: Knowledge, left: LinearForm, right: LinearForm, *, floor: bool
) -> Quotient:
    """Divide by a positive number, with what can be said of the result.

    Without `floor` the quotient is rounded to zero, and the remainder has the dividend's sign.
    """
    dividend, divisor = range_of(know, left), range_of(know, right)
    least = max(1, divisor.low)
    most = max(least, divisor.high)
    if floor:
        ends = [a // b for a in dividend for b in (least, most)]
        return Quotient(know.unknown(min(ends), max(ends)), know.unknown(0, most - 1))
    largest = max(map(abs, dividend))
    remainder = min(most - 1, largest)
    return Quotient(
        know.unknown(-(largest // least), largest // least),
        know.unknown(-remainder if dividend.low < 0 else 0, remainder if dividend.high > 0 else 0),
    )
