"""The overview of a batch for the terminal: a table with one row for each submission."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.batch.summary import Row, Summary
from grader.render import wording
from grader.render.terminal import WIDEST, Page


def render_overview(summary: Summary, console: Console) -> None:
    """Print the rows of a batch, and in a sentence how many there are of which kind."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True, header_style="dim"
    )
    table.add_column("Submission", ratio=2, overflow="fold")
    table.add_column("Points", justify="right", no_wrap=True)
    table.add_column("Noticed", ratio=3, overflow="fold")
    for row in summary.rows:
        table.add_row(Text(wording.one_line(row.name)), _points(row), _noticed(row))
    console.print(Page(table), width=min(console.width, WIDEST), end="")
    console.print()
    console.print(Page(Text(count_rows(summary))), end="")


def count_rows(summary: Summary) -> str:
    """Return "40 submissions: 38 graded, 12 of them before; 2 could not be graded."."""
    total = len(summary.rows) + summary.pending
    kept = sum(row.kept for row in summary.rows)
    graded = f"{len(summary.rows) - summary.ungraded} graded"
    parts = [f"{graded}, {kept} of them before" if kept else graded]
    if summary.ungraded:
        parts.append(f"{summary.ungraded} could not be graded")
    if summary.pending:
        parts.append(f"{summary.pending} not yet graded")
    return f"{wording.count(total, 'submission')}: {'; '.join(parts)}."


def _points(row: Row) -> Text:
    if not row.graded:
        return Text("–", style="red")
    style = "green" if row.score >= row.max_score else "yellow" if row.score > 0 else "red"
    return Text(wording.points_of(row.score, row.max_score), style=style)


def _noticed(row: Row) -> Text:
    return Text(wording.one_line(row.noticed), style="" if row.graded else "red")
