"""Pages as Chromium shows them: quiet, readable by everybody, on phones and on paper."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

from grader.language import foreign
from grader.render.asking import AskAddress
from grader.render.final_grade import FinalGrade, ToldObjection, ToldReply
from grader.render.html import render_html
from grader.report import Report
from tests import sample_reports
from tests.browser import PHONE, WIDE, Browser, Scheme, processes_of_playwright, visit, words_of
from tests.render.html.filled import Filler
from tests.render.html.samples import everything
from tests.render.html.test_escaping import INVISIBLE, SCRIPTS
from tests.render.html.test_page import wrong_and_missing

REPORTS = {
    "everything": everything(),
    "full marks": sample_reports.full_marks(),
    "nothing to grade": sample_reports.nothing_to_grade(),
    "wide characters": sample_reports.korean_and_chinese(),
    "hostile": Filler(lambda _: " ".join(SCRIPTS) + INVISIBLE).report(),
    "one long word": Filler(lambda _: "W" * 3000).report(),
}


@pytest.fixture(params=REPORTS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(REPORTS[request.param], tmp_path)


def write(report: Report, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_bytes(render_html(report))
    return path


def test_a_page_does_nothing(browser: Browser, path: Path) -> None:
    opened = visit(browser, path)
    opened.unfold()
    opened.page.mouse.move(300, 300)
    assert opened.page.evaluate("window.harm === undefined")
    assert [] == opened.events


def test_whoever_watches_sees_what_a_page_does(browser: Browser, tmp_path: Path) -> None:
    """Otherwise a quiet page proves nothing."""
    path = tmp_path / "loud.html"
    path.write_text(
        "<script>console.log('hello'); fetch('http://127.0.0.1:9/'); alert('hey')</script>"
    )
    opened = visit(browser, path)
    assert "hello" in opened.messages
    assert "hey" in opened.dialogs
    assert any("127.0.0.1:9" in url for url in opened.requests)


@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_axe_finds_nothing(
    browser: Browser, path: Path, size: ViewportSize, scheme: Scheme
) -> None:
    opened = visit(browser, path, size, scheme)
    opened.unfold()
    assert [] == opened.violations()


@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_questions_and_answers_are_readable_and_do_nothing(
    browser: Browser, tmp_path: Path, size: ViewportSize, scheme: Scheme
) -> None:
    text = foreign(" ".join(SCRIPTS) + INVISIBLE + "W" * 300)
    replies = (ToldReply(text, "eve", "2026-12-01", 2.5),)
    asked = [ToldObjection(part, text, "2026-12-01", replies) for part in ("schedule", "")]
    line = (foreign("The grade: 80 of 100."),)
    final = FinalGrade(80.0, 100.0, 0.0, line, objections=tuple(asked))
    ask = AskAddress("mailto:ta@example.org", "e2e-conv", "ada")
    path = tmp_path / "report.html"
    path.write_bytes(render_html(sample_reports.typical(), final=final, ask=ask))
    opened = visit(browser, path, size, scheme)
    opened.unfold()
    assert opened.page.get_by_role("link", name="Ask about this part").first.is_visible()
    assert opened.page.evaluate("window.harm === undefined")
    assert opened.overflow() <= 0
    assert [] == opened.violations()
    assert [] == opened.events


def test_axe_finds_what_is_there_to_find(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "poor.html"
    path.write_text("<html><body style='color:#aaa;background:#fff'><img src=x>pale</body></html>")
    found = {each.partition(":")[0] for each in visit(browser, path).violations()}
    assert {"color-contrast", "image-alt", "html-has-lang", "document-title"} <= found


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, path: Path, width: int) -> None:
    opened = visit(browser, path, ViewportSize(width=width, height=700))
    opened.unfold()
    assert opened.overflow() <= 0


BROKEN_WORDS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest('pre, code, svg, .hidden, .skip')) continue
    for (const word of node.data.matchAll(/\\p{L}{2,20}/gu)) {
      const range = document.createRange()
      range.setStart(node, word.index)
      range.setEnd(node, word.index + word[0].length)
      const lines = new Set([...range.getClientRects()].map(each => Math.round(each.top)))
      if (lines.size > 1) broken.push(word[0])
    }
  }
  return broken
}"""


@pytest.mark.parametrize("name", ["everything", "full marks", "nothing to grade"])
def test_no_word_is_broken_on_a_phone(browser: Browser, tmp_path: Path, name: str) -> None:
    opened = visit(browser, write(REPORTS[name], tmp_path), ViewportSize(width=390, height=700))
    opened.unfold()
    assert [] == opened.page.evaluate(BROKEN_WORDS)


OUTSIDE = """() => [...document.querySelectorAll('details.missing')].filter(each => {
  const [box, points] = [each, each.querySelector('.points')].map(it => it.getBoundingClientRect())
  const why = [...each.querySelector('.why').getClientRects()]
  const touches = why.some(it => it.right > points.left - 5 && it.bottom > points.top + 5)
  return points.bottom > box.bottom || touches
}).length"""


def test_points_of_a_folded_part_stay_apart_and_within_it(browser: Browser, tmp_path: Path) -> None:
    """They touched what is said beside the title, or hung below the box."""
    opened = visit(browser, write(wrong_and_missing(), tmp_path))
    found = []
    for width in range(320, 480, 4):
        opened.page.set_viewport_size(ViewportSize(width=width, height=700))
        found += [width] * opened.page.evaluate(OUTSIDE)
    assert [] == found


def test_a_broken_word_is_seen(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "narrow.html"
    path.write_text("<p style='width: 3em; overflow-wrap: anywhere'>unscheduled in here</p>")
    assert ["unscheduled"] == visit(browser, path).page.evaluate(BROKEN_WORDS)


def test_it_is_dark_where_readers_want_it(browser: Browser, tmp_path: Path) -> None:
    path = write(everything(), tmp_path)
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = (
        visit(browser, path, scheme=each).page.evaluate(paper) for each in ("light", "dark")
    )
    assert "rgb(252, 251, 248)" == light
    assert "rgb(21, 23, 26)" == dark


def test_everything_that_folds_or_leads_somewhere_is_reached_by_the_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    page = visit(browser, write(everything(), tmp_path)).page
    wanted = page.evaluate(
        "[...document.querySelectorAll('a, summary, [tabindex]')]"
        ".filter(each => each.checkVisibility()).length"
    )
    reached = 0
    for _ in range(wanted):
        page.keyboard.press("Tab")
        reached += page.evaluate("document.activeElement.matches('a, summary, [tabindex]')")
    assert wanted == reached > 10


def test_it_can_be_printed(browser: Browser, tmp_path: Path) -> None:
    page = visit(browser, write(everything(), tmp_path), scheme="dark").page
    page.emulate_media(media="print")
    assert "rgb(255, 255, 255)" == page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert "none" == page.evaluate("getComputedStyle(document.querySelector('nav')).display")
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_browser_that_stops_answering_is_started_anew(chromium: Browser) -> None:
    stop = [each for each in processes_of_playwright() if is_chromium(words_of(each))]

    contents: list[str] = []

    def look() -> None:
        while stop:
            stop.pop().suspend()
        contents.append(chromium.page("data:text/html,<p>here</p>").content())

    with pytest.warns(UserWarning, match="(?s)the browser was stuck.*stopped"):
        chromium.look(look, patience=3)
    assert "<p>here</p>" in contents[-1]


def test_a_page_that_never_opens_is_the_browsers_fault(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a test's, in one of some hundred runs: opening had less time than a test has."""
    monkeypatch.setattr("tests.browser.PATIENCE", 100)
    contents: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_page = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        addresses = iter([silent_page, "data:text/html,<p>here</p>"])
        with pytest.warns(UserWarning, match="the browser was stuck"):
            chromium.look(
                lambda: contents.append(chromium.page(next(addresses)).content()), patience=3
            )
    assert "<p>here</p>" in contents[-1]


def is_chromium(words: str) -> bool:
    """Say whether a command is the browser's first process."""
    return "--remote-debugging-pipe" in words and "--type" not in words
