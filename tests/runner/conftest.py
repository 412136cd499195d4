"""TVM in the tests' process, set up as in a runner, and a sandbox for what must not be here."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import pytest
import torch

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Sandbox

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox that this machine offers."""
    return choose_sandbox()
