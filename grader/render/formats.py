"""Every rendering of a report by its name."""

import io
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from msgspec.structs import replace
from rich.console import Console

from grader.render.audience import Audience, shown
from grader.render.classroom50 import render_classroom50
from grader.render.github import render_annotations, render_classroom, render_github
from grader.render.junit import render_junit
from grader.render.markdown import render_markdown
from grader.render.prairielearn import render_prairielearn
from grader.render.terminal import WIDEST, render
from grader.report import Report, encode_report

Renderer = Callable[[Report], bytes]


def render_text(report: Report) -> bytes:
    """Return a report as a terminal shows it, without colours, in UTF-8."""
    file = io.StringIO()
    console = Console(file=file, width=WIDEST, color_system=None, force_terminal=False, emoji=False)
    render(report, console)
    return file.getvalue().encode()


def render_page(report: Report) -> bytes:
    """Return a report as one page of HTML."""
    from grader.render.html import render_html  # not needed to grade, and slow

    return render_html(report)


def render_results(report: Report) -> bytes:
    """Return a report as Gradescope's results.json."""
    from grader.render.gradescope import render_gradescope  # with what makes pages

    return render_gradescope(report)


FORMATS: Mapping[str, Renderer] = MappingProxyType(
    {
        "text": render_text,
        "json": encode_report,
        "html": render_page,
        "junit": render_junit,
        "gradescope": render_results,
        "github": render_github,
        "annotations": render_annotations,
        "classroom": render_classroom,
        "classroom50": render_classroom50,
        "prairielearn": render_prairielearn,
        "markdown": render_markdown,
    }
)
"""Makes a file of a report that has gone through `shown`, or of the whole for `WITHHOLDING`."""

WITHHOLDING = frozenset({"gradescope"})
"""Formats that say of each check who may see it; the service that reads them withholds the rest."""


def render_as(
    name: str, report: Report, audience: Audience, now: datetime, language: str | None = None
) -> bytes:
    """Return a report in a format, with what an audience may see of it at a time.

    It speaks `language`, by default the report's own. Raises ValueError for a name that is none
    of `FORMATS`.
    """
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r}, but {', '.join(FORMATS)}")
    if language is not None:
        report = replace(report, language=language)
    seen = report if name in WITHHOLDING else shown(report, audience, now)
    return FORMATS[name](seen)
