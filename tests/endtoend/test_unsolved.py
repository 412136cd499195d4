"""The course's texts, handed in as they are given, earn nothing: no part is paid for a handout.

The texts are not part of this repository. GRADER_COURSE_TEXTS names the folder that has them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest

from grader.dialects.migration import migrate_cells
from grader.reading.submission import defined_names
from tests.dialects.course import Text
from tests.dialects.untimed import notebook
from tests.endtoend.batches import GradedBatch
from tests.missing import COURSE_TEXTS, needs_course_texts
from tests.our_course import our_course

pytestmark = [
    pytest.mark.graded,
    needs_course_texts,
]

LECTURES = ("000", "001", "002")
"""Texts that show what e2e-mlp asks to be written again: there, these definitions are left out."""

TEXTS = (*LECTURES, "003", "004_reflowed")
TODAY = "-today"
SLUGS = ("tensorir", "e2e-conv", "e2e-mlp", "from-torch")


def is_asked_for(slug: str, block: str) -> bool:
    """Say whether a block defines something that a part asks for by its name."""
    parts = our_course().get(slug).assignment.part
    return any(
        fnmatchcase(name, pattern)
        for name in defined_names((block,))
        for part in parts
        for pattern in part.entry
    )


def unsolved(slug: str, name: str) -> list[str]:
    """Return the code blocks of a text, without solutions of the assignment."""
    blocks = Text(name, count=0, dialect="").blocks()
    if slug == "e2e-mlp" and name in LECTURES:
        return [block for block in blocks if not is_asked_for(slug, block)]
    return blocks


def untimed_submissions(_selected: Sequence[pytest.Function]) -> dict[str, bytes]:
    """Return the texts as notebooks of all assignments, where the texts are."""
    if COURSE_TEXTS not in os.environ:
        return {}
    return {name: text for slug in SLUGS for name, text in texts_of(slug).items()}


def texts_of(slug: str) -> dict[str, bytes]:
    """Return the texts as notebooks of an assignment, as written and in today's names."""
    written = {f"{slug}/{name}": unsolved(slug, name) for name in TEXTS}
    migrated = {f"{name}{TODAY}": migrate_cells(cells).sources for name, cells in written.items()}
    return {name: notebook(slug, [*cells]) for name, cells in {**written, **migrated}.items()}


@pytest.mark.parametrize("slug", SLUGS)
def test_unsolved_texts_earn_nothing_in_any_spelling(slug: str, together: GradedBatch) -> None:
    assert 0 == together.code, together.messages
    scores = {
        name: report.score
        for name, report in together.reports.items()
        if name.startswith(f"{slug}/")
    }
    names = [f"{slug}/{name}{spelling}" for name in TEXTS for spelling in ("", TODAY)]
    assert dict.fromkeys(names, 0) == scores
