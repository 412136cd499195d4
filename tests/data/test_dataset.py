"""What a notebook finds in its working folder is what torchvision reads, with no network."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.data.dataset import DataSet, builtin_data, no_data
from grader.language import foreign

from .conftest import CONV

# Runs in a process of its own, where the network is shut by an audit hook and every warning is an
# error. torchvision cannot be imported with PyTorch for CPUs before two operators are declared.
NOTEBOOK = """
import json, pickle, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(f"the notebook asked for the network: {event} {arguments}")

sys.addaudithook(refuse)
import numpy as np, torch
for name in ("nms", "qnms"):
    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    torch.library.define("torchvision::" + name, schema)
import torchvision

def load(train):
    return torchvision.datasets.FashionMNIST(
        "./data", download=True, train=train, transform=torchvision.transforms.ToTensor()
    )

test = load(train=False)
np.savez(
    "seen.npz",
    inputs=torch.stack([image for image, _ in test]).numpy(),
    labels=np.array([label for _, label in test]),
)
with open(sys.argv[1], "rb") as file:
    parameters = pickle.load(file)
print(json.dumps({
    "train": len(load(train=True)),
    "classes": test.classes,
    "parameters": {key: [str(value.dtype), *value.shape] for key, value in parameters.items()},
}))
"""


@pytest.fixture(scope="module")
def data() -> DataSet:
    return builtin_data(CONV, foreign("a test asked for it"))


@pytest.fixture(scope="module")
def seen(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a notebook sees that loads the staged files with torchvision and pickle."""
    folder = tmp_path_factory.mktemp("notebook")
    for name, content in data.staged_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", NOTEBOOK, CONV],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "seen.npz") as arrays:
        return {**json.loads(done.stdout), **arrays}


def test_torchvision_reads_the_staged_images(data: DataSet, seen: dict[str, Any]) -> None:
    """`download=True` finds all it looks for: the network is shut in that process."""
    assert seen["labels"].tolist() == data.labels[:400].tolist()
    assert seen["inputs"].shape == (400, 1, 28, 28)


@pytest.mark.parametrize("batch", [1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 80, 100, 200])
def test_batches_divide_the_staged_images(seen: dict[str, Any], batch: int) -> None:
    """A check over all batches ended a right notebook: `match_cast error (3 vs. 4)`."""
    assert 0 == len(seen["inputs"]) % batch == seen["train"] % batch


def test_inputs_are_those_of_to_tensor(data: DataSet, seen: dict[str, Any]) -> None:
    """Bit for bit, for every grey value there is."""
    assert len(np.unique(data.images[:400])) == 256
    assert data.inputs().dtype == seen["inputs"].dtype == np.float32
    assert data.inputs()[:400].tobytes() == seen["inputs"].tobytes()


def test_the_training_set_can_be_loaded_too(seen: dict[str, Any]) -> None:
    """torchvision cannot read empty files, so test images stand in for the training set."""
    assert seen["train"] == 800


def test_labels_mean_what_torchvision_says(seen: dict[str, Any]) -> None:
    from grader.data.drawing import CLASS_NAMES

    assert seen["classes"] == list(CLASS_NAMES)


def test_classes_have_names_where_there_are_images(data: DataSet, seen: dict[str, Any]) -> None:
    assert (seen["classes"], ()) == (list(data.classes), no_data().classes)


def test_a_notebook_unpickles_the_parameters(data: DataSet, seen: dict[str, Any]) -> None:
    expected = {key: ["float32", *value.shape] for key, value in data.parameters.items()}
    assert seen["parameters"] == expected


def test_staged_files_have_the_names_that_notebooks_use(data: DataSet) -> None:
    raw = "data/FashionMNIST/raw"
    assert set(data.staged_files()) == {
        f"{raw}/t10k-images-idx3-ubyte",
        f"{raw}/t10k-labels-idx1-ubyte",
        f"{raw}/train-images-idx3-ubyte",
        f"{raw}/train-labels-idx1-ubyte",
        CONV,
    }


def test_staged_parameters_are_the_oracles(data: DataSet) -> None:
    staged = pickle.loads(data.staged_files()[CONV])
    assert staged.keys() == data.parameters.keys()
    assert all(np.array_equal(staged[key], data.parameters[key]) for key in staged)


def test_the_arrays_cannot_be_written_to(data: DataSet) -> None:
    """Nothing that runs in the referee can change the answer by accident."""
    for array in (data.images, data.labels, *data.parameters.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_inputs_are_a_fresh_copy(data: DataSet) -> None:
    inputs = data.inputs()
    inputs[...] = 0
    assert data.inputs().any()


def test_real_images_are_staged_as_they_are(real: Path) -> None:
    """What is staged of a plain folder are its own images, as many as batches divide."""
    from grader.data.dataset import IMAGES, LABELS, find_files, read_files

    staged = read_files(find_files(real, CONV), CONV, foreign("from here")).staged_files()
    for path in (IMAGES, LABELS):
        if (real / path).is_file():
            own, header = (real / path).read_bytes(), 16 if path == IMAGES else 8
            assert own.startswith(staged[f"data/{path}"][header:], header)
