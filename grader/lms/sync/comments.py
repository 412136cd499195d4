"""What students read beside a grade.

A comment with a page has no points: those are in the gradebook there. By LTI there is no page, and
the comment has the points of the parts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from grader.gradebook.entries import PartPoints, show
from grader.language import Text, foreign, in_clauses, say

COMMENT = say("feedback-autograder-attached-as-page")

_TAGS = re.compile(r"<[^>]*>")


def plain(text: str) -> str:
    """Return a comment as it is compared: systems put tags around it, and escape what it says."""
    return " ".join(html.unescape(_TAGS.sub(" ", text)).split())


def parts_comment(parts: Iterable[PartPoints], titles: Mapping[str, Text], points: Decimal) -> Text:
    """Return the points of the parts, and whether they are those of the grade."""
    parts = tuple(parts)
    told = in_clauses(
        say(
            "part-points-of-possible",
            part=titles.get(each.id, foreign(each.id)),
            points=show(each.score),
            possible=show(each.max_score),
        )
        for each in parts
    )
    if sum(each.score for each in parts) == points:
        return say("points-by-part", parts=told)
    return say("points-by-part-before-penalties", parts=told)
