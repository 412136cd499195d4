"""All example submissions of e2e-mlp: a name maps to the code cells of a notebook.

What each must get is in `examples/e2e-mlp/<name>.verdict.toml`.
"""

from __future__ import annotations

from mistakes_e2e_mlp import MISTAKES
from unusual_e2e_mlp import UNUSUAL

EXAMPLES: dict[str, tuple[str, ...]] = {**MISTAKES, **UNUSUAL}
