"""Reports as a console shows them."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from grader.render.terminal import render
from grader.report import Report, ShapeTiming
from tests import sample_reports


def page(report: Report, width: int = 80, encoding: str = "utf-8", **options: object) -> str:
    """Return what a report looks like in a file or, with `force_terminal`, on a terminal."""
    bytes_written = io.BytesIO()
    file = io.TextIOWrapper(bytes_written, encoding=encoding, newline="\n")
    render(report, Console(file=file, width=width, **options))
    file.flush()
    return bytes_written.getvalue().decode(encoding)


def flat(text: str) -> str:
    """Return a page without its line breaks."""
    return " ".join(text.split())


def with_timing(**changes: object) -> Report:
    """Return a report whose timing is changed."""
    timing = msgspec.structs.replace(sample_reports.TIMING, **changes)
    return msgspec.structs.replace(sample_reports.typical(), timing=timing)


def shape(**changes: object) -> ShapeTiming:
    """Return a shape's timing with changes."""
    return msgspec.structs.replace(sample_reports.SHAPE, **changes)
