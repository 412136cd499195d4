"""Headless Chromium, to look at pages as readers do.

Tests that need it are skipped where there is none, and say so; with the variable CI set, as it is
wherever changes are checked, they fail.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.missing import CHROMIUM

OPTIONS = (
    "--headless",
    "--no-sandbox",  # root has to say so, and the page has no script
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
AXE = resources.files("axe_playwright_python") / "axe.min.js"
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true })"
CHECK = "axe.run(document, {resultTypes: ['violations']})"
WIDE, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=375, height=700)

Scheme = Literal["light", "dark"]

# Milliseconds. Beside other work a page took more than Playwright's five seconds to save and go on,
# and once, beside tests of programs that use up the machine, more than its thirty to open.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of this machine; nothing is downloaded.

    Playwright keeps an event loop running in this thread, in which nobody can run a notebook then.
    """
    CHROMIUM.need()
    path = next(filter(None, map(shutil.which, CHROMIUM.programs)))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield launched
        launched.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser for one test: what it opens is closed at its end."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@dataclass
class Visit:
    """A page that is open, and what it did so far: none of these should have anything."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        """Everything that a page without scripts never does."""
        return self.requests + self.messages + self.dialogs

    def unfold(self) -> None:
        """Open everything that is folded."""
        self.page.evaluate(UNFOLD)

    def violations(self) -> list[str]:
        """Return what axe-core finds, and the first element that it finds it in."""
        self.page.evaluate(f"{AXE.read_text(encoding='utf-8')}; null")
        found: dict[str, Any] = self.page.evaluate(CHECK)
        return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found["violations"]]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return width


def new_page(browser: Browser, size: ViewportSize = WIDE, scheme: Scheme = "light") -> Page:
    """Open an empty page in a context of its own."""
    page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
    page.set_default_timeout(PATIENCE)
    return page


def visit(
    browser: Browser, path: Path, size: ViewportSize = WIDE, scheme: Scheme = "light"
) -> Visit:
    """Open a file, and write down what it does from the first moment on."""
    page = new_page(browser, size, scheme)
    done = Visit(page)
    own = path.resolve().as_uri()
    page.on("request", lambda request: done.requests.append(request.url))
    page.on("console", lambda message: done.messages.append(message.text))
    page.on("pageerror", lambda error: done.messages.append(str(error)))
    page.on("dialog", lambda dialog: (done.dialogs.append(dialog.message), dialog.dismiss()))
    page.on("popup", lambda popup: done.requests.append(popup.url))
    page.goto(own)
    done.requests = [
        url for url in done.requests if url != own and not url.startswith("data:image/png;")
    ]
    return done
