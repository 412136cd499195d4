"""What kinds of evidence show of a part, on a page: the blocks as the template wants them."""

from __future__ import annotations

from typing import NamedTuple

from grader.render import evidence
from grader.render.speech import tell
from grader.report import Bar, Bars, Block, Grid, Listing, Paragraph, Section


class BarView(NamedTuple):
    """A bar: its name, its share of the width in percent, and its number in words."""

    label: str
    share: float
    text: str
    verdict: str


class BlockView(NamedTuple):
    """One block; what its `kind` does not have is empty."""

    kind: str
    text: str = ""
    bars: tuple[BarView, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class EvidenceView(NamedTuple):
    """A section of a part."""

    title: str
    blocks: tuple[BlockView, ...]


def evidence_view(section: Section) -> EvidenceView:
    """Return a section."""
    return EvidenceView(tell(section.title), tuple(map(_block, section.blocks)))


def _block(block: Block) -> BlockView:
    if isinstance(block, Paragraph):
        return BlockView("paragraph", tell(block.text))
    if isinstance(block, Bars):
        return BlockView("bars", bars=_bars(block))
    if isinstance(block, Grid):
        return _grid(block)
    assert isinstance(block, Listing)
    return BlockView("listing", evidence.code_of(block))


def _bars(bars: Bars) -> tuple[BarView, ...]:
    limit = evidence.limit_row(bars)
    rows = [_bar(each, bars, each.verdict or "own") for each in bars.bars]
    rows += [] if limit is None else [_bar(limit, bars, "pytorch")._replace(text="")]
    return tuple(rows)


def _bar(bar: Bar, bars: Bars, verdict: str) -> BarView:
    share = round(100 * evidence.share_of(bar.value, bars), 2)
    return BarView(tell(bar.label), share, tell(bar.text), verdict)


def _grid(grid: Grid) -> BlockView:
    head = tuple(map(tell, grid.head))
    rows = tuple(tuple(map(tell, row[: len(head)])) for row in grid.rows)
    return BlockView("grid", head=head, rows=rows)
