"""The hot loops of what was timed, as numbers: where a schedule is slower than the reference.

The assembly is made anew from what was compiled, which costs as much as its machine code did, a
tenth of a second for each function. So it is read only where a difference is to be explained.
"""

import numpy as np
import numpy.typing as npt

from grader.hotloop import find_hot_loop
from grader.inside.runner.subjects import Subjects
from grader.messages.timing import HotLoop, HotLoops
from grader.timing.slices import BASELINE, REFERENCE, SUBMISSION


def read_hot_loops(shape: Subjects, lows: npt.NDArray[np.float64]) -> HotLoops:
    """Return the hot loops of a shape's functions, by how long their calls take (`Times.lows`).

    None are read where the submission is not slower than the reference, and the baseline's only
    where it is slower than that as well.
    """
    if lows[SUBMISSION] <= lows[REFERENCE]:
        return HotLoops()
    is_slower = lows[SUBMISSION] > lows[BASELINE]
    return HotLoops(
        unscheduled=_hot_loop(shape, BASELINE) if is_slower else None,
        submission=_hot_loop(shape, SUBMISSION),
        reference=_hot_loop(shape, REFERENCE),
    )


def _hot_loop(shape: Subjects, function: int) -> HotLoop | None:
    """Return a function's hot loop; None where LLVM prints no text, or there is none in it."""
    try:
        return find_hot_loop(shape.assembly(function))
    except (RuntimeError, ValueError):
        # a measurement that says something is not lost for want of its explanation
        return None
