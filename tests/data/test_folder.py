"""A folder is read in every layout that docs/data.md names, and what is wrong with it is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from grader.data.dataset import IMAGES, LABELS, DataSet, find_files, read_files, write_idx
from grader.data.parameters import KNOWN
from grader.errors import DataError
from grader.language import foreign

from .conftest import CONV, MLP


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
