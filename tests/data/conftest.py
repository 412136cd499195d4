"""Small data sets in folders, and the real one where there is one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from grader.assignment import DataNeeds
from grader.data.dataset import IMAGES, LABELS, write_idx
from grader.language import NOTHING, Text
from tests.missing import NO_REAL_DATA, real_data

CONV = "fasionmnist_mlp_assignment_params.pkl"
MLP = "fasionmnist_mlp_params.pkl"


class Recorder:
    """A Progress that keeps what it is told."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.steps: list[tuple[int, int, str]] = []

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self.stages.append(name.english)

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        self.steps.append((done, total, label.english))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def needs() -> DataNeeds:
    """What assignment e2e-conv needs."""
    return DataNeeds(parameters=CONV)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A data folder with five images whose pixels all hold their label, and parameters as .npz."""
    folder = tmp_path / "tiny"
    (folder / IMAGES).parent.mkdir(parents=True)
    labels = np.arange(5, dtype=np.uint8)
    images = np.broadcast_to(labels[:, None, None], (5, 28, 28))
    (folder / IMAGES).write_bytes(write_idx(images))
    (folder / LABELS).write_bytes(write_idx(labels))
    asset = files("grader.data") / "assets" / "e2e_conv.npz"
    (folder / CONV).with_suffix(".npz").write_bytes(asset.read_bytes())
    return folder


@pytest.fixture
def real() -> Path:
    """The folder with real images that GRADER_DATA names."""
    folder = real_data()
    if folder is None:
        pytest.skip(NO_REAL_DATA)
    return folder
