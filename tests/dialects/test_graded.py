"""Notebooks of earlier years, graded: full marks, and the report of the same work of today."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest

from grader.dialects.migration import migrate_cells
from grader.report import Report, encode_report
from tests.dialects.older import TABLES, in_dialect, solved
from tests.dialects.untimed import notebook
from tests.endtoend.batches import GradedBatch

SLUGS = ("e2e-conv", "e2e-mlp", "from-torch", "tensorir")
TODAY = "current"

FAULTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "e2e-conv": (
        ("torch_model = make", "undefined_model\ntorch_model = make"),
        ("topi.nn.softmax, hidden, 1", "topi.nn.softmax, hidden, 0"),  # wrong numbers
        ("relax.Tuple([x, conv2d_weight, conv2d_bias])", "relax.Tuple([x, missing])"),
        ("T.min(bright[row, column]", "T.min(undefined[row, column]"),
        ("y0, y1 = sch.split(y", "y0, y1, y2 = sch.split(y"),
    ),
}
"""Mistakes to make in work that is graded in the spelling of 2022 and in today's."""


def with_faults(slug: str) -> list[str]:
    """Return an assignment's solution with mistakes in it."""
    text = "\0".join(solved(slug))
    for right, wrong in FAULTS[slug]:
        assert right in text
        text = text.replace(right, wrong)
    return text.split("\0")


SAME = frozenset({("e2e-conv", "2025"), ("from-torch", "2025")})
"""Solutions that become today's text again, which is graded as an example."""

OLDER = [(slug, dialect) for slug in SLUGS for dialect in TABLES if (slug, dialect) not in SAME]


@pytest.mark.parametrize(("slug", "dialect"), sorted(SAME))
def test_some_become_todays_text_again(slug: str, dialect: str) -> None:
    older = tuple(in_dialect(solved(slug), dialect))
    assert tuple(solved(slug)) != older
    assert tuple(solved(slug)) == migrate_cells(older).sources


def untimed_submissions(selected: Sequence[pytest.Function]) -> dict[str, bytes]:
    rows = [item.callspec.params for item in selected]
    older = [(row["slug"], row["dialect"]) for row in rows if "dialect" in row]
    works = {f"{dialect}/{slug}": in_dialect(solved(slug), dialect) for slug, dialect in older}
    for slug in [row["slug"] for row in rows if "dialect" not in row]:
        works[f"faults/{TODAY}/{slug}"] = with_faults(slug)
        works[f"faults/2022/{slug}"] = in_dialect(with_faults(slug), "2022")
    return {name: notebook(name.split("/")[-1], cells) for name, cells in works.items()}


@pytest.mark.graded
class TestOlderNotebooks:
    """The project's own solutions as they would have been written in earlier years."""

    @pytest.mark.parametrize(("slug", "dialect"), OLDER)
    def test_they_get_full_marks(self, together: GradedBatch, slug: str, dialect: str) -> None:
        report = together.reports[f"{dialect}/{slug}"]
        assert dialect == report.dialect
        assert () == report.problems
        lost = [
            (part.id, check.id, check.reason.english)
            for part in report.parts
            for check in part.checks
            if check.id != "speed" and check.score < check.max_score
        ]
        assert [] == lost

    @pytest.mark.parametrize("slug", FAULTS)
    def test_reports_differ_from_todays_in_dialect_and_lines_alone(
        self, together: GradedBatch, slug: str
    ) -> None:
        old = together.reports[f"faults/2022/{slug}"]
        new = together.reports[f"faults/{TODAY}/{slug}"]
        assert ("2022", TODAY) == (old.dialect, new.dialect)
        assert old.problems != ()
        assert comparable(new) == comparable(old)


def comparable(report: Report) -> dict[str, object]:
    """Return a report without what may differ: times, digest, text and lines, dialect."""
    document = json.loads(encode_report(report))
    for name in ("graded", "duration", "timing", "dialect", "score", "cells"):
        document.pop(name)
    document["submission"].pop("sha256")
    for problem in document["problems"]:
        problem.pop("line")
    for part in document["parts"]:
        part["checks"] = [check for check in part["checks"] if check["id"] != "speed"]
        part.pop("score")
    words = re.sub(r"\bline \d+", "line", json.dumps(document))
    return json.loads(re.sub(r'"line": \d+', '"line": 0', words))
