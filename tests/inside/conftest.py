"""TVM in the tests' process, set up as in a runner, and a sandbox for what must not be here."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM

from collections.abc import Iterator

import pytest
import torch

from grader.inside.runner.evaluation import Evaluator
from tests.inside.runner.evaluators import Nursery

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The process that evaluators are forked from."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def evaluator(nursery: Nursery) -> Iterator[Evaluator]:
    """An evaluator that can be asked."""
    with nursery.evaluator() as evaluator:
        yield evaluator
