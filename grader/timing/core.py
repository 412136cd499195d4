"""When a core was free, by how much it did at once.

A program on the core's other hardware thread, which may be a stranger's on the same host, takes a
part of its arithmetic units. Nothing else shows it: the functions that are timed slow down by
different amounts, for seconds, and repeat themselves; the baseline equals its copy to 0.1%, and
one schedule got 5.4 to 9.8 of 15 points.

So there are three loops of additions before each block, and after the last. In the first and the
last of them each addition waits for the one before it: it takes a cycle, whoever else is there. In
the middle they are independent: a core with four units does four in a cycle, beside another program
two to three and a half. Their ratio needs no clock rate, and on a free core it is the number of
units: 3.97 of 4 (AMD's Genoa) and 4.91 of 5 (Intel's Emerald Rapids) were found, again and again.

The rate changes from one look to the next, and within one: an Intel core that has multiplied
vectors of 512 bits does 2.4 GHz, a microsecond later 2.8, then 3.0. Compared with the quickest
chain of its slice, five units were 4.5 to 5.25, and no core was ever free.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

BEFORE, WIDE, AFTER = range(3)
LOOPS: Final = 3
"""A chain, independent additions, and the chain once more."""

FREE = 0.98
"""A block whose ratio is so near the highest one had the core for itself. Under a neighbour it was
0.95 at the best, which slowed functions by a fiftieth, and 0.5 to 0.8 mostly."""

NEAR = 0.03
FEWEST_UNITS = 3
"""The highest ratio is a free core's if it is so near a whole number of units, or if nearly all are
alike. Two units are half of those of a core with four: a neighbour that always adds leaves so many.
"""

ALIKE = 0.9

QUICKEST = 5e-11
"""No addition that waits for another one is quicker than this, in seconds: four times the clock
rate of any core. A clock with steps of a millisecond says so, and that all looks are alike."""

NO_UNITS = 1e-9
"""Stands for units that the clock does not show."""

MOST_UNITS = 100.0
"""No core has so many. Chains that were both interrupted say that it has thousands."""


class Core(Protocol):
    """The loops of additions, in the thread that times."""

    def look(self, number: int) -> None:
        """Run all once, as the look of that number of a slice."""
        ...

    def units(self, looks: int) -> FloatArray:
        """Return how many units were free at each of the first looks."""
        ...


def units_of(looks: FloatArray) -> FloatArray:
    """Return how many units were free, by the seconds of an addition of each loop: (3, looks).

    Of the chains of a look the quicker counts: it was not interrupted, and has the clock rate at
    which the additions between them were done, or a higher one.
    """
    chain = np.minimum(looks[BEFORE], looks[AFTER])
    units = np.clip(chain / looks[WIDE], NO_UNITS, MOST_UNITS)
    return np.where(chain < QUICKEST, NO_UNITS, units)


def worse_of_both(units: FloatArray) -> FloatArray:
    """Return the fewer units of the looks before and after each block."""
    return np.minimum(units[:-1], units[1:])


def free_blocks(units: Sequence[FloatArray]) -> list[Mask]:
    """Say of each slice which of its blocks had the core for themselves.

    `units` has an array of each slice, of any shape: of each block `worse_of_both`.
    """
    every = np.concatenate([each.ravel() for each in units])
    highest = float(every.max())
    nearest = max(round(highest), FEWEST_UNITS)
    is_alike = float(np.mean(every >= FREE * highest)) >= ALIKE
    is_timed = float(every.min()) > NO_UNITS
    is_known = is_timed and (is_alike or abs(highest / nearest - 1) <= NEAR)
    return [(each >= FREE * highest) & is_known for each in units]
