"""A self-check in somebody else's page: JupyterLab's, VS Code's, a web site's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from grader.language import foreign
from grader.report import Part
from grader.selfcheck import show
from grader.selfcheck.show import render_checked, render_message
from tests.browser import AXE, CHECK, UNFOLD, Browser, Scheme
from tests.render.html.samples import everything
from tests.render.html.test_escaping import INVISIBLE, SCRIPTS

PARTS = everything().parts
HOST = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A host</title>
<body {attributes}><main><h3 id="mine">Mine</h3><table id="table"><tr><th>a<td>b</table>
<p id="text">A <code>word</code> <a href="#mine">link</a></p>{answers}</main>"""
STYLES = """["mine", "table", "text"].flatMap(id => {
    const all = [...document.getElementById(id).querySelectorAll("*")]
    return [document.getElementById(id), ...all, document.body, document.documentElement]
}).map(each => JSON.stringify(Object.fromEntries([...getComputedStyle(each)].filter(
    name => !/height|width|origin|size$|inset|bottom|right|top$/.test(name)
).map(name => [name, getComputedStyle(each)[name]]))))"""
DARK = "rgb(21, 23, 26)"
LIGHT = "rgb(252, 251, 248)"


def checked(*parts: Part, identity: str = "abc") -> str:
    return render_checked(
        "Title", parts, (foreign("A note."),), "So far.", (foreign("Not this."),), identity=identity
    )


def opened(
    browser: Browser, folder: Path, *answers: str, attributes: str = "", scheme: Scheme = "light"
) -> Page:
    """Show answers in a page that has things of its own."""
    path = folder / "host.html"
    path.write_text(HOST.format(attributes=attributes, answers="".join(answers)))
    return browser.page(path.as_uri(), scheme=scheme)


def paper(page: Page) -> str:
    colour: str = page.evaluate(
        "getComputedStyle(document.querySelector('.grader-answer')).backgroundColor"
    )
    return colour


def test_the_hosts_own_things_look_as_before(browser: Browser, tmp_path: Path) -> None:
    before = opened(browser, tmp_path).evaluate(STYLES)
    after = opened(browser, tmp_path, checked(*PARTS)).evaluate(STYLES)
    assert before == after


def test_every_rule_is_for_what_is_inside_alone() -> None:
    """Rules that are nested need a browser to be seen: here by where braces are."""
    style = re.sub(r"/\*.*?\*/", "", re.findall("<style>(.*)</style>", checked(), re.DOTALL)[0])
    depth, outer = 0, ""
    for character in style:
        outer += character if depth == 0 else ""
        depth += {"{": 1, "}": -1}.get(character, 0)
    selectors = outer.replace("@media (prefers-color-scheme: dark)", ".grader-answer").split("{")
    named = [each.strip(" }\n") for each in selectors[:-1]]
    assert len(named) > 3
    assert [] == [one for each in named for one in each.split(",") if ".grader-answer" not in one]


@pytest.mark.parametrize(
    ("attributes", "scheme", "colour"),
    [
        ('data-jp-theme-light="true"', "dark", LIGHT),
        ('data-jp-theme-light="false"', "light", DARK),
        ('class="vscode-light"', "dark", LIGHT),
        ('class="vscode-dark"', "light", DARK),
        ('class="vscode-high-contrast"', "light", DARK),
        ('class="vscode-high-contrast vscode-high-contrast-light"', "dark", LIGHT),
        ("", "dark", DARK),
        ("", "light", LIGHT),
    ],
)
def test_it_is_as_dark_as_the_host(
    browser: Browser, tmp_path: Path, attributes: str, scheme: Scheme, colour: str
) -> None:
    page = opened(browser, tmp_path, checked(PARTS[0]), attributes=attributes, scheme=scheme)
    assert colour == paper(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_several_answers_are_readable_by_everybody(
    browser: Browser, tmp_path: Path, scheme: Scheme
) -> None:
    answers = checked(*PARTS), checked(*PARTS, identity="abd"), render_message("No.", "Do.")
    page = opened(browser, tmp_path, *answers, scheme=scheme)
    page.evaluate(UNFOLD)
    page.evaluate(f"{AXE.read_text(encoding='utf-8')}; null")
    found = page.evaluate(CHECK)["violations"]
    own = [each for each in found if "grader" in str(each["nodes"])]
    assert [] == [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in own]


def test_nothing_is_cut_or_scrolled_at_1280_pixels(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, f'<div style="width: 900px">{checked(*PARTS)}</div>')
    page.evaluate(UNFOLD)
    wide = "[...document.querySelectorAll('.grader-answer *')].filter(e => e.scrollWidth > 900)"
    assert 0 == page.evaluate(f"{wide}.length")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_nothing_of_it_runs(browser: Browser, tmp_path: Path) -> None:
    hostile = " ".join(SCRIPTS) + INVISIBLE
    page = opened(browser, tmp_path, render_message(hostile, hostile))
    assert page.evaluate("window.harm === undefined")
    assert "<script" not in render_message(hostile, hostile)


def test_without_its_style_and_drawings_it_says_the_same() -> None:
    """JupyterLab takes both away where a notebook is not trusted."""
    html = re.sub("<(style|svg).*?</\\1>", "", checked(*PARTS), flags=re.DOTALL)
    bare = re.sub("<[^>]*>", "", html)
    for part in PARTS:
        assert part.title.english in bare
        assert all(check.title.english in bare for check in part.checks)


def test_what_has_no_room_is_left_out_from_its_least_important_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = checked(PARTS[0])
    monkeypatch.setattr(show, "SIZE", 3_000)
    cut = checked(PARTS[0])
    assert '<svg class="drawing"' in whole
    assert '<svg class="drawing"' not in cut
    assert PARTS[0].title.english in cut
