"""What pages in a terminal are made of: a bar, and tables with a line below their heads alone."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from grader.render.wording import MARKS
from grader.report import StepStatus, Verdict

STYLES: Mapping[Verdict | StepStatus, str] = {
    "passed": "green", "partial": "yellow", "failed": "red", "not_graded": "yellow",
    "right": "green", "unknown": "yellow", "wrong": "red", "follows": "dim",
}  # fmt: skip

_ASCII = str.maketrans("✓✗–", "+x-")


def mark(kind: Verdict | StepStatus, options: ConsoleOptions) -> str:
    """Return the mark of a check or a step, in ASCII where the console knows nothing else."""
    return MARKS[kind].translate(_ASCII) if options.ascii_only else MARKS[kind]


class ShareBar:
    """A bar of at most `width` columns, filled up to `share` from 0 to 1; only 1 fills it."""

    def __init__(self, share: float, width: int) -> None:
        self.share = share
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        done, rest = ("#", "-") if options.ascii_only else ("━", "╌")
        width = min(self.width, options.max_width)
        filled = max(0, min(width, int(width * self.share)))
        yield Text.assemble((done * filled, "green"), (rest * (width - filled), "dim"))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, min(self.width, options.max_width))


def plain_table(*columns: str, **options: Any) -> Table:
    """Return a table without lines around it; these columns fold."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim", **options
    )
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    return table
