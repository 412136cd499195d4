"""Real modules, built once: TVM runs in the test process and nowhere in the code under test."""

from __future__ import annotations

import os

os.environ["TVM_BIND_THREADS"] = "0"
os.environ["TVM_NUM_THREADS"] = "1"

import pytest

from tests.ir import attacks, modules


@pytest.fixture(scope="session")
def honest() -> dict[str, bytes]:
    """Documents of modules as students write and import them, by a name."""
    return modules.all_documents()


@pytest.fixture(scope="session")
def hostile() -> dict[str, bytes]:
    """Documents of modules that ask for more than arithmetic, by a name."""
    return attacks.all_documents()


@pytest.fixture(scope="session")
def conv() -> bytes:
    """The convolutional classifier of the assignment, built with emit_te."""
    return modules.save(modules.conv_model())


@pytest.fixture(scope="session")
def product() -> bytes:
    """A small module of one PrimFunc: a matrix product and a relu."""
    return modules.save(modules.product_module())
