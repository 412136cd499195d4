"""What a notebook finds in its working folder is what torchvision reads, with no network."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.data.dataset import (
    IMAGES,
    LABELS,
    DataSet,
    builtin_data,
    find_files,
    no_data,
    read_files,
    write_idx,
)
from grader.data.parameters import KNOWN
from grader.errors import DataError
from grader.language import foreign

from .conftest import CONV, MLP

# Runs in a process of its own, where the network is shut by an audit hook and every warning is an
# error. torchvision cannot be imported with PyTorch for CPUs before two operators are declared.
NOTEBOOK = """
import json, pickle, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(f"the notebook asked for the network: {event} {arguments}")

sys.addaudithook(refuse)
import numpy as np, torch
from grader.inside.kernel.preload import provide_torchvision_operators

provide_torchvision_operators()
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
    from grader.data.dataset import CLASS_NAMES

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


# A folder is read in every layout that docs/data.md names, and what is wrong with it is named.


def read(folder: Path, parameters: str = CONV) -> DataSet:
    return read_files(find_files(folder, parameters), parameters, foreign("from here"))


def test_a_plain_folder_is_read(tiny: Path) -> None:
    found = read(tiny)
    assert found.name == "Fashion-MNIST"
    assert found.images[:, 3, 7].tolist() == [0, 1, 2, 3, 4]
    assert found.labels.tolist() == [0, 1, 2, 3, 4]
    assert found.parameters["conv2d_weight"].shape == (32, 1, 3, 3)


def test_gzipped_files_are_read(tiny: Path) -> None:
    for path in (tiny / IMAGES, tiny / LABELS):
        path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read(tiny).labels.tolist() == [0, 1, 2, 3, 4]


def test_parameters_may_lie_in_a_folder_of_their_own(tiny: Path) -> None:
    (tiny / "params").mkdir()
    name = Path(CONV).with_suffix(".npz").name
    (tiny / name).rename(tiny / "params" / name)
    assert read(tiny).parameters.keys() == KNOWN[CONV].shapes.keys()


def test_an_assignment_without_parameters_needs_none(tiny: Path) -> None:
    (tiny / CONV).with_suffix(".npz").unlink()
    found = read(tiny, "")
    assert found.parameters == {}
    assert CONV not in found.staged_files()


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (9_999, "9,999 test images from here, a part of the official 10,000."),
        (10_000, "All 10,000 test images from here."),
        (10_001, "10,001 test images from here, more than the official 10,000."),
    ],
)
def test_the_report_says_how_many_images_there_are(tiny: Path, count: int, sentence: str) -> None:
    (tiny / IMAGES).write_bytes(write_idx(np.zeros((count, 28, 28), np.uint8)))
    (tiny / LABELS).write_bytes(write_idx(np.zeros(count, np.uint8)))
    assert read(tiny).detail.english == sentence


def test_all_missing_files_are_named_at_once(tiny: Path) -> None:
    """Whoever sets a folder up learns everything in one run."""
    (tiny / LABELS).unlink()
    (tiny / CONV).with_suffix(".npz").unlink()
    with pytest.raises(DataError) as caught:
        read(tiny)
    assert f"{LABELS} and {CONV}" in caught.value.message.english
    assert f"{IMAGES}" not in caught.value.message.english
    assert "docs/data.md" in caught.value.hint.english


def test_more_labels_than_images_are_refused(tiny: Path) -> None:
    (tiny / LABELS).write_bytes(write_idx(np.zeros(6, np.uint8)))
    with pytest.raises(DataError, match=r"5 images.*6 labels"):
        read(tiny)


def test_an_unknown_pickle_is_refused_and_an_npz_beside_it_taken(tiny: Path) -> None:
    """Following the hint, which is to save a .npz file, mends it."""
    kept = (tiny / CONV).with_suffix(".npz").read_bytes()
    (tiny / CONV).with_suffix(".npz").unlink()
    (tiny / CONV).write_bytes(b"not the official file")
    with pytest.raises(DataError, match="unknown SHA-256"):
        read(tiny)
    (tiny / CONV).with_suffix(".npz").write_bytes(kept)
    assert read(tiny).parameters


def test_the_real_files_have_the_known_shapes(real: Path) -> None:
    """Both of the course's pickles pass the checksum, the unpickler and the check of shapes."""
    for name in (CONV, MLP):
        found = read(real, name)
        assert {key: value.shape for key, value in found.parameters.items()} == KNOWN[name].shapes
        assert len(found.images) > 1000
