"""What the hot loops of timed functions do, as counted in their machine code."""

from __future__ import annotations

from typing import Annotated

import msgspec

MOST_COUNTED = 10**6
"""Most of anything that is counted in a round of a loop: its text has fewer lines."""

_Counted = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNTED)]
_Some = Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNTED)]


class HotLoop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one round of a function's hot loop does.

    `multiply_adds` are instructions, one for a product and its sum; `products` are the numbers that
    they multiply: 0 where only the processor knows how long its vectors are, as for SVE.
    `vector_bits` is the widest of them, that of one number where they have no vectors.

    `loads` and `stores` are numbers and vectors that are read from memory and written to it, apart
    from those at fixed places of the stack: `spills` are vectors that are put there, for want of
    registers or as items of a small array, and `reloads` vectors that are fetched from there.
    """

    multiply_adds: _Some
    products: _Counted
    vector_bits: Annotated[int, msgspec.Meta(ge=0, le=4096)]
    loads: _Counted
    stores: _Counted
    spills: _Counted
    reloads: _Counted


class HotLoops(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hot loops of what was timed at the first shape: None where none was found."""

    unscheduled: HotLoop | None = None
    submission: HotLoop | None = None
    reference: HotLoop | None = None
