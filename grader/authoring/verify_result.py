"""What `grader verify` found out: one document, from which the table and the JSON are made."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.messages import Mutation

MutantVerdict = Literal["caught", "survived", "broken", "not_run"]


class Struct(msgspec.Struct, frozen=True):
    """Base of the document's tables."""


class Score(Struct, frozen=True):
    """What a part of a notebook got. `lost` says of each check that is not passed why not."""

    part: str
    score: float
    full: float
    lost: tuple[str, ...] = ()


class Mutant(Struct, frozen=True):
    """One mutant of the reference, and what became of it.

    It is "caught" when its part lost points, "survived" when not; "broken" when it was not a
    submission that could be judged, and "not_run" when that needs a time and none was taken.
    `checks` are the checks that it did not pass and the reference did. `advice` says, unless it was
    caught, what to do. `mutation` names what was changed in a module, for mutants that were made.
    """

    id: str
    part: str
    about: str
    declared: bool
    verdict: MutantVerdict
    score: float = 0.0
    full: float = 0.0
    checks: tuple[str, ...] = ()
    advice: str = ""
    mutation: Mutation | None = None


class Inapplicable(Struct, frozen=True):
    """A kind of mutant that a part does not have, and why."""

    part: str
    kind: str
    reason: str


class Range(Struct, frozen=True):
    """The outputs of one oracle.

    `low` and `high` bound all of them, `spread` is the median over the output's items of their
    standard deviation over inputs, `tolerance` the median of what is allowed at these items.
    """

    oracle: str
    inputs: int
    low: float
    high: float
    spread: float
    tolerance: float


class Verification(Struct, frozen=True):
    """Everything that was found. `problems` are sentences; without any, the assignment is sound.

    `timed` says whether speed was to be measured; what could not be measured is in `unmeasured`,
    what was left out in `notes`.
    """

    assignment: str
    version: int
    seed: int
    timed: bool
    seconds: float
    reference: tuple[Score, ...]
    template: tuple[Score, ...]
    mutants: tuple[Mutant, ...]
    inapplicable: tuple[Inapplicable, ...]
    oracles: tuple[Range, ...]
    problems: tuple[str, ...]
    unmeasured: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Say whether nothing is wrong with the assignment."""
        return not self.problems


def encode_verification(verification: Verification) -> bytes:
    """Return the document as JSON, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(verification), indent=2) + b"\n"
