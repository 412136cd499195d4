"""Pickles are opened by checksum alone, and even then they can build nothing but arrays."""

from __future__ import annotations

import collections
import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.data.parameters import pickle_arrays, unpickle_arrays
from grader.errors import DataError

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
