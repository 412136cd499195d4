"""Make docs/images/report.png, the picture in the README: a report page as a browser shows it.

    python tools/make_report_picture.py [--report report.json]

Without a report, an example with a mistake is graded for it. Needs Chromium or Google Chrome.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from grader.machine.packages import how_to_install
from grader.render.formats import render_as
from grader.report import decode_report

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "e2e-conv" / "conv_kernel_flipped.ipynb"
PICTURE = ROOT / "docs" / "images" / "report.png"
SIZE = ViewportSize(width=1000, height=1000)
COLOURS = 128
"""Enough for a page, and a third of the bytes."""


def grade(folder: Path) -> bytes:
    """Grade the example by the command line; return its report as JSON."""
    path = folder / "report.json"
    grader = str(Path(sys.executable).with_name("grader"))
    words = [grader, "run", str(EXAMPLE), "--data", "builtin"]
    subprocess.run([*words, "--json", str(path)], check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes()


def photograph(page: Path) -> bytes:
    """Return the top of a page as a PNG."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit(f"Chromium is missing: {how_to_install('chromium').english}")
    with sync_playwright() as playwright:
        options = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=options)
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(page.as_uri())
        taken = tab.screenshot()
        browser.close()
    return taken


def main() -> None:
    """Render, photograph, and write the picture with few colours."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, help="JSON of a report that there is already")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        content = arguments.report.read_bytes() if arguments.report else grade(Path(folder))
        page = Path(folder, "report.html")
        now = datetime.now(timezone.utc)
        page.write_bytes(render_as("html", decode_report(content), "student", now))
        picture = Image.open(io.BytesIO(photograph(page)))
        PICTURE.parent.mkdir(exist_ok=True)
        picture.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
