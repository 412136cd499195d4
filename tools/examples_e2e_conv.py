"""All example submissions of e2e-conv: a name maps to the code cells of a notebook.

What each must get is in `examples/e2e-conv/<name>.verdict.toml`.
"""

from __future__ import annotations

from habits_e2e_conv import HABITS
from mistakes_e2e_conv import MISTAKES
from unusual_e2e_conv import UNUSUAL

EXAMPLES: dict[str, tuple[str, ...]] = {**MISTAKES, **UNUSUAL, **HABITS}
