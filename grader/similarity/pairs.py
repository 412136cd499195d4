"""Which works share more than others do: fragments count by how rare they are in the class."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from grader.report import Frozen
from grader.similarity.fragments import Fragment, FragmentKind, Writing

LIKENESS = 0.5
"""Who shares so much of what is rare is listed."""

MOST_PAIRS = 100
_COMMON = 0.34
"""What so many of a class have says nothing of two of them."""

_PRIOR = 0.5
"""Of the class's median: who wrote less is measured by so much, or would be like anybody."""

_SHOWN = 6


class Support(Frozen, frozen=True):
    """A fragment that both have: where it stands in each, and how many of the class have it."""

    kind: FragmentKind
    students: int
    size: int
    one: Fragment
    other: Fragment


class Pair(Frozen, frozen=True):
    """Two works, by their ids. `likeness` is the share of the smaller one's rare fragments that the
    other one has, from 0 to 1, by weight; `shared` counts them by kind."""

    one: str
    other: str
    likeness: float
    shared: dict[FragmentKind, int]
    evidence: tuple[Support, ...]


class Similarities(Frozen, frozen=True):
    """The pairs of a class that are alike, the most alike first, and who they make together.

    `works` are how many were compared, `left_out` those of which nothing could be: they wrote
    nothing that is rare, or nothing that is Python.
    """

    assignment: str
    works: int
    pairs: tuple[Pair, ...]
    clusters: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]
    schema_version: Literal[1] = 1


def compare(
    slug: str,
    writings: Sequence[Writing],
    given: frozenset[int] = frozenset(),
    least: float = LIKENESS,
) -> Similarities:
    """Compare all works of a class. `given` are fragments that are nobody's own."""
    own = [_first(each.fragments, given) for each in writings]
    students: dict[int, list[int]] = defaultdict(list)
    for place, fragments in enumerate(own):
        for key in fragments:
            students[key].append(place)
    weights = _weights(students, own)
    totals = [sum(weights.get(key, 0.0) for key in fragments) for fragments in own]
    shared = _shared(students, weights, len(writings))
    known = [each for each in totals if each > 0]
    least_total = _PRIOR * statistics.median(known) if known else 1.0
    sizes = np.maximum(np.asarray(totals, dtype=np.float32), least_total)
    likeness = shared / np.minimum(sizes[:, None], sizes[None, :])
    ones, others = np.nonzero(np.triu(likeness >= least, k=1))
    order = sorted(zip(ones.tolist(), others.tolist(), strict=True), key=lambda p: -likeness[p])
    pairs = tuple(
        _pair(writings[a], writings[b], float(likeness[a, b]), own[a], own[b], weights, students)
        for a, b in order[:MOST_PAIRS]
    )
    return Similarities(
        slug,
        len(writings),
        pairs,
        _clusters(pairs),
        tuple(each.id for each, total in zip(writings, totals, strict=True) if not total),
    )


def _first(fragments: Iterable[Fragment], given: frozenset[int]) -> dict[int, Fragment]:
    found: dict[int, Fragment] = {}
    for each in fragments:
        if each.key not in given:
            found.setdefault(each.key, each)
    return found


def _weights(
    students: Mapping[int, Sequence[int]], own: Sequence[Mapping[int, Fragment]]
) -> dict[int, float]:
    """Return what each fragment says: much where it is long and few have it."""
    count = len(own)
    weights = {}
    for key, places in students.items():
        if len(places) > max(2.0, _COMMON * count):
            continue
        size = own[places[0]][key].size
        weights[key] = math.log((count + 1) / len(places)) * math.sqrt(min(size, 100))
    return weights


def _shared(
    students: Mapping[int, Sequence[int]], weights: Mapping[int, float], count: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    found = np.zeros((count, count), dtype=np.float32)
    for key, places in students.items():
        weight = weights.get(key)
        if weight is not None and len(places) > 1:
            found[np.ix_(places, places)] += np.float32(weight)
    return found


def _pair(
    a: Writing,
    b: Writing,
    likeness: float,
    own: Mapping[int, Fragment],
    other: Mapping[int, Fragment],
    weights: Mapping[int, float],
    students: Mapping[int, Sequence[int]],
) -> Pair:
    common = [key for key in own if key in other and key in weights]
    common.sort(key=lambda key: -weights[key])
    counts: dict[FragmentKind, int] = {}
    for key in common:
        counts[own[key].kind] = counts.get(own[key].kind, 0) + 1
    evidence: list[Support] = []
    for key in common:
        one, two = own[key], other[key]
        if len(evidence) < _SHOWN and not any(_covers(each, one, two) for each in evidence):
            evidence.append(Support(one.kind, len(students[key]), one.size, one, two))
    return Pair(a.id, b.id, round(min(likeness, 1.0), 4), counts, tuple(evidence))


def _covers(seen: Support, one: Fragment, two: Fragment) -> bool:
    """Say whether a fragment stands where one that is shown already does."""
    return _overlaps(seen.one, one) or _overlaps(seen.other, two)


def _overlaps(one: Fragment, other: Fragment) -> bool:
    if one.cell < 0 or other.cell < 0:
        return one.key == other.key
    return one.cell == other.cell and one.first <= other.last and other.first <= one.last


def _clusters(pairs: Iterable[Pair]) -> tuple[tuple[str, ...], ...]:
    """Return groups of three or more who are alike, each to some other one of the group."""
    group: dict[str, set[str]] = {}
    for pair in pairs:
        together = group.get(pair.one, {pair.one}) | group.get(pair.other, {pair.other})
        for each in together:
            group[each] = together
    found = {tuple(sorted(each)) for each in group.values() if len(each) > 2}
    return tuple(sorted(found, key=lambda each: (-len(each), each)))
