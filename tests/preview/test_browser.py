"""The preview in Chromium: three frames, and what changes in them when a file is saved."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from playwright.sync_api import expect

from tests.browser import Browser, browser, chromium, enter
from tests.endtoend.command import GRADER, heed_interrupts

__all__ = ["browser", "chromium"]

SECONDS = 60


def test_a_file_that_is_saved_is_shown(browser: Browser, course: Path) -> None:
    process = subprocess.Popen(
        [GRADER, "preview", "layer", "--course", str(course)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        preexec_fn=heed_interrupts,
    )
    assert process.stdout is not None
    try:
        visit = enter(browser, process.stdout.readline().split()[1], "")
        page = visit.page
        template, graded = (page.frame_locator(name) for name in ("#template", "#graded"))
        expect(template.get_by_text("1. A TensorIR function")).to_be_visible()
        expect(page.frame_locator("#release").get_by_text("oracle.py")).to_be_visible()
        expect(graded.get_by_text("sum_not_initialised.ipynb")).to_be_visible()
        master = course / "reference" / "layer.py"
        text = master.read_text(encoding="utf-8")
        master.write_text(text.replace("1. A TensorIR", "1. Only a TensorIR"), encoding="utf-8")
        expect(template.get_by_text("1. Only a TensorIR function")).to_be_visible()
        expect(graded.get_by_text("sum_not_initialised.ipynb")).to_be_visible()
        page.get_by_label("Language").select_option("zh")
        expect(template.get_by_text("YOUR CODE HERE").first).to_be_visible()
        assert [] == visit.messages
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
