"""docs/security.md lists exactly the cheats that a weaker level does not stop."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.cheats.fixtures import ROOT, Cheat, all_cheats

TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (minimal|basic|container|strong) \| (`.*`) \|$", re.MULTILINE)
HEADINGS = ("| stopped from | attacks", "| stopped from, for root | attacks")


def listed(heading: str) -> dict[str, set[str]]:
    """Return the names in a table, by level."""
    table = TEXT.partition(heading)[2].partition("\n\n")[0]
    return {level: set(re.findall(r"`(\w+)`", names)) for level, names in ROW.findall(table)}


def declared(level_of: Callable[[Cheat], str | None]) -> dict[str, set[str]]:
    """Return the names of the cheats that say at which level they are stopped."""
    found: dict[str, set[str]] = {}
    for cheat in all_cheats():
        level = level_of(cheat)
        if level not in (None, "none"):
            found.setdefault(level, set()).add(cheat.name)
    return found


def test_what_a_user_s_sandbox_does_not_stop_is_documented() -> None:
    assert declared(lambda cheat: cheat.description.stops_at) == listed(HEADINGS[0])


def test_what_root_s_sandbox_does_not_stop_is_documented() -> None:
    assert declared(lambda cheat: cheat.description.stops_at_for_root) == listed(HEADINGS[1])
