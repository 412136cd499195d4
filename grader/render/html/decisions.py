"""What a person decided of a part, as the page shows it: a row for each item, like its checks."""

from __future__ import annotations

from typing import Final

from grader.language import Text, say
from grader.render import wording
from grader.render.final_grade import DecidedPart, Decision, DecisionItem
from grader.render.html.sections import CheckGroup, CheckView, PartView
from grader.render.speech import tell
from grader.report import Verdict

_MARKED, _BY = say("this-part-marked-by-hand"), say("marked-by-hand")
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
    return CheckView(verdict, mark, tell(_BY), _one_line(item.text), _points(item))


def _verdict(item: DecisionItem) -> Verdict:
    """Return as a verdict whether points are given, taken, or neither."""
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
