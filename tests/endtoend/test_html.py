"""Real reports as pages: of the reference, of the empty template, and of the worst notebook."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import ViewportSize

from tests.browser import PHONE, WIDE, Browser, Scheme, visit
from tests.endtoend.command import ROOT, Result, run_grader
from tests.endtoend.examples import brisk_course
from tests.endtoend.hostile_page import CELLS, TEXTS
from tests.render.html.reading import Page, flat, read
from tests.render.html.test_escaping import harmless

LARGEST = 3 * 10**6
NOTEBOOKS = ("reference", "template", "hostile")
COURSE = "folder-of-the-course"
HOSTILE_NAME = '"><img src=x onerror=window.harm=1> & {{ 7*7 }}.ipynb'

Graded = Callable[[str], tuple[Result, Path]]

pytestmark = pytest.mark.graded


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Return, for a notebook's name, what `grader run --html` came to, and where the page is."""
    done: dict[str, tuple[Result, Path]] = {}
    course = brisk_course(tmp_path_factory.mktemp(COURSE))
    shutil.copytree(ROOT / "templates", course / "templates")

    def grade(name: str) -> tuple[Result, Path]:
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            page = folder / "report.html"
            options = ("--html", page, "--course", course)
            done[name] = run_grader(folder, notebook(name, folder), *options), page
        return done[name]

    return grade


def notebook(name: str, folder: Path) -> Path:
    if name == "reference":
        return ROOT / "examples" / "e2e-conv" / "reference.ipynb"
    if name == "template":
        return ROOT / "templates" / "e2e-conv.ipynb"
    cells = [nbformat.v4.new_markdown_cell(text) for text in TEXTS]
    cells += [nbformat.v4.new_code_cell(source) for source in CELLS]
    made = nbformat.v4.new_notebook(cells=cells, metadata={"grader": {"assignment": "e2e-conv"}})
    nbformat.write(made, folder / HOSTILE_NAME)
    return folder / HOSTILE_NAME


def page_of(graded: Graded, name: str) -> Page:
    return read(graded(name)[1].read_bytes())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_is_written_and_below_three_megabytes(name: str, graded: Graded) -> None:
    result, path = graded(name)
    assert 0 == result.code, result.messages
    assert 20_000 < path.stat().st_size < LARGEST
    assert f"The report as a page: {path.name}" in flat(result.output).replace(
        f"{path.parent}/", ""
    )


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_has_only_what_templates_write(name: str, graded: Graded) -> None:
    harmless(page_of(graded, name))


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_chromium_opens_it_and_nothing_happens(
    name: str, size: ViewportSize, graded: Graded, browser: Browser
) -> None:
    opened = visit(browser, graded(name)[1], size)
    opened.unfold()
    opened.page.keyboard.press("End")
    assert opened.page.evaluate("window.harm === undefined")
    assert [] == opened.events
    assert opened.overflow() <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_axe_finds_nothing(name: str, scheme: Scheme, graded: Graded, browser: Browser) -> None:
    opened = visit(browser, graded(name)[1], scheme=scheme)
    opened.unfold()
    assert [] == opened.violations()


def test_the_reference_shows_all_that_there_is_to_show(graded: Graded) -> None:
    text = flat(page_of(graded, "reference").text)
    result, _ = graded("reference")
    scheduled = result.part("schedule")
    assert scheduled.scripts is not None
    assert "Changes by the schedule: conv2d" in text
    assert "The graph of main" in text
    assert all(check.title.english.replace("`", "") in text for check in scheduled.checks)
    assert "26 code cells" in text
    outputs = [output for cell in result.report.cells for output in cell.outputs]
    assert {"image", "listing"} <= {output.kind for output in outputs}
    assert "not kept in the report" not in text
    assert "cells of the handout: A convolutional classifier, end to end" in text
    assert "Your cells:" in text


def test_the_template_says_what_is_missing_beside_its_cells(graded: Graded) -> None:
    result, path = graded("template")
    assert 0 == result.report.score
    text = flat(page_of(graded, "template").text)
    assert "Fix this first The model, built with emit_te" in text
    assert 2 == text.count("nothing to grade yet")
    assert "Your cells" not in text
    cell = result.report.problems[0].cell
    beside = path.read_text("utf-8").partition(f'id="cell-{cell}"')[2].partition('class="cell')[0]
    assert result.report.problems[0].error in beside


def test_the_hostile_notebook_is_shown_as_text(graded: Graded) -> None:
    text = flat(page_of(graded, "hostile").text)
    assert HOSTILE_NAME in text
    assert "<script>window.harm=1</script>" in text
    assert "not kept in the report: application/javascript" in text
    assert '<img src=x onerror="window.harm=1">' in text  # the name of an exception


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_path_of_this_machine_and_no_secret_of_the_course_is_on_it(
    name: str, graded: Graded
) -> None:
    _, path = graded(name)
    page = path.read_text("utf-8")
    document = (path.parent / "report.json").read_text("utf-8")
    own = {sys.prefix, sys.base_prefix, str(ROOT), str(path.parent), str(Path.home())}
    for folder in own - {"/usr"}:  # where a system's Python is: every machine has it
        assert f"{folder}/" not in page
        assert f"{folder}/" not in document
    assert COURSE not in page + document
    for secret in ("oracle.py", "workload.py"):
        text = (ROOT / "assignments" / "e2e-conv" / secret).read_text("utf-8")
        lines = [line.strip() for line in text.splitlines() if len(line.strip()) > 40]
        assert [] == [line for line in lines if line in page]


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    path = notebook("template", tmp_path)
    result = run_grader(tmp_path, path, "--html", tmp_path / "no" / "page.html")
    assert 2 == result.code
    assert "Cannot write" in result.messages


def test_what_cannot_be_graded_has_a_page_that_says_why(tmp_path: Path) -> None:
    path = tmp_path / "empty.ipynb"
    path.write_text("{}")
    run_grader(tmp_path, path, "--html", tmp_path / "page.html")
    text = flat(read((tmp_path / "page.html").read_bytes()).text)
    assert "empty.ipynb" in text
    assert "has no cells" in text or "--assignment" in text


def test_the_page_of_a_proven_schedule_says_what_each_step_brought(graded: Graded) -> None:
    """With the lines of the notebook; of a template without a schedule it says nothing."""
    text = flat(page_of(graded, "reference").text)
    assert "Effect of each step" in text
    assert "timed after each of your steps" in text
    assert "These steps do not change the code here: parallel" in text
    assert "Effect of each step" not in flat(page_of(graded, "template").text)
