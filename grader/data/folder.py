"""Data sets in a folder: FashionMNIST/raw/ as torchvision keeps it, and parameters beside it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.data.dataset import DataSet, read_images, read_labels
from grader.data.parameters import BYTE_LIMIT, accepted_names, decode_parameters
from grader.errors import DataError
from grader.language import Text, say

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
            say(
                "The data folder {folder} lacks {missing}.",
                folder=str(folder),
                missing=" and ".join(missing),
            ),
            say("See docs/data.md for the files that it needs, or use --data builtin."),
        )
    images, labels, *parameters = [path for path in found.values() if path is not None]
    return Paths(images, labels, parameters[0] if parameters else None)


_ALL = say("All {count:,} test images {origin}.")
_PART = say("{count:,} test images {origin}, a part of the official {official:,}.")
_MORE = say("{count:,} test images {origin}, more than the official {official:,}.")


def read_files(paths: Paths, parameter_file: str, origin: Text) -> DataSet:
    """Read a data set; `origin` ends the report's phrase "10,000 test images". Raises DataError."""
    images = read_images(_read(paths.images), paths.images.name)
    labels = read_labels(_read(paths.labels), paths.labels.name)
    if len(images) != len(labels):
        raise DataError(
            say(
                "{images} holds {pictures} images, {labels} holds {numbers} labels.",
                images=str(paths.images.name),
                pictures=str(len(images)),
                labels=str(paths.labels.name),
                numbers=str(len(labels)),
            ),
            say("Take both files from the same place."),
        )
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
                say(
                    "{path} is longer than {byte_limit} bytes.",
                    path=str(path.name),
                    byte_limit=str(BYTE_LIMIT),
                )
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            say("Cannot read {path}: {strerror}.", path=str(path), strerror=str(error.strerror)),
            say("Check its permissions."),
        ) from None
