"""What an assignment names of its course texts is there, in every language that they are in."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from grader.authoring.master import read_master, sources
from grader.diagnosis.words import KINDS
from grader.language import LANGUAGES
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
COURSE = our_course()
SLUGS = tuple(COURSE.assignments)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def headings(slug: str, language: str) -> list[str]:
    """Return the headings of an assignment's template."""
    cells = sources(read_master(ROOT / "reference" / f"{slug}.py"), language)
    texts = [each.text for each in cells if each.cell.cell_type == "markdown"]
    return [found for text in texts for found in _HEADING.findall(text)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("slug", SLUGS)
def test_every_heading_is_once_in_the_notebook_that_students_have(slug: str, language: str) -> None:
    named = {each.link.in_(language) for each in COURSE.get(slug).assignment.guide if each.heading}
    there = headings(slug, language)
    assert dict.fromkeys(named, 1) == {name: there.count(name) for name in named}


@pytest.mark.parametrize("slug", SLUGS)
def test_every_heading_is_translated(slug: str) -> None:
    guide = COURSE.get(slug).assignment.guide
    assert guide
    translated = set(LANGUAGES) - {"en"}
    assert [] == [each.heading for each in guide if set(each.headings) != translated]


@pytest.mark.parametrize("slug", SLUGS)
def test_every_mistake_that_is_named_is_one(slug: str) -> None:
    names = [name for each in COURSE.get(slug).assignment.guide for name in each.about]
    unknown = [name for name in names if not any(fnmatchcase(kind, name) for kind in KINDS)]
    assert [] == unknown


@pytest.mark.parametrize("slug", SLUGS)
def test_every_part_has_a_place_for_what_was_not_recognised(slug: str) -> None:
    assignment = COURSE.get(slug).assignment
    assert [] == [each.id for each in assignment.part if assignment.guide_to(each.id, ()) is None]


@pytest.mark.parametrize(
    ("slug", "part", "mistake", "heading"),
    [
        # An external function that writes nothing is one in whatever module calls it.
        ("e2e-mlp", "bound", "not_written", "Part 3. Let a library do the work"),
        ("e2e-mlp", "bound", "reversed", "Part 5. Bind the parameters"),
        # A bias that the external function forgets is not one of the TensorIR functions.
        ("quantized", "matmul", "transposed", "Part 1. A product of int8 matrices"),
        ("quantized", "matmul", "wrong_operator", "Numbers of eight bits"),
        ("tensorir", "conv2d", "sum_start", "Sums"),
        ("e2e-conv", "torch_extern", "bias_missing", "Part 2. Let a library do the convolution"),
        ("e2e-conv", "emit_te", "bias_missing", "Part 1. The network out of TensorIR functions"),
    ],
)
def test_a_mistake_leads_to_where_its_part_is_explained(
    slug: str, part: str, mistake: str, heading: str
) -> None:
    guide = COURSE.get(slug).assignment.guide_to(part, (mistake,))
    assert guide is not None
    assert heading == guide.heading
