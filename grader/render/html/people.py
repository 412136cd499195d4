"""What people say beside a part's checks: what a marker decided, and what a student asked."""

import itertools
from collections.abc import Iterable
from typing import Final

from grader.language import Text, say
from grader.render import wording
from grader.render.asking import AskAddress
from grader.render.final_grade import (
    DecidedPart,
    Decision,
    DecisionItem,
    FinalGrade,
    ToldObjection,
    ToldReply,
)
from grader.render.html.sections import CheckGroup, CheckView, ObjectionView, PartView, ReplyView
from grader.render.speech import tell
from grader.report import Report, Verdict

_MARKED, _MARKED_BY = say("this-part-marked-by-hand"), say("marked-by-hand")
_NO_ITEM = say("no-rubric-item-chosen")

_REASON, _COMMENT = 2_000, 4_000
"""Characters of an item, which may be a reason that somebody wrote, and of a comment."""

_SIGNS: Final[dict[Verdict, str]] = {
    "passed": "+",
    "failed": "−",
    "not_graded": "–",
}


def with_decisions(view: PartView, decided: DecidedPart | None) -> PartView:
    """Return a part with what a person decided of it, below what its checks say."""
    if decided is None:
        return view
    groups = tuple(map(_group, decided.decisions))
    origin = view.origin or (tell(_MARKED) if decided.is_marked else "")
    return view._replace(groups=(*view.groups, *groups), origin=origin)


def _group(decision: Decision) -> CheckGroup:
    items = decision.items or (DecisionItem(_NO_ITEM),)
    comment = wording.plain(decision.comment, _COMMENT)
    return CheckGroup(tuple(map(_row, items)), reason=comment, hint="")


def _row(item: DecisionItem) -> CheckView:
    verdict = _verdict(item)
    mark = _SIGNS[verdict] if item.factor is None else "×"
    return CheckView(verdict, mark, tell(_MARKED_BY), _one_line(item.text), _points(item))


def _verdict(item: DecisionItem) -> Verdict:
    change = item.points or 0.0 if item.factor is None else item.factor - 1
    return "passed" if change > 0 else "failed" if change < 0 else "not_graded"


def _points(item: DecisionItem) -> str:
    if item.factor is not None:
        return f"× {item.factor:g}"
    if item.points is None:
        return ""
    return f"{'-' if item.points < 0 else '+'}{wording.points(abs(item.points))}"


def _one_line(text: Text) -> str:
    return wording.one_line(wording.plain(text, _REASON))


# What a student asked about a grade, and what was answered.

_REPLIES: Final = 3
"""So many replies to a question are shown: the newest."""

_ROOM: Final = 10_000
"""Characters of the questions that stand together. The newest is shown however long it is."""

_TEXT, _WHO = 4_000, 100
_BY, _BY_WITH_POINTS = say("who-time"), say("who-time-points")


class Questions:
    """The questions of a page. Those about no part of the report are `general`."""

    def __init__(self, report: Report, final: FinalGrade | None, ask: AskAddress | None) -> None:
        parts = {each.id for each in report.parts}
        self._ask, self._is_told = ask, final is not None and final.is_told
        self._asked: tuple[ToldObjection, ...] = () if final is None else final.objections
        self.address = "" if ask is None else ask.of()
        general = [each for each in self._asked if each.part not in parts]
        self.general = self._views(general)

    def beside(self, view: PartView, part: str) -> PartView:
        """Return a part with what was asked about it, and where to ask."""
        own = self._views(each for each in self._asked if each.part == part)
        return view._replace(objections=own, ask="" if self._ask is None else self._ask.of(part))

    def _views(self, asked: Iterable[ToldObjection]) -> tuple[ObjectionView, ...]:
        return tuple(map(self._view, _newest([*asked])))

    def _view(self, asked: ToldObjection) -> ObjectionView:
        replies = tuple(map(self._reply, asked.replies[-_REPLIES:]))
        return ObjectionView(asked.time, wording.plain(asked.text, _TEXT), replies)

    def _reply(self, reply: ToldReply) -> ReplyView:
        who = wording.one_line(wording.plain(reply.who, _WHO))
        by = tell(_BY, who=who, time=reply.time)
        if reply.points and self._is_told:
            sign = "-" if reply.points < 0 else "+"
            points = f"{sign}{wording.points(abs(reply.points))}"
            by = tell(_BY_WITH_POINTS, who=who, time=reply.time, points=points)
        return ReplyView(by, wording.plain(reply.text, _TEXT))


def _newest(asked: list[ToldObjection]) -> list[ToldObjection]:
    sizes = itertools.accumulate(map(_length, reversed(asked)))
    count = max(1, sum(size <= _ROOM for size in sizes))
    return asked[-count:]


def _length(asked: ToldObjection) -> int:
    texts = (asked.text, *(each.text for each in asked.replies[-_REPLIES:]))
    return sum(min(len(each.english), _TEXT) for each in texts)
