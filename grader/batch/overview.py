"""The overview of a batch for the terminal: a table with one row for each submission."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.batch.summary import Row, Summary
from grader.render import wording
from grader.render.terminal import WIDEST, Page

NAMED = 5
"""So many submissions of a rarer assignment are named; the table has them all."""


def render_overview(summary: Summary, console: Console) -> None:
    """Print the rows of a batch, and in a sentence how many there are of which kind."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True, header_style="dim"
    )
    table.add_column("Submission", ratio=2, overflow="fold")
    table.add_column("Assignment", overflow="fold")
    table.add_column("Points", justify="right", no_wrap=True)
    table.add_column("Noticed", ratio=3, overflow="fold")
    for row in summary.rows:
        table.add_row(
            Text(wording.one_line(row.name)), Text(row.assignment), _points(row), _noticed(row)
        )
    console.print(Page(table), width=min(console.width, WIDEST), end="")
    console.print()
    console.print(Page(Text(count_rows(summary))), end="")
    for text in filter(None, (mixture(summary),)):
        console.print(Page(Text(text, style="yellow")), end="")


def mixture(summary: Summary) -> str:
    """Warn where students chose between assignments, who may have chosen the easier one.

    Empty where there is nothing to warn of.
    """
    most, *others = summary.assignments.items() or [("", 0)]
    if not others:
        return ""
    counted = ", ".join(f"{slug} ({count})" for slug, count in (most, *others))
    odd = [row for row in summary.rows if row.graded and row.assignment != most[0]]
    named = "; ".join(
        f"{wording.one_line(row.name)} is {row.assignment} by its {row.chosen_by}"
        for row in odd[:NAMED]
    )
    more = f"; and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    return (
        f"Assignments are mixed: {counted}. {named}{more}. What a notebook says of itself is the"
        " student's to change: name the assignment with --assignment SLUG."
    )


def count_rows(summary: Summary) -> str:
    """Return "40 submissions: 38 graded, 12 of them before; 2 could not be graded."."""
    total = len(summary.rows) + summary.pending
    kept = sum(row.kept for row in summary.rows)
    graded = f"{len(summary.rows) - summary.ungraded} graded"
    parts = [f"{graded}, {kept} of them before" if kept else graded]
    again = sum(row.again for row in summary.rows)
    if again:
        parts.append(f"{again} to be graded again")
    if summary.ungraded:
        parts.append(f"{summary.ungraded} could not be graded")
    if summary.misplaced:
        parts.append(f"{wording.count(summary.misplaced, 'report')} not in the folder of reports")
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
