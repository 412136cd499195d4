"""A data set, complete: images and labels, from IDX files or drawn, and parameters.

IDX: https://yann.lecun.com/exdb/mnist/ (big-endian extents of four bytes; type 8 is unsigned
byte). torchvision has a reader too, but importing it takes over a second, and it accepts a label
file with bytes missing.

The built-in set needs no network and no files but the package's own, which `tools/train_builtin.py`
made.
"""

import gzip
import math
import struct
import zlib
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from grader.data.parameters import (
    BYTE_LIMIT,
    KNOWN,
    Parameters,
    accepted_names,
    decode_parameters,
    pickle_arrays,
)
from grader.errors import DataError
from grader.language import Text, say

IDX_LIMIT = 70_000 * 28 * 28 + 64
"""Longest accepted content in bytes: Fashion-MNIST's training and test images together."""

_UNSIGNED_BYTE = 8
_GZIP_MAGIC = b"\x1f\x8b"
_HINT = say("replace-file-with-whole-copy-official-one")


def read_images(content: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return images, uint8 (n, 28, 28) with n of at least 1, from an IDX file, plain or gzipped.

    `name` is what an error calls the file. Raises DataError.
    """
    images = _read_idx(content, name, axes=3)
    if images.shape[1:] != (28, 28) or not len(images):
        raise DataError(
            say("holds-array-shape-not-images-28", name=name, shape=str(images.shape)), _HINT
        )
    return images


def read_labels(content: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return labels from 0 to 9, uint8 (n,), from an IDX file, plain or gzipped.

    Raises DataError.
    """
    labels = _read_idx(content, name, axes=1)
    if len(labels) and labels.max() > 9:
        raise DataError(say("holds-label-9-highest", name=name, label=int(labels.max())), _HINT)
    return labels


def write_idx(array: npt.NDArray[np.uint8]) -> bytes:
    """Return an array of unsigned bytes as an uncompressed IDX file."""
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    return header + array.tobytes()


def _read_idx(content: bytes, name: str, axes: int) -> npt.NDArray[np.uint8]:
    content = _plain(content, name)
    header = struct.Struct(f">HBB{axes}I")
    if len(content) < header.size:
        raise DataError(say("ends-inside-header", name=name), _HINT)
    zeros, kind, ndim, *shape = header.unpack_from(content)
    if (zeros, kind, ndim) != (0, _UNSIGNED_BYTE, axes):
        raise DataError(say("not-idx-file-unsigned-bytes-with-axes", name=name, axes=axes), _HINT)
    if math.prod(shape) != len(content) - header.size:
        raise DataError(
            say(
                "should-hold-bytes-data-and-holds",
                name=name,
                wanted=math.prod(shape),
                found=len(content) - header.size,
            ),
            _HINT,
        )
    return np.frombuffer(content, np.uint8, offset=header.size).reshape(shape)


def _plain(content: bytes, name: str) -> bytes:
    """Decompress where needed, never to more than the limit."""
    if content[:2] == _GZIP_MAGIC:
        try:
            with gzip.GzipFile(fileobj=BytesIO(content)) as file:
                content = file.read(IDX_LIMIT + 1)
        except (OSError, EOFError, zlib.error):
            raise DataError(say("not-complete-gzip-file", name=name), _HINT) from None
    if len(content) > IDX_LIMIT:
        raise DataError(say("longer-than-bytes", name=name, limit=IDX_LIMIT), _HINT)
    return content


DataSetName = Literal["Fashion-MNIST", "built-in", "none"]

CLASS_NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
"""What the labels 0 to 9 mean, as in Fashion-MNIST."""

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
    detail = say("assignment-needs-no-test-images")
    return DataSet("none", detail, images, np.empty(0, np.uint8), {})


_ALONE = say("synthetic-images-drawn-by-grader-because")
_TRAINED = say("synthetic-images-drawn-by-grader-with-parameters")


def builtin_data(parameter_file: str, reason: Text) -> DataSet:
    """Return the built-in set. `reason` is the clause that says why it is used.

    Raises DataError for a parameter file that has no stand-in.
    """
    parameters = builtin_parameters(parameter_file) if parameter_file else {}
    images = read_images(_asset("images.gz"), "images.gz")
    detail = _TRAINED if parameters else _ALONE
    return DataSet(
        name="built-in",
        detail=say(detail, count=len(images), reason=reason),
        images=images,
        labels=read_labels(_asset("labels.gz"), "labels.gz"),
        parameters=parameters,
        parameter_file=parameter_file,
    )


def builtin_parameters(parameter_file: str) -> Parameters:
    """Return the parameters that stand in for a known file. Raises DataError for an unknown one."""
    if parameter_file not in KNOWN:
        raise DataError(
            say("built-in-set-has-no-parameters-called", name=parameter_file),
            say("name-folder-that-holds-them-with-data"),
        )
    asset = KNOWN[parameter_file].asset
    return decode_parameters(_asset(asset), asset, parameter_file)


def _asset(name: str) -> bytes:
    return (files("grader.data") / "assets" / name).read_bytes()


# Data sets in a folder: FashionMNIST/raw/ as torchvision keeps it, and parameters beside it.


RAW = Path("FashionMNIST") / "raw"
IMAGES = RAW / "t10k-images-idx3-ubyte"
LABELS = RAW / "t10k-labels-idx1-ubyte"
PARAMETERS = Path("params")

OFFICIAL_COUNT = 10_000
"""Number of test images of Fashion-MNIST."""


class Paths(msgspec.Struct, frozen=True):
    """The files of one data set. `parameters` is None when the assignment has none."""

    images: Path
    labels: Path
    parameters: Path | None


def find_files(folder: Path, parameter_file: str) -> Paths:
    """Find the files in a folder, plain or gzipped. Raises DataError naming all that it lacks."""
    wanted = {
        f"{IMAGES}": [IMAGES, IMAGES.with_suffix(".gz")],
        f"{LABELS}": [LABELS, LABELS.with_suffix(".gz")],
    }
    if parameter_file:
        names = accepted_names(parameter_file)
        wanted[parameter_file] = [place / name for name in names for place in (Path(), PARAMETERS)]
    found = {name: _first_file(folder, places) for name, places in wanted.items()}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise DataError(
            say("data-folder-lacks", folder=str(folder), missing=" and ".join(missing)),
            say("see-docs-data-md-for-files"),
        )
    images, labels, *parameters = [path for path in found.values() if path is not None]
    return Paths(images, labels, parameters[0] if parameters else None)


_ALL = say("all-test-images")
_PART = say("test-images-part-official")
_MORE = say("test-images-more-than-official")


class Pictures(NamedTuple):
    """Images with their labels, as many of the one as of the other."""

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]


def read_pictures(paths: Paths) -> Pictures:
    """Read the images of a data set. Raises DataError."""
    images = read_images(_read(paths.images), paths.images.name)
    labels = read_labels(_read(paths.labels), paths.labels.name)
    if len(images) != len(labels):
        raise DataError(
            say(
                "holds-images-holds-labels",
                images=str(paths.images.name),
                pictures=str(len(images)),
                labels=str(paths.labels.name),
                numbers=str(len(labels)),
            ),
            say("take-both-files-from-same-place"),
        )
    return Pictures(images, labels)


def read_files(
    paths: Paths, parameter_file: str, origin: Text, pictures: Pictures | None = None
) -> DataSet:
    """Read a data set; `origin` ends the report's phrase "10,000 test images". Raises DataError.

    `pictures` are those of these paths, where they were read already.
    """
    images, labels = pictures or read_pictures(paths)
    parameters = {}
    if paths.parameters is not None:
        content = _read(paths.parameters)
        parameters = decode_parameters(content, paths.parameters.name, parameter_file)
    return DataSet(
        name="Fashion-MNIST",
        detail=_describe(len(images), origin),
        images=images,
        labels=labels,
        parameters=parameters,
        parameter_file=parameter_file,
    )


def _describe(count: int, origin: Text) -> Text:
    sentence = _ALL if count == OFFICIAL_COUNT else _PART if count < OFFICIAL_COUNT else _MORE
    return say(sentence, count=count, origin=origin, official=OFFICIAL_COUNT)


def _first_file(folder: Path, places: list[Path]) -> Path | None:
    return next((folder / place for place in places if (folder / place).is_file()), None)


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > BYTE_LIMIT:
            raise DataError(
                say("longer-than-bytes", name=str(path.name), limit=str(BYTE_LIMIT)), _HINT
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            say("cannot-read", path=str(path), reason=str(error.strerror)),
            say("check-permissions"),
        ) from None
