"""Shuffles: threads of a warp hand each other values, without memory and without a barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.evidence.gpu.inside.poison import poison_of
from grader.evidence.gpu.inside.state import State, Values
from grader.evidence.gpu.inside.traffic import WARP

Lanes = npt.NDArray[np.int64]
Choose = Callable[[Lanes, Any, Any], Any]
"""The lane that is asked, by the own one, what the caller gives, and the width of a group."""


def _direct(lane: Lanes, asked: Any, width: Any) -> Any:
    return lane // width * width + asked % width


def _up(lane: Lanes, delta: Any, width: Any) -> Any:
    return np.where(lane % width >= delta, lane - delta, lane)


def _down(lane: Lanes, delta: Any, width: Any) -> Any:
    return np.where(lane % width + delta < width, lane + delta, lane)


def _xor(lane: Lanes, mask: Any, width: Any) -> Any:
    other = lane ^ mask
    return np.where(other // width <= lane // width, other, lane)


SHUFFLES: dict[str, Choose] = {
    "tirx.tvm_warp_shuffle": _direct,
    "tirx.tvm_warp_shuffle_up": _up,
    "tirx.tvm_warp_shuffle_down": _down,
    "tirx.tvm_warp_shuffle_xor": _xor,
}
"""As CUDA's `__shfl_sync`, `__shfl_up_sync`, `__shfl_down_sync` and `__shfl_xor_sync`."""

ACTIVE = "tirx.tvm_warp_activemask"


def shuffle(state: State, choose: Choose, value: Values, asked: Values, width: Values) -> Values:
    """Return for each thread what another one of its warp has.

    Where that one takes no part, or there is none, it is poison: on a GPU it is undefined.
    """
    whole = state.whole(value)
    threads = np.arange(state.shape[1])
    lane = np.broadcast_to(threads % WARP, state.shape)
    source = threads // WARP * WARP + choose(lane, state.whole(asked), state.whole(width))
    beyond = (source < 0) | (source >= state.shape[1])
    source = np.where(beyond, 0, source)
    found = np.take_along_axis(whole, source, axis=1)
    if state.mask is not None:
        beyond = beyond | ~np.take_along_axis(state.mask, source, axis=1)
    return np.where(beyond, poison_of(whole.dtype), found) if beyond.any() else found
