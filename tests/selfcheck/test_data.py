"""Which data a live notebook is compared on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.assignment import DataNeeds
from grader.data.dataset import builtin_data, builtin_parameters, write_idx
from grader.data.folder import IMAGES, LABELS
from grader.data.parameters import pickle_arrays
from grader.errors import DataError
from grader.language import foreign
from grader.selfcheck.checker import notebook_data

NAME = "fasionmnist_mlp_assignment_params.pkl"
NEEDS = DataNeeds(parameters=NAME)
OFFLINE = {"GRADER_OFFLINE": "1", "GRADER_DATA": ""}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, on a machine without downloaded data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def put_images(folder: Path, count: int) -> None:
    for path, content in (
        (IMAGES, np.full((count, 28, 28), 7, np.uint8)),
        (LABELS, np.zeros(count, np.uint8)),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(write_idx(content))


def put_parameters(folder: Path, scale: float) -> None:
    arrays = {name: scale * array for name, array in builtin_parameters(NAME).items()}
    np.savez(folder / NAME.replace(".pkl", ".npz"), **arrays)


def test_an_assignment_without_data_has_none(folder: Path) -> None:
    assert "none" == notebook_data(DataNeeds("none"), folder, OFFLINE).name


def test_images_and_parameters_of_the_notebook_are_used(folder: Path) -> None:
    put_images(folder / "data", 5)
    put_parameters(folder, 2.0)
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert (5, 28, 28) == data.images.shape
    doubled = 2 * builtin_parameters(NAME)["conv2d_bias"]
    assert np.array_equal(doubled, data.parameters["conv2d_bias"])
    assert NAME == data.parameter_file


def test_images_may_lie_beside_the_notebook(folder: Path) -> None:
    put_images(folder, 3)
    assert 3 == len(notebook_data(DataNeeds(), folder, OFFLINE).images)


def test_parameters_of_the_notebook_count_with_other_images_too(folder: Path) -> None:
    put_parameters(folder, 3.0)
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert "built-in" == data.name
    tripled = 3 * builtin_parameters(NAME)["linear1_bias"]
    assert np.array_equal(tripled, data.parameters["linear1_bias"])


def test_images_without_the_parameters_are_not_enough(folder: Path) -> None:
    put_images(folder / "data", 5)
    assert "built-in" == notebook_data(NEEDS, folder, OFFLINE).name


def test_the_built_in_parameters_are_known_as_a_pickle(folder: Path) -> None:
    (folder / NAME).write_bytes(pickle_arrays(builtin_parameters(NAME)))
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert builtin_parameters(NAME).keys() == data.parameters.keys()


def test_an_unknown_pickle_is_not_opened(folder: Path) -> None:
    (folder / NAME).write_bytes(pickle_arrays({"w": np.zeros(3, np.float32)}))
    with pytest.raises(DataError, match="unknown SHA-256"):
        notebook_data(NEEDS, folder, OFFLINE)


def test_a_folder_that_was_named_counts_more(folder: Path) -> None:
    put_images(folder / "data", 5)
    put_parameters(folder, 2.0)
    data = notebook_data(NEEDS, folder, {"GRADER_DATA": "builtin"})
    assert len(builtin_data(NAME, foreign("")).images) == len(data.images)
