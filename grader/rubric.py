"""What a person marks: a part of kind manual, its rubric, and what the items that are chosen give.

All of it is arithmetic on exact numbers. Who has chosen what is in the gradebook.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated

import msgspec

from grader.computation import Slug
from grader.language import Text, foreign

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]

_HUNDREDTH = Decimal("0.01")
_NOTHING = Decimal(0)


class Titled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What has a title; `titles` has it in other languages, by code."""

    title: Annotated[str, msgspec.Meta(min_length=1)]
    titles: dict[str, str] = msgspec.field(default_factory=dict)

    def title_in(self, language: str) -> str:
        """Return the title in a language, in English where it is not translated."""
        return self.titles.get(language, self.title)

    @property
    def named(self) -> Text:
        """The title in all of its languages."""
        return foreign(self.title, self.titles)


class RubricItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item of a rubric: what is said of an answer, and its `points` or its `share` of the part.

    Points may be taken off: they are negative then. Of the items of a `group` one may be chosen.
    """

    id: Slug
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    points: Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)] | None = None
    share: Annotated[float, msgspec.Meta(ge=-1, le=1)] | None = None
    group: str = ""

    def __post_init__(self) -> None:
        if (self.points is None) == (self.share is None):
            raise ValueError(f"item {self.id} has either `points` or a `share`")

    @property
    def said(self) -> Text:
        """What it says, in all of its languages."""
        return foreign(self.text, self.texts)


class ManualTable(Titled, frozen=True, kw_only=True):
    """A part that a person marks: its points, its rubric, and where the answer stands.

    `answer` are what cells of the answer are called: the id of a cell, a tag of it, or a line in it
    that has nothing else, but for the signs of a comment. "answer-" and the part's id if none are
    given. A release has the part without its items. `question`, in Markdown, is shown beside the
    answer to whoever marks.
    """

    id: Slug
    points: Annotated[float, msgspec.Meta(gt=0, le=1e9)]
    item: tuple[RubricItem, ...] = ()
    answer: tuple[Word, ...] = ()
    question: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    questions: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if len({each.id for each in self.item}) != len(self.item):
            raise ValueError(f"two items of part {self.id} have the same id")
        most = float(self._most())
        if self.item and most < self.points - 1e-9:
            raise ValueError(
                f"the items of part {self.id} give {most:g} points at most, `points` says"
                f" {self.points:g}"
            )

    @property
    def asked(self) -> Text:
        """The question in all of its languages; empty where the file does not have it."""
        return foreign(self.question, self.questions)

    @property
    def names(self) -> tuple[str, ...]:
        """What cells of the answer are called."""
        return self.answer or (f"answer-{self.id}",)

    def worth(self, item: RubricItem) -> Decimal:
        """Return the points of an item, to a hundredth."""
        if item.points is not None:
            return exact(item.points)
        share = exact(self.points) * exact(item.share or 0.0)
        return share.quantize(_HUNDREDTH, ROUND_HALF_UP)

    def score(self, chosen: Iterable[str]) -> Decimal:
        """Return the points of the items with these ids: none below 0, no more than the part's.

        Raises ValueError for an item that there is not, and for two of one group.
        """
        items = self.items(chosen)
        total = sum(map(self.worth, items), _NOTHING)
        return min(max(total, _NOTHING), exact(self.points))

    def items(self, chosen: Iterable[str]) -> tuple[RubricItem, ...]:
        """Return the items with these ids, in the rubric's order. Raises ValueError."""
        wanted = set(chosen)
        items = tuple(each for each in self.item if each.id in wanted)
        groups = [each.group for each in items if each.group]
        if len(items) != len(wanted) or len(set(groups)) != len(groups):
            raise ValueError("these items cannot be chosen together")
        return items

    def is_answer(self, names: Iterable[str], source: str) -> bool:
        """Say whether a cell is of the answer: by its id and tags, or by a line of its text."""
        if set(names) & set(self.names):
            return True
        if not any(name in source for name in self.names):
            return False
        return any(_without_signs(line) in self.names for line in source.split("\n"))

    def _most(self) -> Decimal:
        groups: dict[str, Decimal] = {}
        for each in self.item:
            key = f"group {each.group}" if each.group else f"item {each.id}"
            groups[key] = max(groups.get(key, _NOTHING), self.worth(each))
        return sum(groups.values(), _NOTHING)


def _without_signs(line: str) -> str:
    """Return a line without the signs of a comment, of Python, Markdown or another language."""
    return line.strip().removeprefix("<!--").removesuffix("-->").lstrip("#/").strip()


def exact(points: float) -> Decimal:
    """Return points as they were written: 0.1 is a tenth."""
    return Decimal(repr(points)) + _NOTHING
