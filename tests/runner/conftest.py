"""TVM in the tests' process, set up as in a runner, and a sandbox for what must not be here."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

import torch

torch.set_num_threads(1)
