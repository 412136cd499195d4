"""Headless Chromium, to look at pages as readers do.

Tests that need it are skipped where there is none, and say so; with the variable CI set, as it is
wherever changes are checked, they fail.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

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


SILENCE_SECONDS = 150.0
"""How long a test may look at pages before the browser is taken for stuck: the usual is 10."""


class Browser:
    """Chromium, started anew where it stops answering.

    In four of some hundred runs of all tests a call waited for ever, for a new page or for a script
    (microsoft/playwright#42692 has the same). All processes were alive and idle then. It ends with
    Playwright's own process alone; a warning says what was alive, and what it was doing. Chromium
    also waits where the process is dead that starts its renderers.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._start()

    def _start(self) -> None:
        self._playwright = sync_playwright()
        chromium = self._playwright.start().chromium
        self._launched = chromium.launch(executable_path=self._path, args=list(OPTIONS))

    def page(
        self,
        address: str,
        size: ViewportSize = WIDE,
        scheme: Scheme = "light",
        listen: Callable[[Page], object] = lambda _: None,
    ) -> Page:
        """Open an address in a context of its own; `listen` gets the page before that."""
        page = self._launched.new_context(viewport=size, color_scheme=scheme).new_page()
        page.set_default_timeout(PATIENCE)
        page.set_default_navigation_timeout(0)  # one that takes `patience` is stuck: see `look`
        listen(page)
        page.goto(address)
        return page

    def look(self, test: Callable[[], object], patience: float = SILENCE_SECONDS) -> None:
        """Run a test that opens pages, once more where the browser is stuck, and close them.

        Only the first time has less than the usual `patience`: a browser may take long to start.
        """
        if states := self._stuck_in(test, patience):
            warnings.warn("the browser was stuck\n" + "\n".join(states), stacklevel=2)
            assert not self._stuck_in(test, SILENCE_SECONDS), "the browser was stuck twice"

    def _stuck_in(self, test: Callable[[], object], patience: float) -> list[str]:
        states: list[str] = []
        timer = threading.Timer(patience, _end_playwright, [states])
        timer.start()
        try:
            test()
            self.close_pages()
        except Exception:
            if not states:
                raise
        finally:
            timer.cancel()
            timer.join()
        if states:
            self._playwright.__exit__()
            self._start()
        return states

    def close_pages(self) -> None:
        """Close everything that is open."""
        for context in self._launched.contexts:
            context.close()

    def close(self) -> None:
        """End the browser."""
        self._launched.close()
        self._playwright.__exit__()


def _end_playwright(states: list[str]) -> None:
    """Write down what Playwright and its browser are doing, and end both."""
    found = processes_of_playwright()
    states += [_state_of(each) for each in found] + re.findall(
        "oom_kill .*", Path("/proc/vmstat").read_text()
    )
    for each in found:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            each.kill()


def _state_of(process: psutil.Process) -> str:
    """Say whether a process computes, and what its threads wait for."""
    try:
        used = -sum(process.cpu_times()[:2])
        time.sleep(0.2)
        used += sum(process.cpu_times()[:2])
        threads = Path(f"/proc/{process.pid}/task").iterdir()
        waits = Counter((each / "wchan").read_text() for each in threads)
        state = f"{process.status()}, {used:.2f} of 0.2 CPU s, {dict(waits)}"
    except (psutil.NoSuchProcess, OSError):
        state = "has ended"
    return f"{process.pid} {state}: {words_of(process)[:200]}"


def processes_of_playwright() -> list[psutil.Process]:
    """Return Playwright's process, and those of the browser that it has started."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if re.search("playwright|chrom", words_of(each))]


def words_of(process: psutil.Process) -> str:
    """Return a process's command line, nothing when it has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of this machine; nothing is downloaded.

    Playwright keeps an event loop running in this thread, in which nobody can run a notebook then.
    """
    CHROMIUM.need()
    launched = Browser(next(filter(None, map(shutil.which, CHROMIUM.programs))))
    yield launched
    launched.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser for one test, which tests/conftest.py gives to `Browser.look`."""
    yield chromium
    chromium.close_pages()


@dataclass
class Visit:
    """A page that is open, and what it did so far: none of these should have anything."""

    page: Page
    requests: list[str]
    messages: list[str]
    dialogs: list[str]

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


def visit(
    browser: Browser, path: Path, size: ViewportSize = WIDE, scheme: Scheme = "light"
) -> Visit:
    """Open a file, and write down what it does from the first moment on."""
    own = path.resolve().as_uri()
    return enter(browser, own, own, size, scheme)


def enter(
    browser: Browser,
    address: str,
    own: str,
    size: ViewportSize = WIDE,
    scheme: Scheme = "light",
) -> Visit:
    """Open an address and write down what it does, less what it loads from its `own`."""
    requests: list[str] = []
    messages: list[str] = []
    dialogs: list[str] = []

    def load(url: str) -> None:
        if not url.startswith((own, "data:image/png;")):
            requests.append(url)

    def listen(page: Page) -> None:
        page.on("request", lambda request: load(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("popup", lambda popup: load(popup.url))

    return Visit(browser.page(address, size, scheme, listen), requests, messages, dialogs)
