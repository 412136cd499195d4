"""Products, extremes and quotients of forms: unknowns again, with what is known of them."""

from __future__ import annotations

from typing import NamedTuple

from grader.ir.linear import Form, Knowledge, Range, add, number, times


class Quotient(NamedTuple):
    """What a division gives."""

    quotient: Form
    remainder: Form


def range_of(know: Knowledge, form: Form) -> Range:
    """Return the tightest range that is found of a form.

    Where conditions contradict each other, both ends may be the wrong way round: nothing runs
    there, so anything may be said of it.
    """
    low, high = know.lowest(form), know.highest(form)
    return Range(min(low, high), max(low, high))


def either(know: Knowledge, *ranges: Range) -> Form:
    """Return an unknown that is in one of several ranges."""
    return know.unknown(min(each.low for each in ranges), max(each.high for each in ranges))


def multiply(know: Knowledge, left: Form, right: Form) -> Form:
    """Return a product; of two unknowns it is an unknown, the same for the same two."""
    if left.is_constant:
        left, right = right, left
    if right.is_constant:
        return times(left, right.constant)
    ends = [a * b for a in range_of(know, left) for b in range_of(know, right)]
    name = ("product", *sorted((left, right)))
    return know.named(name, min(ends), max(ends))[0]


def extreme(know: Knowledge, left: Form, right: Form, *, largest: bool) -> Form:
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


def divide(know: Knowledge, form: Form, divisor: int) -> Quotient:
    """Divide by a positive constant, rounding down.

    What the divisor divides is taken out first: `(i * 8 + j) // 8` is `i` where `j` stays below 8.
    What is left gives two unknowns, quotient and remainder, that make up the number again: so
    `f // 8 * 8 + f % 8` stays where `f` does. The remainder is one of its own, as in
    `f % 169 // 13 * 2 + j` the range of `f % 169` must be used before it is divided.
    """
    whole = tuple((each, factor // divisor) for each, factor in form.terms if not factor % divisor)
    terms = tuple((each, factor) for each, factor in form.terms if factor % divisor)
    outside = Form(whole, form.constant // divisor)
    rest = Form(terms, form.constant % divisor)
    low, high = (end // divisor for end in range_of(know, rest))
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
    return Quotient(add(outside, quotient), remainder)


def divide_unknown(know: Knowledge, left: Form, right: Form, *, floor: bool) -> Quotient | None:
    """Divide by anything, with what can be said of it; None where the divisor may be zero.

    Without `floor` the quotient is rounded to zero, and the remainder has the dividend's sign.
    """
    dividend, divisor = range_of(know, left), range_of(know, right)
    if divisor.low <= 0 <= divisor.high:
        return None
    most = max(map(abs, divisor)) - 1
    if floor:
        ends = [a // b for a in dividend for b in divisor]
        quotient = know.unknown(min(ends), max(ends))
        positive = divisor.low > 0
        return Quotient(quotient, know.unknown(0 if positive else -most, most if positive else 0))
    largest = max(map(abs, dividend))
    times_at_most = largest // min(map(abs, divisor))
    most = min(most, largest)
    return Quotient(
        know.unknown(-times_at_most, times_at_most),
        know.unknown(-most if dividend.low < 0 else 0, most if dividend.high > 0 else 0),
    )
