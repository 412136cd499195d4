"""PyTorch gets its threads back."""

from __future__ import annotations

import pytest
import torch

from grader.evidence.operations import one_thread


def test_one_thread_and_then_as_many_as_before() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with one_thread():
            assert 1 == torch.get_num_threads()
        assert 3 == torch.get_num_threads()
        with pytest.raises(ZeroDivisionError), one_thread():
            _ = 1 / 0
        assert 3 == torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
