"""Parameter files are accepted with the right names, shapes and dtype only."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.data import parameters as parameters_module
from grader.data.parameters import KNOWN, accepted_names, decode_parameters, pickle_arrays
from grader.errors import DataError

MLP = "fasionmnist_mlp_params.pkl"


def mlp_arrays() -> dict[str, np.ndarray[Any, Any]]:
    return {key: np.ones(shape, np.float32) for key, shape in KNOWN[MLP].shapes.items()}


def npz(arrays: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def test_an_npz_may_stand_in_for_a_known_file() -> None:
    """Arrays keep the names, shapes and dtype of the course's file."""
    found = decode_parameters(npz(mlp_arrays()), "fasionmnist_mlp_params.npz", MLP)
    assert {key: value.shape for key, value in found.items()} == KNOWN[MLP].shapes
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}


def test_parameters_of_another_name_may_have_any_shape() -> None:
    """An instructor's own assignment is not bound to the course's models."""
    found = decode_parameters(npz({"scale": np.float32(2)}), "mine.npz", "mine.pkl")
    assert found["scale"].shape == ()


def test_the_npz_is_looked_for_first() -> None:
    assert accepted_names("mine.pkl") == ("mine.npz", "mine.pkl")


def test_a_pickle_of_another_name_is_refused() -> None:
    with pytest.raises(DataError, match="unknown SHA-256"):
        decode_parameters(pickle_arrays(mlp_arrays()), "mine.pkl", "mine.pkl")


def test_a_pickle_of_a_known_name_and_other_content_is_refused() -> None:
    with pytest.raises(DataError, match="unknown SHA-256"):
        decode_parameters(pickle_arrays(mlp_arrays()), MLP, MLP)


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"b0": np.ones((1, 128), np.float32)}, r"b0 in .* has the shape \(1, 128\)"),
        ({"b0": np.ones(128)}, "of type float64"),
        ({"b0": np.full(128, np.nan, np.float32)}, "not finite"),
        ({"b0": np.array([None] * 128)}, "not a whole .npz"),
        ({"b0": None}, "lacks the array b0"),
    ],
)
def test_wrong_arrays_are_refused(change: dict[str, Any], phrase: str) -> None:
    """Shape, dtype, finiteness and presence are checked; objects are never loaded."""
    arrays = {**mlp_arrays(), **change}
    content = npz({key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(DataError, match=phrase):
        decode_parameters(content, "fasionmnist_mlp_params.npz", MLP)


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    """The index is read before anything is unpacked."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.npy", bytes(parameters_module.BYTE_LIMIT + 1))
    with pytest.raises(DataError, match="unpacks to more"):
        decode_parameters(content.getvalue(), "mine.npz", "mine.pkl")


SMALL = npz({"w": np.arange(4, dtype=np.float32)})


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_arbitrary_bytes_raise_nothing_but_data_errors(content: bytes) -> None:
    with pytest.raises(DataError):
        decode_parameters(content, "noise.npz", "noise.pkl")


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=8), st.integers(0, len(SMALL)))
def test_overwritten_archives_raise_nothing_but_data_errors(patch: bytes, place: int) -> None:
    content = SMALL[:place] + patch + SMALL[place + len(patch) :]
    try:
        decode_parameters(content, "patched.npz", "patched.pkl")
    except DataError:
        return
