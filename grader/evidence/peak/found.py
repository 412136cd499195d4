"""The memory that a module uses at its peak, and the limit that an assignment sets."""

from dataclasses import dataclass

from grader.assignment import PositiveInt, Table
from grader.evidence.peak.messages import Holder
from grader.evidence.plug import Gathered


class PeakOptions(Table, frozen=True):
    """`most` is how many bytes a module may hold at once, beside its arguments and its result."""

    most: PositiveInt


@dataclass(frozen=True)
class FoundPeak:
    """What a module holds at its peak: `between` the calls of `main`, and in the function that
    holds most. `bytes` is None where a size is decided at run time. `most` are allowed."""

    between: Holder | None
    largest: Holder | None
    most: int

    @property
    def bytes(self) -> int | None:
        """Return the bytes that are held at once at most."""
        held = [each.bytes for each in (self.between, self.largest) if each is not None]
        return sum(each or 0 for each in held) if None not in held else None


PEAK = Gathered[FoundPeak]("peak")
