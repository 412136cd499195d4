"""The page of works that are alike: evidence side by side, in a quiet page."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from plant_class import make_class
from planted_notebooks import handout
from playwright.sync_api import ViewportSize

from grader.render.html.class_works import render_similar
from grader.render.html.page import SIZE
from grader.report import Cell
from grader.similarity.fragments import given_keys, writing_of
from grader.similarity.pairs import compare
from tests.browser import PHONE, WIDE, Browser, Scheme, visit
from tests.render.html.reading import ATTRIBUTES, TAGS, flat, read
from tests.render.html.test_escaping import INVISIBLE, SCRIPTS

HARM = " ".join(SCRIPTS) + INVISIBLE


def page(*, hostile: bool = False) -> bytes:
    writings = [
        writing_of(each.id, f"Student {each.id}", f"{each.id}.html", each.cells)
        for each in make_class(30, 6).students
    ]
    if hostile:
        cells = [Cell("code", f"a = f({HARM!r}, b[0], c[1], d[2], e[3])", 1)]
        writings = [writing_of(id, HARM, "javascript:x()", cells) for id in (HARM, "W" * 3000)]
    found = compare(HARM if hostile else "e2e-conv", writings, given_keys(handout()))
    assert found.pairs
    return render_similar(found, {each.id: each for each in writings}, "en", "Made today.")


@pytest.fixture(params=[False, True], ids=["a class", "hostile"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "similar.html"
    path.write_bytes(page(hostile=request.param))
    return path


@pytest.mark.parametrize("hostile", [False, True])
def test_it_is_well_formed_and_writes_nothing_else(hostile: bool) -> None:
    found = read(page(hostile=hostile))
    assert [] == found.unbalanced
    assert {tag.strip("/") for tag in found.tags} <= TAGS
    assert {attribute for _, attribute, _ in found.attributes} <= ATTRIBUTES
    assert not any(href.startswith("javascript") for href in found.values("href"))


def test_both_are_side_by_side_with_how_rare_it_is_and_no_verdict() -> None:
    text = flat(read(page()).text)
    assert "evidence, not a verdict" in text
    assert "2 of 30 have it" in text
    assert "Student leilei024" in text
    assert "6" == str(text.count("Side by side"))


def test_it_stays_small() -> None:
    long = "\n".join(f"value_{n} = f(a[{n}], b[c], {'x' * 200!r})" for n in range(100))
    cells = [
        Cell("code", f"def f{n}(a, b, c):\n    {line}", n)
        for n, line in enumerate(long.split("\n"))
    ]
    writings = [writing_of(f"u{n}", "", "", cells) for n in range(30)]
    found = compare("x", writings[:2])
    many = replace(found, pairs=found.pairs * 5000)
    whole = render_similar(many, {each.id: each for each in writings}, "en", "")
    assert len(whole) < SIZE + 100_000
    assert "more pairs are in the JSON" in whole.decode()


def test_it_does_nothing(browser: Browser, path: Path) -> None:
    opened = visit(browser, path)
    opened.unfold()
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


def test_a_wide_window_has_room_for_seventy_characters_of_both(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "similar.html").write_bytes(page())
    opened = visit(browser, tmp_path / "similar.html", ViewportSize(width=1280, height=700))
    wide = "getComputedStyle(document.querySelector('.two .source')).width"
    assert 500 < float(opened.page.evaluate(wide).removesuffix("px"))


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, path: Path, width: int) -> None:
    opened = visit(browser, path, ViewportSize(width=width, height=700))
    opened.unfold()
    assert opened.overflow() <= 0
