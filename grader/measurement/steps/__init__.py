"""What each step of a schedule brought: its beginnings, timed beside one another after the points.

`prefixes` chooses them, `gather` has them measured, `read` makes factors of the times.
"""

from grader.measurement.steps.prefixes import Prefix, choose_prefixes

__all__ = ["Prefix", "choose_prefixes"]
