"""IDX files are read strictly: whole, of the right type and shape, or not at all."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.data.dataset import IDX_LIMIT, read_images, read_labels, write_idx
from grader.errors import DataError

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
LABELS = np.array([0, 9, 4], np.uint8)


def test_images_survive_a_round_trip() -> None:
    """What is written is what is read, plain and gzipped."""
    content = write_idx(IMAGES)
    assert np.array_equal(read_images(content, "images"), IMAGES)
    assert np.array_equal(read_images(gzip.compress(content), "images"), IMAGES)


def test_labels_survive_a_round_trip() -> None:
    assert np.array_equal(read_labels(write_idx(LABELS), "labels"), LABELS)


def test_the_header_is_the_official_one() -> None:
    """Magic numbers 2051 and 2049 and big-endian extents, as in MNIST's description."""
    assert write_idx(IMAGES)[:16] == struct.pack(">IIII", 2051, 3, 28, 28)
    assert write_idx(LABELS)[:8] == struct.pack(">II", 2049, 3)


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"", "ends inside its header"),
        (write_idx(IMAGES)[:15], "ends inside its header"),
        (write_idx(IMAGES)[:-1], "should hold 2352 bytes"),
        (write_idx(IMAGES) + b"\0", "should hold 2352 bytes"),
        (write_idx(LABELS) + bytes(16), "not an IDX file"),
        (b"\1" + write_idx(IMAGES)[1:], "not an IDX file"),
        (b"\0\0\x0d\3" + write_idx(IMAGES)[4:], "not an IDX file"),
        (write_idx(IMAGES[:, :27]), "not images of 28 x 28"),
        (write_idx(IMAGES[:0]), "not images of 28 x 28"),
        (struct.pack(">IIII", 2051, 2**32 - 1, 2**32 - 1, 2**32 - 1), "should hold"),
        (gzip.compress(write_idx(IMAGES))[:-9], "not a complete gzip file"),
        (gzip.compress(b"")[:10] + b"\xff" * 9, "not a complete gzip file"),
        (gzip.compress(bytes(IDX_LIMIT + 1), 1), "is longer than"),
    ],
    # Names of their own: a gzip header holds the time, and test runners compare names.
    ids=[
        "empty",
        "half a header",
        "too short",
        "too long",
        "labels",
        "first byte",
        "floats",
        "27 rows",
        "no images",
        "huge extents",
        "gzip cut off",
        "gzip damaged",
        "gzip bomb",
    ],
)
def test_damaged_images_are_refused(content: bytes, phrase: str) -> None:
    """Each kind of damage has a message that names the file and the damage."""
    with pytest.raises(DataError, match=phrase) as caught:
        read_images(content, "t10k-images")
    assert "t10k-images" in caught.value.message.english
    assert caught.value.hint


def test_a_file_without_labels_is_whole() -> None:
    """torchvision's loader wants training files, and empty ones are often put there."""
    assert read_labels(write_idx(LABELS[:0]), "labels").shape == (0,)


def test_a_label_above_nine_is_refused() -> None:
    with pytest.raises(DataError, match="the label 10"):
        read_labels(write_idx(np.array([10], np.uint8)), "labels")


@given(st.binary(max_size=64))
def test_arbitrary_bytes_raise_nothing_but_data_errors(content: bytes) -> None:
    # The longest header is 16 bytes and one image 784, so nothing this short can be whole images.
    with pytest.raises(DataError):
        read_images(content, "noise")
    try:
        read_labels(content, "noise")
    except DataError:
        return


@given(st.binary(max_size=24), st.integers(0, 40), st.booleans())
def test_overwritten_files_raise_nothing_but_data_errors(
    patch: bytes, place: int, zipped: bool
) -> None:
    """Damage near the header, plain or inside the gzip stream, is a DataError or harmless."""
    whole = gzip.compress(write_idx(IMAGES)) if zipped else write_idx(IMAGES)
    content = whole[:place] + patch + whole[place + len(patch) :]
    try:
        images = read_images(content, "patched")
    except DataError:
        return
    assert images.shape[1:] == (28, 28)
