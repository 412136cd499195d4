"""What kinds of evidence show of a part, in a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.render import wording
from grader.render.pieces import STYLES, ShareBar, plain_table
from grader.report import Bar, Bars, Block, Grid, Listing, Paragraph, Section

CODE_LINES = 200
CODE_CHARACTERS = 20_000
"""How much of a listing is shown at most."""

_BAR_WIDTH = 30


def share_of(value: float, bars: Bars) -> float:
    """Return how much of the whole width a value takes, from 0 to 1."""
    return max(0.0, min(1.0, value / bars.most))


def limit_row(bars: Bars) -> Bar | None:
    """Return the limit of bars as a separate bar, None where there is none."""
    if bars.limit is None or not bars.limit_text:
        return None
    return Bar(bars.limit_text, bars.limit, bars.limit_text)


def code_of(listing: Listing) -> str:
    """Return a listing's code, printable and bounded."""
    return wording.plain(listing.code, CODE_CHARACTERS, CODE_LINES)


def evidence_section(section: Section) -> RenderableType:
    """Return a section for a terminal."""
    rows: list[RenderableType] = [Text(), Text(wording.one_line(section.title), style="bold")]
    for each in section.blocks:
        rows += _block(each)
    return Group(*rows)


def _block(block: Block) -> Iterator[RenderableType]:
    if isinstance(block, Paragraph):
        yield Text(wording.plain(block.text))
    elif isinstance(block, Bars):
        yield Padding(_bars(block), (1, 0, 0, 0))
    elif isinstance(block, Grid):
        yield Padding(_grid(block), (1, 0, 0, 0))
    else:
        yield Padding(Text(code_of(block)), (1, 0, 0, 2))


def _bars(bars: Bars) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", overflow="fold")
    for each in bars.bars:
        style = "" if each.verdict is None else STYLES[each.verdict]
        told = Text(wording.one_line(each.text), style=style)
        bar = ShareBar(share_of(each.value, bars), _BAR_WIDTH)
        grid.add_row(Text(wording.one_line(each.label)), bar, told)
    limit = limit_row(bars)
    if limit is not None:
        bar = ShareBar(share_of(limit.value, bars), _BAR_WIDTH)
        grid.add_row(Text(wording.one_line(limit.text), style="dim"), bar, Text())
    return grid


def _grid(grid: Grid) -> Table:
    table = plain_table(*map(wording.one_line, grid.head))
    for row in grid.rows:
        table.add_row(*(Text(wording.one_line(cell)) for cell in row[: len(grid.head)]))
    return table
