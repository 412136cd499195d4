"""What timed calls have left, for the referee to compare with what is right."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.messages.frames import Array, Count

SLICE_LIMIT = 10_000
"""Most slices of one measurement."""


class Slots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item of the output of each of some calls, all three of one length.

    `inputs` (int32) says which of the task's inputs a call was given, `places` (int32) which item
    of its output, counted through, and `values` what was there after the call. Something
    else had been put there before.
    """

    inputs: Array
    places: Array
    values: Array


class ShapeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is the same in all slices of a shape, and outputs of the submission's timed calls.

    A block has `calls` calls. `outputs` has shape (kept, *output shape); `inputs` says for each of
    them which of the task's inputs it was computed from. `slots` are those of calls of all slices.
    """

    calls: Annotated[int, msgspec.Meta(ge=1)]
    outputs: Array
    inputs: Annotated[tuple[Count, ...], msgspec.Meta(max_length=SLICE_LIMIT)]
    slots: Slots
