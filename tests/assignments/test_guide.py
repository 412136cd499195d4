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
    named = {each.link_in(language) for each in COURSE.get(slug).assignment.guide if each.heading}
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
