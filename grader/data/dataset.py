"""A data set, complete: test images, their labels and the model's parameters."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from grader.data.drawing import CLASS_NAMES
from grader.data.idx import write_idx
from grader.data.pickles import pickle_arrays
from grader.language import Text, say

DataSetName = Literal["Fashion-MNIST", "built-in", "none"]

_RAW = "data/FashionMNIST/raw"
_TRAINING_IMAGES = 800
_EVEN = (400, 100, 20, 4)
"""Numbers that usual batches divide: 400 is what those of up to a hundred have in common that
divide the ten thousand images of the real test set."""


class DataSet(msgspec.Struct, frozen=True, eq=False):
    """What a submission is compared on. The arrays cannot be written to.

    `images` is uint8 (n, 28, 28), `labels` uint8 (n,). `parameters` are float32 arrays under the
    names of the course's file, which notebooks open as `parameter_file`; both are empty when the
    assignment has no parameters. `detail` is a sentence for the report.
    """

    name: DataSetName
    detail: Text
    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]
    parameters: dict[str, npt.NDArray[np.float32]]
    parameter_file: str = ""

    def __post_init__(self) -> None:
        self.images.setflags(write=False)
        self.labels.setflags(write=False)
        for array in self.parameters.values():
            array.setflags(write=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the names of the classes, by label; none where there are no images."""
        return () if self.name == "none" else CLASS_NAMES

    def inputs(self) -> npt.NDArray[np.float32]:
        """Return the images as a model takes them, float32 (n, 1, 28, 28) in [0, 1].

        The values are those of torchvision's ToTensor bit for bit: float32(pixel) / float32(255).
        """
        inputs: npt.NDArray[np.float32] = self.images[:, None].astype(np.float32)
        inputs /= np.float32(255)
        return inputs

    def staged_files(self) -> dict[str, bytes]:
        """Return the files that a notebook expects in its working folder, by relative path.

        With them, `torchvision.datasets.FashionMNIST("./data", download=True)` finds all it looks
        for and leaves the network alone. That class wants training files too, and cannot read empty
        ones: the test images stand in for them, time and again. Of the test images there are as
        many as a notebook's batches divide: "match_cast error (3 vs. 4)" ended a right one's check.
        """
        if self.name == "none":
            return {}
        count = _even(len(self.images))
        training = np.arange(_TRAINING_IMAGES) % len(self.images)
        files = {
            f"{_RAW}/t10k-images-idx3-ubyte": write_idx(self.images[:count]),
            f"{_RAW}/t10k-labels-idx1-ubyte": write_idx(self.labels[:count]),
            f"{_RAW}/train-images-idx3-ubyte": write_idx(self.images[training]),
            f"{_RAW}/train-labels-idx1-ubyte": write_idx(self.labels[training]),
        }
        if self.parameter_file:
            files[self.parameter_file] = pickle_arrays(self.parameters)
        return files


def _even(count: int) -> int:
    """Return how many of so many images are a whole number of usual batches."""
    step = next((step for step in _EVEN if step <= count), 1)
    return count - count % step


def no_data() -> DataSet:
    """Return the data of an assignment that needs none."""
    images = np.empty((0, 28, 28), np.uint8)
    detail = say("The assignment needs no test images.")
    return DataSet("none", detail, images, np.empty(0, np.uint8), {})
