"""Parameter files are accepted with the right names, shapes and dtype only.

Pickles are opened by checksum alone, and even then they can build nothing but arrays.
"""

from __future__ import annotations

import collections
import hashlib
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.data import parameters as parameters_module
from grader.data.parameters import (
    KNOWN,
    accepted_names,
    decode_parameters,
    pickle_arrays,
    unpickle_arrays,
)
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
        ({"b0": np.ones(128)}, "has the type float64"),
        ({"b0": np.full(128, np.nan, np.float32)}, "not finite"),
        ({"b0": np.array([None] * 128)}, "not a complete .npz"),
        ({"b0": None}, "lacks the array b0"),
    ],
)
def test_wrong_arrays_are_refused(change: dict[str, Any], phrase: str) -> None:
    """Shape, dtype, finiteness and presence are checked; objects are never loaded."""
    arrays = {**mlp_arrays(), **change}
    content = npz({key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(DataError, match=phrase) as caught:
        decode_parameters(content, "fasionmnist_mlp_params.npz", MLP)
    assert caught.value.hint.english


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    """The index is read before anything is unpacked."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.npy", bytes(parameters_module.BYTE_LIMIT + 1))
    with pytest.raises(DataError, match="unpacks to more"):
        decode_parameters(content.getvalue(), "mine.npz", "mine.pkl")


SMALL = npz({"w": np.arange(4, dtype=np.float32)})


@given(st.binary(max_size=64))
def test_arbitrary_bytes_raise_nothing_but_data_errors(content: bytes) -> None:
    with pytest.raises(DataError):
        decode_parameters(content, "noise.npz", "noise.pkl")


@given(st.binary(min_size=1, max_size=8), st.integers(0, len(SMALL)))
def test_overwritten_archives_raise_nothing_but_data_errors(patch: bytes, place: int) -> None:
    content = SMALL[:place] + patch + SMALL[place + len(patch) :]
    try:
        decode_parameters(content, "patched.npz", "patched.pkl")
    except DataError:
        return


ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float32)}


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Touch:
    """An object whose unpickling makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_survive_a_round_trip(protocol: int) -> None:
    """The protocols that the course's files use are read."""
    content = pickle.dumps(ARRAYS, protocol=protocol) if protocol != 4 else pickle_arrays(ARRAYS)
    found = unpickle_arrays(content, checksum(content), "file")
    assert isinstance(found, dict)
    assert found.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[key], ARRAYS[key]) for key in ARRAYS)


def test_a_pickle_is_a_plain_dict_of_arrays() -> None:
    """A notebook's pickle.load returns what the course's file returns."""
    found = pickle.loads(pickle_arrays(ARRAYS))
    assert type(found) is dict
    assert {type(value) for value in found.values()} == {np.ndarray}


def test_the_name_that_old_numpy_pickled_is_known() -> None:
    """The course's files say numpy.core, today's NumPy says numpy._core: both are read."""
    content = pickle_arrays(ARRAYS).replace(
        b"\x8c\x16numpy._core.multiarray", b"\x8c\x15numpy.core.multiarray"
    )
    # The frame of protocol 4 states its length, and the name has become shorter by one.
    length = int.from_bytes(content[3:11], "little")
    content = content[:3] + (length - 1).to_bytes(8, "little") + content[11:]
    assert b"numpy.core.multiarray" in content
    assert isinstance(unpickle_arrays(content, checksum(content), "file"), dict)


def test_an_unknown_checksum_is_refused_unopened(tmp_path: Path) -> None:
    """Not one opcode of a pickle runs unless its checksum is known."""
    content = pickle.dumps(Touch(tmp_path / "made"))
    with pytest.raises(DataError, match="unknown SHA-256") as caught:
        unpickle_arrays(content, checksum(b"another"), "params.pkl")
    assert "params.pkl" in caught.value.message.english
    assert ".npz" in caught.value.hint.english
    assert not list(tmp_path.iterdir())


def test_a_malicious_pickle_of_known_checksum_does_no_harm(tmp_path: Path) -> None:
    """The unpickler itself refuses every name that is not part of an array."""
    content = pickle.dumps(Touch(tmp_path / "made"))
    with pytest.raises(DataError, match=r"system is not part of an array"):
        unpickle_arrays(content, checksum(content), "params.pkl")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"cbuiltins\neval\n(V1+1\ntR.",
        b"cnumpy\nload\n.",
        b"cnumpy.core.multiarray\n_reconstruct.__globals__\n.",
        b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",
        pickle.dumps(collections.OrderedDict(a=1)),
    ],
)
def test_other_names_are_refused(content: bytes) -> None:
    """Neither other functions of NumPy nor attributes of the admitted ones can be reached."""
    with pytest.raises(DataError, match="not part of an array"):
        unpickle_arrays(content, checksum(content), "file")
