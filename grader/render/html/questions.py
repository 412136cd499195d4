"""What a student asked about a grade and what was answered, beside the parts that it is about."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

from grader.language import say
from grader.render import wording
from grader.render.asking import AskAddress
from grader.render.final_grade import FinalGrade, ToldObjection, ToldReply
from grader.render.html.sections import ObjectionView, PartView, ReplyView
from grader.render.speech import tell
from grader.report import Report

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
    """Return the newest questions for which there is room, in order."""
    sizes = itertools.accumulate(map(_length, reversed(asked)))
    count = max(1, sum(size <= _ROOM for size in sizes))
    return asked[-count:]


def _length(asked: ToldObjection) -> int:
    texts = (asked.text, *(each.text for each in asked.replies[-_REPLIES:]))
    return sum(min(len(each.english), _TEXT) for each in texts)
