"""Every rendering by its name, and who is shown what of it."""

from __future__ import annotations

import ast
import base64
from datetime import datetime, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace

import grader.render
from grader.language import LANGUAGES, foreign
from grader.render.audience import Audience
from grader.render.formats import FORMATS, WITHHOLDING, render_as, render_text
from grader.render.terminal import WIDEST
from grader.report import Check, Report, Visibility, decode_report
from tests import sample_reports
from tests.render.foreign import HARMFUL, everywhere
from tests.render.pages import page

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
NAMES = sorted(FORMATS)
OPEN = sorted(set(FORMATS) - WITHHOLDING)


def kept_back(visibility: Visibility) -> Report:
    """A typical report with one more check, which students are not shown."""
    report = sample_reports.typical()
    secret = Check(
        "s",
        foreign("Secret"),
        0.25,
        1.5,
        "partial",
        foreign("it is secret"),
        foreign("Hush."),
        visibility,
    )
    part = report.parts[0]
    more = replace(part, checks=(*part.checks, secret), score=40.25, max_score=41.5)
    return replace(
        report, parts=(more, *report.parts[1:]), score=77.75, max_score=101.5, seed=987654321
    )


def test_every_format_is_made_of_every_report(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        for language in LANGUAGES:
            for harm in [HARMFUL[0], HARMFUL[1]]:
                with subtests.test(f"{name}, {language}", harm=harm):
                    content = render_as(name, everywhere(harm, language), "student", NOW)
                    assert len(content.decode("utf-8")) > 100


@pytest.mark.parametrize("name", NAMES)
def test_the_same_report_is_the_same_bytes(name: str) -> None:
    first, second = (render_as(name, sample_reports.typical(), "student", NOW) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("visibility", ["hidden", "after_due"])
def test_students_are_shown_nothing_of_what_is_kept_back(name: str, visibility: Visibility) -> None:
    content = told(name, kept_back(visibility), "student")
    for secret in ("secret", "Secret", "Hush", "77.75", "101.5", "40.25", "987654321"):
        assert secret not in content


@pytest.mark.parametrize("name", OPEN)
def test_of_score_only_students_are_shown_the_points(name: str) -> None:
    content = told(name, kept_back("score_only"), "student")
    assert "0.25" in content
    assert "it is secret" not in content and "Hush" not in content


@pytest.mark.parametrize("name", NAMES)
def test_instructors_are_shown_everything(name: str) -> None:
    assert "it is secret" in told(name, kept_back("hidden"), "instructor")


def told(name: str, report: Report, audience: Audience) -> str:
    """Return a rendering as its reader reads it."""
    content = render_as(name, report, audience, NOW)
    if name == "classroom":
        content = base64.b64decode(content)
    return content.decode().replace("\\", "")


def test_a_format_that_withholds_by_itself_gets_all_of_it() -> None:
    for_students, for_instructors = (
        render_as("gradescope", kept_back("hidden"), audience, NOW)
        for audience in ("student", "instructor")
    )
    assert for_students == for_instructors
    assert b'"visibility": "hidden"' in for_students


def test_text_is_what_a_terminal_shows_without_colours() -> None:
    report = sample_reports.typical()
    assert page(report, WIDEST) == render_text(report).decode()
    assert b"\x1b" not in render_text(report)


def test_json_can_be_read_back() -> None:
    report = sample_reports.typical()
    assert report == decode_report(render_as("json", report, "student", NOW))


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="no format"):
        render_as("pdf", sample_reports.typical(), "student", NOW)


def test_renderings_are_made_of_the_report_alone() -> None:
    """No clock, no environment, no file, no chance: what they say can be said again."""
    folder = Path(grader.render.__file__).parent
    for name in ("junit", "gradescope", "github", "markdown", "findings"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not imported & {"os", "time", "datetime", "random", "pathlib", "socket"}
