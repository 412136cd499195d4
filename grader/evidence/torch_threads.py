"""How many threads PyTorch computes on: one, unless somebody asks for more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread for a while.

    Its default, on a machine that others use too, takes up to a hundred times as long for small
    tensors: threads that wait for each other spin.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
