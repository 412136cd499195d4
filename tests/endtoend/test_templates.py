"""Every template runs from top to bottom once it is solved, and earns nothing before.

A template in English is, once solved, the reference (tests/authoring/test_notebooks.py), which is
graded as an example (test_examples.py). The others have the same code: one of each language is
graded.
"""

from __future__ import annotations

from collections.abc import Sequence

import nbformat
import pytest

from grader.authoring.master import find_master, read_master
from grader.authoring.template import notebook_bytes, paste_solutions
from tests.endtoend.batches import GradedBatch
from tests.endtoend.command import ROOT

TEMPLATES = {path.stem: path for path in sorted((ROOT / "templates").glob("*.ipynb"))}
TRANSLATED = [name for name in TEMPLATES if "." in name]
GRADED = ("e2e-conv.ko", "tensorir.zh")
UNTIMED = {
    "e2e-conv": 85,
    "e2e-mlp": 100,
    "from-torch": 100,
    "gpu": 100,
    "graph-passes": 100,
    "quantized": 80,
    "tensorir": 85,
}
"""Points that do not depend on the clock: in a course without the others, all that there are."""


def untimed_submissions(_selected: Sequence[pytest.Function]) -> dict[str, bytes]:
    """Return translated templates solved, and those in English as they are."""
    notebooks = {f"solved/{name}": _solve(name) for name in GRADED}
    return notebooks | {f"untouched/{slug}": TEMPLATES[slug].read_bytes() for slug in UNTIMED}


def _solve(name: str) -> bytes:
    slug, language = name.split(".")
    master = read_master(find_master(ROOT, slug))
    template = nbformat.read(TEMPLATES[name], as_version=4)
    return notebook_bytes(paste_solutions(template, master, language))


def test_there_are_three_languages_of_each_assignment() -> None:
    wanted = {f"{slug}{code}" for slug in UNTIMED for code in ("", ".zh", ".ko")}
    assert wanted == set(TEMPLATES)


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_translated_template_has_the_code_of_the_english_one(name: str) -> None:
    assert _code(name.split(".")[0]) == _code(name)


def _code(name: str) -> list[list[str]]:
    """Return the lines of each code cell without comments, which may be translated."""
    notebook = nbformat.read(TEMPLATES[name], as_version=4)
    return [
        [line for line in cell.source.split("\n") if not line.strip().startswith("#")]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.graded
@pytest.mark.parametrize("name", GRADED)
def test_a_solved_template_runs_and_earns_its_points(name: str, together: GradedBatch) -> None:
    report = together.reports[f"solved/{name}"]
    assert () == report.problems
    assert report.submission.executed == report.submission.cells
    slug, language = name.split(".")
    assert UNTIMED[slug] == report.score == report.max_score
    assert language == report.language


@pytest.mark.graded
@pytest.mark.parametrize("slug", UNTIMED)
def test_an_untouched_template_gets_nothing_and_every_part_says_why(
    slug: str, together: GradedBatch
) -> None:
    report = together.reports[f"untouched/{slug}"]
    assert (0, "en") == (report.score, report.language)
    assert all(check.reason for part in report.parts for check in part.checks)
