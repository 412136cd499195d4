"""GitHub Classroom ended on 28 August 2026: no page sends its readers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_commands import PAGES

ENDED = ("former", "ended", "succeeds")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_that_names_it_says_that_it_has_ended(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\n|", "\n\n|").replace("\n* ", "\n\n* ")
    naming = [each for each in text.split("\n\n") if "GitHub Classroom" in each]
    said = [each for each in naming if each.startswith("#") or any(e in each for e in ENDED)]
    assert naming == said
