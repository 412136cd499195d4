"""The base of the report's value objects."""

from __future__ import annotations

import msgspec


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the report's value objects."""
