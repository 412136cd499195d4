"""The example submissions of from-torch: code cells by name, written by build_notebooks.py."""

from __future__ import annotations

from mistakes_from_torch import MISTAKES
from unusual_from_torch import UNUSUAL

EXAMPLES: dict[str, tuple[str, ...]] = MISTAKES | UNUSUAL
