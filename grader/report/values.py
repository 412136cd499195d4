"""What all value objects of a report have in common."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.language import NOTHING, Text

Verdict = Literal["passed", "partial", "failed", "not_graded"]


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the report's value objects."""


def nothing() -> Text:
    """Return what a text is by default. A function, as the schema has no form for a value of it."""
    return NOTHING
