"""Tests, in folders that are called as what they test."""

import gc

from grader.cli.app import ALLOCATIONS, spare_slow_imports

# Here, and not in conftest.py, whose own imports take a twelfth of the time to collect otherwise.
spare_slow_imports()
# Thousands of tests are no garbage: to look for some was a quarter of the time to collect them.
gc.set_threshold(ALLOCATIONS)
