"""What is found in a space of schedules, and what is asked of it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec

from grader.assignment import Table
from grader.evidence.plug import Gathered
from grader.evidence.search.messages import TRIAL_LIMIT


class SpaceOptions(Table, frozen=True):
    """`trials` schedules are drawn, and so many `different` programs asked for among them."""

    shared: ClassVar[tuple[str, ...]] = ("trials",)

    trials: Annotated[int, msgspec.Meta(ge=1, le=TRIAL_LIMIT)] = 16
    different: Annotated[int, msgspec.Meta(ge=2)] = 4

    def __post_init__(self) -> None:
        """Refuse to ask for more programs than are drawn."""
        if self.different > self.trials:
            raise ValueError(f"{self.different} different programs are more than are drawn")


@dataclass(frozen=True)
class Search:
    """What was drawn from a space of schedules. The candidate is the best of the trials.

    Of `trials` draws `failed` could not be done; the others gave `different` programs.
    """

    trials: int
    failed: int
    different: int


SEARCH = Gathered[Search]("search")
