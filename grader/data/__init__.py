"""The images and parameters that submissions are graded on: found, checked, or drawn.

`resolve_data` is the way in. docs/data.md says which folders it reads and in which order.
"""

from grader.data.dataset import DataSet
from grader.data.resolve import resolve_data

__all__ = ["DataSet", "resolve_data"]
