"""Parts of a report as a self-check lays them out."""

from __future__ import annotations

import io

from rich.console import Console

from grader.render.terminal import Page, part_section
from grader.report import Part
from grader.selfcheck.show import WIDTH


def section(part: Part) -> str:
    """Return a part's section of the terminal report."""
    console = Console(file=io.StringIO(), width=WIDTH, record=True)
    console.print(Page(part_section(part)), end="")
    return console.export_text().rstrip()
