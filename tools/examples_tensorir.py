"""All example submissions of tensorir: a name maps to the code cells of a notebook.

What each must get is in `examples/tensorir/<name>.verdict.toml`.
"""

from __future__ import annotations

from mistakes_tensorir import MISTAKES
from unusual_tensorir import UNUSUAL

EXAMPLES: dict[str, tuple[str, ...]] = {**MISTAKES, **UNUSUAL}
