"""TVM's tensors as NumPy arrays, of every dtype that messages carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.messages import number_type
from grader.messages.frames import BFLOAT16


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """Return a writable view of a tensor of the CPU.

    Raises RuntimeError where NumPy has no such dtype, and neither has ml_dtypes.
    """
    if str(tensor.dtype) != BFLOAT16:
        return np.from_dlpack(tensor)
    # NumPy refuses bfloat16 of others, though it can hold it: the same bytes under another name.
    bits = np.from_dlpack(tensor._create_view(list(tensor.shape), "uint16"))
    return bits.view(number_type(BFLOAT16))
