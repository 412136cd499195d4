"""The page of a class: quiet, bounded, readable, and every number leads to students."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace
from playwright.sync_api import ViewportSize

from grader.insights.figures import Insights, insights_of
from grader.insights.observation import Person, observe
from grader.language import LANGUAGES
from grader.render.html.class_page import render_insights
from grader.render.html.page import SIZE
from grader.render.wording import MISTAKE_NAMES
from grader.report import MistakeKind
from tests import sample_reports
from tests.browser import PHONE, WIDE, Browser, Scheme, visit
from tests.insights.classes import made
from tests.render.html.filled import Filler
from tests.render.html.reading import ATTRIBUTES, TAGS, read
from tests.render.html.test_escaping import INVISIBLE, SCRIPTS


def hostile() -> Insights:
    harm = " ".join(SCRIPTS) + INVISIBLE
    person = Person(harm, harm, "javascript:alert(1)", harm)
    seen = observe(Filler(lambda _: harm).report(), person)
    return insights_of(harm, "folder", [seen], [person])


def long_words() -> Insights:
    person = Person("W" * 3000, "W" * 3000)
    return insights_of("w", "folder", [observe(Filler(lambda _: "W" * 3000).report(), person)])


PLANTED = made(60)
CLASSES = {
    "a class": PLANTED.insights,
    "hostile": hostile(),
    "one long word": long_words(),
    "nobody": insights_of("none", "folder", ()),
}


def page(insights: Insights, language: str = "en") -> bytes:
    return render_insights(insights, language, "Made today.")


@pytest.fixture(params=CLASSES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "class.html"
    path.write_bytes(page(CLASSES[request.param]))
    return path


def test_nobody_is_to_be_reviewed_only_where_everybody_handed_in() -> None:
    """It was said above the list of those who handed in nothing gradable."""
    seen = [observe(sample_reports.full_marks(), Person("ada", "Ada"))]
    everybody, missing = (
        read(page(insights_of("x", "gradebook", seen, who))).text
        for who in ((), (Person("zoe", "Zoe"),))
    )
    assert ("Nobody." in everybody, "Nobody." in missing) == (True, False)
    assert "Nothing gradable submitted" in missing


def test_every_mistake_has_a_name() -> None:
    assert {"", *get_args(MistakeKind)} == MISTAKE_NAMES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_it_is_well_formed_and_writes_nothing_else(name: str) -> None:
    found = read(page(CLASSES[name]))
    assert [] == found.unbalanced
    tags = {tag.strip("/") for tag in found.tags}
    assert tags <= TAGS
    assert {attribute for _, attribute, _ in found.attributes} <= ATTRIBUTES


@pytest.mark.parametrize("name", CLASSES)
def test_every_link_leads_somewhere_and_none_to_a_script(name: str) -> None:
    found = read(page(CLASSES[name]))
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    inner = {href[1:] for href in found.values("href") if href.startswith("#")}
    assert inner <= {*ids}
    others = [href for href in found.values("href") if not href.startswith("#")]
    assert all(re.fullmatch(r"e2e-conv/u\d+\.html", href) for href in others)


def test_every_count_of_a_mistake_is_there_with_its_students() -> None:
    text = read(page(PLANTED.insights)).text
    for row in PLANTED.insights.mistakes:
        start = text.index(MISTAKE_NAMES[row.mistake].english)
        after = " ".join(text[start : start + 6000].split())
        assert re.search(rf"\b{len(row.students)} students?\b", after)
        for student in row.students[:3]:
            assert f"Student {int(student[1:])}" in after


def test_each_student_has_a_line_that_leads_to_the_page() -> None:
    found = read(page(PLANTED.insights))
    assert 60 == len([href for href in found.values("href") if href.startswith("e2e-conv/")])


def test_two_of_one_name_are_told_apart_by_their_ids() -> None:
    seen = [
        replace(PLANTED.seen[0], person=Person(id, name))
        for id, name in (("chen1", "Wei Chen"), ("chen2", "Wei Chen"), ("w" * 90, "Olga"))
    ]
    found = page(insights_of("e2e-conv", "gradebook", seen, [Person("chen3", "Wei Chen")])).decode()
    assert {"Wei Chen (chen1)", "Wei Chen (chen2)", "Wei Chen (chen3)", "Olga"} <= {
        *re.findall(r"<bdi[^>]*>([^<]+)</bdi>", found)
    }
    assert '<a href="#s3"><bdi>Olga</bdi></a>' in found


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_in_the_language_that_is_asked_for(language: str) -> None:
    found = page(PLANTED.insights, language).decode()
    assert f'<html lang="{language}"' in found
    assert ("Common mistakes" in found) == (language == "en")
    assert (">parts<" in found) == (language == "en")


@pytest.mark.parametrize("students", [1000, 4000])
def test_it_stays_small_whatever_the_class(students: int) -> None:
    few = made(50).seen
    seen = [
        replace(few[number % 50], person=Person(f"{number:05}", f"Name of {number}"))
        for number in range(students)
    ]
    whole = page(insights_of("e2e-conv", "folder", seen))
    assert len(whole) < SIZE + 100_000 <= 3_000_000
    assert [] == read(whole).unbalanced
    assert ("with the lines of the others" in whole.decode()) == (students == 4000)


def test_it_does_nothing(browser: Browser, path: Path) -> None:
    opened = visit(browser, path)
    opened.unfold()
    assert opened.page.evaluate("window.harm === undefined")
    assert [] == opened.events


@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_axe_finds_nothing(
    browser: Browser, path: Path, size: ViewportSize, scheme: Scheme
) -> None:
    opened = visit(browser, path, size, scheme)
    opened.unfold()
    assert [] == opened.violations()


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, path: Path, width: int) -> None:
    opened = visit(browser, path, ViewportSize(width=width, height=700))
    opened.unfold()
    assert opened.overflow() <= 0
