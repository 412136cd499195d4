"""The course's texts, handed in as they are given, earn nothing: no part is paid for a handout.

The texts are not part of this repository. GRADER_COURSE_TEXTS names the folder that has them.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from grader.course import load_course
from grader.dialects.migration import migrate_cells
from grader.submission import defined_names
from tests.dialects.course import Text
from tests.dialects.untimed import notebook, untimed_course
from tests.endtoend.batches import grade_batch
from tests.endtoend.command import ROOT
from tests.missing import needs_course_texts

pytestmark = [
    pytest.mark.graded,
    needs_course_texts,
]

LECTURES = ("000", "001", "002")
"""Texts that show what e2e-mlp asks to be written again: there, these definitions are left out."""

TEXTS = (*LECTURES, "003", "004_reflowed")


def is_asked_for(slug: str, block: str) -> bool:
    """Say whether a block defines something that a part asks for by its name."""
    parts = load_course(ROOT).get(slug).assignment.part
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


@pytest.mark.parametrize("slug", ["tensorir", "e2e-conv", "e2e-mlp", "from-torch"])
def test_unsolved_texts_earn_nothing_in_any_spelling(slug: str, tmp_path: Path) -> None:
    written = {f"{slug}/{name}": unsolved(slug, name) for name in TEXTS}
    migrated = {f"{name}-today": migrate_cells(cells).sources for name, cells in written.items()}
    submissions = {
        name: notebook(slug, [*cells]) for name, cells in {**written, **migrated}.items()
    }
    (tmp_path / "course").mkdir()
    course = untimed_course(tmp_path / "course")
    batch = grade_batch(tmp_path, submissions, "--course", course)
    assert 0 == batch.code, batch.messages
    assert dict.fromkeys(submissions, 0) == {name: r.score for name, r in batch.reports.items()}
