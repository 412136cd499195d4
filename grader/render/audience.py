"""What each audience may see of a report: the instructor everything, students what was chosen.

`visibility` in assignment.toml says of every check whether students see it. Everything that is
for students is made from what `shown` returns, so that no rendering decides that again. What is
taken out is also taken out of what would tell it: sums, the seed, and what explains a check.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from grader.language import NOTHING, Text, say
from grader.report import Check, Part, Report, Visibility

Audience = Literal["student", "instructor"]

KEPT_BACK = say("your-instructor-hides-some-checks-they")
LATER = say("some-them-shown")
POINTS_ONLY = say("for-some-checks-your-instructor-shows-only")

_COMPARING = frozenset({"equivalence"})
_SCHEDULING = frozenset({"schedule_steps", "target", "speed"})
_TIMING = frozenset({"speed"})
"""Kinds of checks that the diagnosis and the sample, the scripts, and the timing explain."""


def shown(report: Report, audience: Audience, now: datetime) -> Report:
    """Return what an audience may see of a report at a time, which has its offset from UTC.

    To the instructor that is the report itself. Students do not see hidden checks, nor those that
    are shown after the due date before it; without a due date there is no after. Parts without
    checks that they see are left out, and sums are over what is left. What is shown again is the
    same.
    """
    if audience == "instructor":
        return report
    due = _due(report)
    seen = _Seen(is_due=due is not None and now >= due)
    checks = [check for part in report.parts for check in part.checks]
    if all(seen.is_full(check) for check in checks):
        return report
    parts = tuple(
        _part(part, seen)
        for part in report.parts
        if not part.checks or any(map(seen.is_listed, part.checks))
    )
    fields = {} if all(map(seen.is_listed, checks)) else _sums(parts)
    return replace(
        report,
        parts=parts,
        notes=_notes(report, seen, checks, due),
        timing=report.timing if seen.explains(checks, _TIMING) else None,
        seed=0,
        **fields,
    )


class _Seen:
    def __init__(self, *, is_due: bool) -> None:
        self._full: set[Visibility] = {"visible", "after_due"} if is_due else {"visible"}

    def is_full(self, check: Check) -> bool:
        """Say whether a check is shown with its reason."""
        return check.visibility in self._full

    def is_listed(self, check: Check) -> bool:
        """Say whether a check is shown at all."""
        return self.is_full(check) or check.visibility == "score_only"

    def explains(self, checks: Iterable[Check], kinds: frozenset[str]) -> bool:
        """Say whether what explains checks of these kinds may be shown beside hidden ones.

        It may where there are such checks, and all of them are shown in full: otherwise it might be
        there for a hidden one alone. A check of unknown kind may be one of them.
        """
        explained = [check for check in checks if check.kind in kinds or not check.kind]
        return bool(explained) and all(map(self.is_full, explained))


def _due(report: Report) -> datetime | None:
    """Return when the assignment is due; None where the report says nothing, or nothing certain."""
    try:
        due = datetime.fromisoformat(report.assignment.due)
    except ValueError:
        return None
    return due if due.utcoffset() is not None else None


def _part(part: Part, seen: _Seen) -> Part:
    if all(map(seen.is_full, part.checks)):
        return part
    checks = tuple(_check(check, seen) for check in part.checks if seen.is_listed(check))
    compared = seen.explains(part.checks, _COMPARING)
    ran = all(seen.is_full(check) for check in part.checks if check.kind in _COMPARING)
    fields = {} if len(checks) == len(part.checks) else _sums(checks)
    return replace(
        part,
        checks=checks,
        contested=False,
        diagnosis=part.diagnosis if compared else None,
        sample=part.sample if compared else None,
        sections=tuple(
            each for each in part.sections if seen.explains(part.checks, frozenset(each.explains))
        ),
        scripts=part.scripts if ran and seen.explains(part.checks, _SCHEDULING) else None,
        **fields,
    )


def _check(check: Check, seen: _Seen) -> Check:
    return (
        check
        if seen.is_full(check)
        else replace(
            check,
            reason=NOTHING,
            hint=NOTHING,
            again=False,
            tells_diagnosis=False,
            code="undecided",
            share=None,
            interval=0.0,
            above=None,
        )
    )


def _sums(shown_ones: Iterable[Part | Check]) -> dict[str, float]:
    pairs = [(each.score, each.max_score) for each in shown_ones]
    return {
        "score": round(sum(score for score, _ in pairs), 6),
        "max_score": round(sum(most for _, most in pairs), 6),
    }


def _notes(
    report: Report, seen: _Seen, checks: list[Check], due: datetime | None
) -> tuple[Text, ...]:
    kept_back = {check.visibility for check in checks if not seen.is_listed(check)}
    said = []
    if kept_back:
        said.append(KEPT_BACK)
    if "after_due" in kept_back and due is not None:
        said.append(say(LATER, due=due.isoformat(" ", "minutes")))
    if any(seen.is_listed(check) and not seen.is_full(check) for check in checks):
        said.append(POINTS_ONLY)
    known = {note.in_(report.language) for note in report.notes}  # an earlier document's are words
    return (*report.notes, *(each for each in said if each.in_(report.language) not in known))
