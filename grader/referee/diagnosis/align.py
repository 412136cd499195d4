"""Which step of a student's function is the first that departs from the right ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Observed(NamedTuple):
    """One step of a student's function in one call: its variable, what was called, its value.

    `value` is None where the step was not reached or has no value. `takes` are the numbers of
    earlier steps that it is computed from, `takes_input` says that it takes an argument of the
    function directly. `dtype` is what the module computes in; `is_unwritten` says that what was
    called left its output as it was.
    """

    variable: str
    callee: str
    value: npt.NDArray[np.generic] | None
    takes: tuple[int, ...] = ()
    takes_input: bool = False
    dtype: str = "float32"
    is_unwritten: bool = False
