"""Several notebooks that one student handed in at once: which they are, and what is said of that.

Nothing says which of them is the last. Where the last or the first attempt is the grade, the best
of these counts (`grader.gradebook.grades`), and every row says so: by their names, whoever called a
draft `z.ipynb` had the draft graded.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from grader.batch.collect import Entry, OfAttempt
from grader.batch.summary import Row, Summary
from grader.language import join, say

Groups = dict[str, tuple[Entry, ...]]
"""Submissions that were handed in together, by a word of their own."""


def companions(entries: Iterable[Entry], of_attempt: OfAttempt) -> Groups:
    """Return the groups of more than one submission; `of_attempt` is as of `collect`."""
    found: dict[tuple[Path, str], list[Entry]] = {}
    for each in entries:
        folder = of_attempt(each) or each.student
        if folder and not each.problem:
            found.setdefault((each.common, folder), []).append(each)
    return {_word(folder, group): tuple(group) for (_, folder), group in found.items() if group[1:]}


def _word(folder: str, group: Iterable[Entry]) -> str:
    names = "\0".join([folder, *sorted(each.file for each in group)])
    return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def words_of_companions(groups: Groups) -> dict[Path, str]:
    """Return the word of each file's group."""
    return {each.path: word for word, group in groups.items() for each in group}


def with_companions(summary: Summary, groups: Groups) -> Summary:
    """Return an overview that says of each row with how many others it was handed in."""
    word_of = {each.name: word for word, group in groups.items() for each in group}
    counts = Counter(
        (word_of[row.name], row.assignment) for row in summary.rows if row.name in word_of
    )
    rows = (
        _told(row, counts[word_of[row.name], row.assignment])
        if row.graded and row.name in word_of
        else row
        for row in summary.rows
    )
    return replace(summary, rows=tuple(rows))


def _told(row: Row, count: int) -> Row:
    if count < 2:
        return row
    told = say("one-notebooks-handed-in-together-best-counts", count=count)
    return replace(row, noticed=join(told, row.noticed) if row.noticed else told)
