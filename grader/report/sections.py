"""What a report shows of a kind of evidence: a small tree of blocks, which every renderer draws.

A kind says here what is to be seen. How that looks in a terminal, on a page, in Markdown is said
once, for all kinds.
"""

from __future__ import annotations

import msgspec
from msgspec import field

from grader.language import Text
from grader.report.values import Frozen, Verdict, nothing


class Paragraph(Frozen, frozen=True, tag="paragraph"):
    """Sentences."""

    text: Text


class Bar(Frozen, frozen=True):
    """A bar of a chart: what it is of, how long it is, and that number in words.

    `verdict` colours it; it is empty where a bar is neither good nor bad.
    """

    label: Text
    value: float
    text: Text
    verdict: Verdict | None = None


class Bars(Frozen, frozen=True, tag="bars"):
    """Bars from 0 on one scale. At `limit` stands a mark, of which `limit_text` says what it is."""

    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_text: Text = field(default_factory=nothing)

    @property
    def most(self) -> float:
        """What the whole width stands for: the longest bar, or the limit. Never 0."""
        return max(1e-300, self.limit or 0.0, *(each.value for each in self.bars))


class Grid(Frozen, frozen=True, tag="grid"):
    """A table: what stands above its columns, and its rows. Names are foreign texts."""

    head: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


class Listing(Frozen, frozen=True, tag="listing"):
    """Code as it is, with its lines."""

    code: str


Block = Paragraph | Bars | Grid | Listing


class Section(Frozen, frozen=True):
    """What a part's page shows of a kind of evidence.

    `figures` are the same facts for programs. `kind` is the folder of `grader/evidence/` that it
    is of, `explains` are the kinds of checks that are decided by it: a student sees the section who
    sees all of those. Both are filled in by whoever shows it.
    """

    title: Text
    blocks: tuple[Block, ...]
    figures: dict[str, int | float | str] = field(default_factory=dict)
    kind: str = ""
    explains: tuple[str, ...] = ()

    def explaining(self, kind: str, checks: tuple[str, ...]) -> Section:
        """Return the section of a kind of evidence, by which these kinds of checks are decided."""
        return msgspec.structs.replace(self, kind=kind, explains=checks)
