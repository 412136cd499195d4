"""The marking page in Chromium: by keys alone, in every light and width, and without harm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.marking.queue import Share
from tests.browser import WIDE, Browser, Scheme, Visit, browser, chromium, enter
from tests.endtoend.command import GRADER, heed_interrupts
from tests.marking.factory import COURSE, grade_of, make_class

__all__ = ["browser", "chromium"]

NARROW = ViewportSize(width=390, height=844)
SECONDS = 60


class Served(NamedTuple):
    """A command that runs, the address that it printed, and the gradebook that it writes into."""

    process: subprocess.Popen[str]
    address: str
    book: Gradebook
    first: str = ""

    def page_of(self, number: int, part: str) -> str:
        """Return the address of an answer, by the number of the attempt."""
        root = self.address.partition("/open")[0]
        return f"{root}/answer/{number}/{part}?show=all"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`grader mark` for a class of three, until the tests of this module are over."""
    path = tmp_path_factory.mktemp("course") / "gradebook.sqlite"
    with serving(path, COURSE, "--by", "eve", "--names") as found:
        assert "0 of 6 answers are marked." in found.first
        yield found


@contextmanager
def serving(path: Path, course: Path, *options: str) -> Iterator[Served]:
    """Serve the page for a class of three in a new gradebook."""
    book = Gradebook(open_database(f"sqlite:///{path}", make=True))
    make_class(book)
    process = subprocess.Popen(
        [GRADER, "mark", "--course", str(course), *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "GRADER_GRADEBOOK": str(path)},
        preexec_fn=heed_interrupts,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    yield Served(process, lines[1].split()[1], book, lines[0])
    process.kill()
    process.wait()
    process.stdout.close()
    book.close()


def opened(
    browser: Browser, served: Served, size: ViewportSize = WIDE, scheme: Scheme = "light"
) -> Visit:
    """Open the address that was printed, and write down what the page does besides."""
    visit = enter(browser, served.address, served.address.partition("/open")[0], size, scheme)
    visit.page.wait_for_url("**/answer/**")
    return visit


def at(page: Page, whose: str) -> None:
    """Wait until an answer is shown, and the script heeds keys."""
    expect(page.locator("#whose")).to_have_text(whose)
    expect(page.locator("#total")).not_to_have_text("–")


def test_three_students_are_marked_by_keyboard_alone(browser: Browser, served: Served) -> None:
    visit = opened(browser, served)
    page, keys = visit.page, visit.page.keyboard
    at(page, "Ada Lovelace, ada")
    keys.press("1")
    keys.press("3")
    expect(page.locator("#total")).to_have_text("6")
    keys.press("c")
    keys.type("n is no key here")
    keys.press("Escape")
    keys.press("Enter")

    at(page, "Bob Hope, bob")
    keys.press("1")
    keys.press("2")  # one of the group: the first is left out
    keys.press("4")
    expect(page.locator("#total")).to_have_text("1")
    keys.press("Enter")

    at(page, "李雷, leilei")
    expect(page.get_by_role("button", name="n is no key here")).to_be_visible()
    keys.press("4")
    expect(page.locator("#total")).to_have_text("0")
    keys.press("n")  # what was chosen is saved
    expect(page.locator("h1")).to_have_text("A plot of the times")
    at(page, "Ada Lovelace, ada")

    keys.press("p")
    at(page, "李雷, leilei")
    expect(page.locator(".state")).to_contain_text("0 of 6, by eve, ")
    keys.press("u")
    expect(page.locator(".state")).to_have_text("Not marked yet.")
    at(page, "李雷, leilei")
    keys.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    keys.press("2")
    keys.press("Enter")
    expect(page.locator("h1")).to_have_text("A plot of the times")

    points = {login: grade_of(served.book, login).points for login in ("ada", "bob", "leilei")}
    assert {"ada": 14, "bob": 9, "leilei": 9.5} == points
    assert [] == visit.events


def test_enter_just_when_the_help_was_closed_saves(browser: Browser, served: Served) -> None:
    """Its button still had the focus, on a busy machine for two keys, and Enter was thought to be
    the button's."""
    page = opened(browser, served).page
    page.goto(served.page_of(1, "why"))
    at(page, "Ada Lovelace, ada")
    page.keyboard.press("1")
    page.evaluate(
        "help.querySelector('button').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Enter', code: 'Enter', bubbles: true}))"
    )
    at(page, "Bob Hope, bob")


def test_enter_with_nothing_chosen_saves_nothing(browser: Browser, served: Served) -> None:
    page = opened(browser, served).page
    page.goto(served.page_of(1, "why"))
    at(page, "Ada Lovelace, ada")
    page.keyboard.press("u")  # where a test before this one has marked it
    expect(page.locator(".state")).to_have_text("Not marked yet.")
    at(page, "Ada Lovelace, ada")
    for _ in range(2):
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text("chosen or saved")
    page.keyboard.press("z")
    at(page, "Bob Hope, bob")
    page.keyboard.press("p")
    at(page, "Ada Lovelace, ada")
    expect(page.locator(".state")).to_contain_text("0 of 6, by eve, ")


def test_what_two_do_at_once_is_told_to_the_second(browser: Browser, served: Served) -> None:
    first, second = (opened(browser, served).page for _ in range(2))
    for page in (first, second):
        page.goto(served.page_of(1, "plot"))
        at(page, "Ada Lovelace, ada")
    first.keyboard.press("1")
    first.keyboard.press("Enter")
    at(first, "Bob Hope, bob")
    second.keyboard.press("2")
    second.keyboard.press("Enter")
    expect(second.locator("#said")).to_contain_text(
        "eve has marked this in the meantime: 2 points."
    )
    second.get_by_role("link", name="See its current state").click()
    expect(second.locator(".state")).to_contain_text("2 of 4, by eve, ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_marker_of_several_sees_the_question_and_nobodys_name(
    browser: Browser, tmp_path: Path, scheme: Scheme
) -> None:
    course = tmp_path / "course"
    shutil.copytree(COURSE, course)
    (course / "course.toml").write_text('[marking]\nmarkers = ["ana", "ben"]\ntwice = 100\n')
    file = course / "assignments" / "written" / "assignment.toml"
    asked = 'id = "why"\nquestion = "Why is a **fused loop** faster? <script>alert(1)</script>"'
    file.write_text(file.read_text().replace('id = "why"', asked))
    words = ("--share", "ben", "--by", "ben")
    with serving(tmp_path / "gradebook.sqlite", course, *words) as served:
        visit = opened(browser, served, scheme=scheme)
        page = visit.page
        expect(page.locator("#whose")).to_contain_text("Submission ")
        expect(page.locator(".asked strong")).to_have_text("fused loop")
        assert not any(name in page.content() for name in ("Ada", "Bob Hope", "leilei"))
        assert [] == visit.violations()
        for _ in range(6):
            expect(page.locator("#total")).not_to_have_text("–")
            address = page.url
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, address=address: url != address)
        expect(page.locator("body")).to_contain_text("6 of 6 marked")
        share = Share(("ana", "ben"), "ben", 100)
        names = [(part, login) for part in ("why", "plot") for login in ("ada", "bob", "leilei")]
        seconds = [each for each in names if share.place("written", *each) == 1]
        assert seconds and len(seconds) == len(served.book.second_markings())
        open_points = sum(6 if part == "why" else 4 for part, _ in seconds)
        grades = [grade_of(served.book, login) for login in ("ada", "bob", "leilei")]
        assert open_points == sum(each.open for each in grades)
        assert [] == visit.events


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_is_accessible_in_every_light_and_width(
    browser: Browser, served: Served, size: ViewportSize, scheme: Scheme
) -> None:
    visit = opened(browser, served, size, scheme)
    for number, part in ((1, "why"), (1, "plot")):
        visit.page.goto(served.page_of(number, part))
        folder = os.environ.get("GRADER_PICTURES")
        if folder:
            name = f"{part}-{scheme}-{size['width']}.png"
            visit.page.screenshot(path=Path(folder) / name, full_page=True)
        assert 0 == visit.overflow()
        assert [] == visit.violations()
    visit.page.keyboard.press("?")
    assert [] == visit.violations()
    if folder:
        visit.page.screenshot(path=Path(folder) / f"help-{scheme}-{size['width']}.png")
    assert [] == visit.events


def test_a_hostile_notebook_runs_and_loads_nothing(browser: Browser, served: Served) -> None:
    visit = opened(browser, served)
    visit.page.goto(served.page_of(2, "why"))
    at(visit.page, "Bob Hope, bob")
    expect(visit.page.locator(".cells")).to_contain_text(
        "<script>document.title = 'pwned'</script>"
    )
    assert "pwned" not in visit.page.title()
    assert 4 == visit.page.locator("input").count()
    assert 0 == visit.page.locator(".cells :is(script, form, input, img, iframe)").count()
    assert [] == visit.events


def test_ctrl_c_ends_the_command_well(served: Served) -> None:
    """The last test of the module: afterwards there is no page."""
    assert httpx.get(served.address, follow_redirects=True).is_success  # it does serve by now
    served.process.send_signal(signal.SIGINT)
    assert served.process.stdout is not None
    assert "in the gradebook" in served.process.stdout.read().splitlines()[-1]
    assert 0 == served.process.wait(SECONDS)
