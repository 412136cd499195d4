"""docs/course-map.md says where each block of the course's texts went: these places exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.authoring.master import read_master
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "course-map.md").read_text(encoding="utf-8")
BLOCKS = {"000": 6, "001": 13, "002": 29, "003": 15, "004": 34}
"""How many blocks of code each text has, counted in the texts."""


def rows(text):
    """Return the rows of one text's table: (numbers of the blocks, slug, sections)."""
    section = PAGE.split(f"\n## {text}: ")[1].split("\n## ")[0]
    found = re.findall(
        r"^\| (\d[\d, -]*) \| [^|]+ \| `([a-z0-9-]+)`: ([^|]+) \|$", section, re.MULTILINE
    )
    return [(numbers(blocks), slug, sections.split("; ")) for blocks, slug, sections in found]


def numbers(blocks):
    """Return the numbers that "1, 3-5" stands for."""
    ranges = [interval.split("-") for interval in blocks.split(", ")]
    return [number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)]


def headings(slug):
    master = read_master(ROOT / "reference" / f"{slug}.py")
    return {
        line.lstrip("#").strip()
        for cell in master.cells
        if cell.cell_type == "markdown" and "lang" not in cell.metadata
        for line in cell.source.splitlines()
        if line.startswith("#")
    }


@pytest.mark.parametrize("text", BLOCKS)
def test_every_block_of_a_text_has_a_home(text):
    homes = sorted(number for blocks, _, _ in rows(text) for number in blocks)
    assert list(range(1, BLOCKS[text] + 1)) == homes


@pytest.mark.parametrize("text", BLOCKS)
def test_every_home_is_a_section_of_a_master_notebook(text):
    known = {slug: headings(slug) for slug in our_course().assignments}
    missing = [
        (blocks, slug, section)
        for blocks, slug, sections in rows(text)
        for section in sections
        if section not in known[slug]
    ]
    assert [] == missing
