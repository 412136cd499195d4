"""The pages as a site: all are in the menu, links lead somewhere, nothing reads otherwise."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
FROM_THE_TOP: dict[str, str] = runpy.run_path(str(ROOT / "tools" / "site_links.py"))["FROM_THE_TOP"]
PAGES = {
    **{f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")},
    **FROM_THE_TOP,
}
"""Where each page of the site is in the repository."""

ELEMENTS = {"h1", "h2", "h3", "h4", "ul", "ol", "li", "pre", "code", "table", "tr", "td", "th"}
FETCHED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?([^\">\s]+)")


def build(root: Path, target: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Build the site as `make site` does."""
    known = ("SITE_REPOSITORY", "GITHUB_REPOSITORY", "CI_PROJECT_URL")
    plain = {name: value for name, value in os.environ.items() if name not in known}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=root,
        capture_output=True,
        text=True,
        env={**plain, "NO_MKDOCS_2_WARNING": "1", **variables},
    )


def elements(html: str) -> Counter[str]:
    """Return how many there are of each kind of element."""
    return Counter(name for name in re.findall(r"<(\w+)[ >/]", html) if name in ELEMENTS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    done = build(ROOT, folder)
    assert 0 == done.returncode, done.stderr
    return folder


@pytest.fixture(scope="module")
def said_of_faults(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a copy is told that has a page too many and links to nothing."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("docs", "tools"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("mkdocs.yml", *FROM_THE_TOP):
        shutil.copy(ROOT / name, copy)
    (copy / "docs" / "forgotten.md").write_text("# Forgotten\n")
    with (copy / "docs" / "data.md").open("a") as page:
        page.write("[a](nowhere.md) [b](../nowhere.py) [c](security.md#nowhere)\n")
    done = build(copy, copy / "site")
    assert 1 == done.returncode
    return done.stderr


def test_a_page_is_in_the_menu(site: Path, subtests: pytest.Subtests) -> None:
    """In that of the first page; all pages have the same."""
    for page in sorted(PAGES.values()):
        with subtests.test(page):
            first = (site / "index.html").read_text("utf-8")
            menu = first.partition("md-nav--primary")[2].partition("md-sidebar--secondary")[0]
            assert f'href="{page.replace(".md", ".html")}"' in menu


def test_a_page_has_the_form_that_it_has_in_the_repository(
    site: Path, subtests: pytest.Subtests
) -> None:
    """Lists, tables and code: the site's Markdown is another than the repository's."""
    for source in sorted(PAGES):
        with subtests.test(source):
            page = (site / PAGES[source].replace(".md", ".html")).read_text("utf-8")
            article = page.partition("<article")[2].partition("</article>")[0]
            shown = (
                MarkdownIt("commonmark").enable("table").render((ROOT / source).read_text("utf-8"))
            )
            assert elements(shown) == elements(article)


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = {
        address
        for page in site.rglob("*.html")
        for address in FETCHED.findall(page.read_text("utf-8"))
    }
    assert any(address.endswith(".css") for address in fetched)
    assert [] == [address for address in fetched if "//" in address]
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert [] == re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", styles)


@pytest.mark.parametrize(
    "words", ["- forgotten.md", "link 'nowhere.md'", "'../nowhere.py'", "anchor '#nowhere'"]
)
def test_a_fault_is_a_warning_which_ends_the_build(said_of_faults: str, words: str) -> None:
    warnings = said_of_faults.split("WARNING -")[1:]
    assert any(words in each.partition("INFO")[0] for each in warnings), said_of_faults


def test_make_site_builds_it() -> None:
    """What `make` would do; what it does is built above."""
    done = subprocess.run(["make", "-n", "site"], cwd=ROOT, capture_output=True, text=True)
    assert "-m mkdocs build --strict" in done.stdout


def test_the_first_page_leads_to_every_other() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    links = {
        path: path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"
        for path in PAGES
        if path != "docs/index.md"
    }
    assert [] == [path for path, link in links.items() if f"({link})" not in text]
