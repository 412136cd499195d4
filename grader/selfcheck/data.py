"""The data of a live notebook: what it has in its folder, else what a grading would use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from grader.assignment import DataNeeds
from grader.data import DataSet, resolve_data
from grader.data.builtin import builtin_parameters
from grader.data.folder import IMAGES, LABELS, Paths, read_files
from grader.data.parameters import KNOWN, Parameters, accepted_names, decode_parameters
from grader.data.pickles import pickle_arrays
from grader.errors import DataError
from grader.language import say
from grader.progress import Silent

IMAGE_FOLDERS = ("data", ".")
"""Where notebooks have torchvision put its folder FashionMNIST."""


def notebook_data(needs: DataNeeds, folder: Path, environment: Mapping[str, str]) -> DataSet:
    """Return the data to compare on. Raises DataError.

    GRADER_DATA decides, where it is set. Otherwise the parameters are those that the notebook
    opens: with others, a right model would look wrong.
    """
    if needs.dataset == "none" or environment.get("GRADER_DATA"):
        return resolve_data(needs, directory=None, environment=environment, progress=Silent())
    parameters = _parameters(folder, needs.parameters) if needs.parameters else None
    images = _images(folder)
    if images is not None and (parameters is not None or not needs.parameters):
        data = read_files(images, "", say("from the notebook's folder"))
    else:
        data = resolve_data(needs, directory=None, environment=environment, progress=Silent())
    if parameters is None:
        return data
    return msgspec.structs.replace(data, parameters=parameters, parameter_file=needs.parameters)


def _images(folder: Path) -> Paths | None:
    for name in IMAGE_FOLDERS:
        files = [_plain_or_packed(folder / name / path) for path in (IMAGES, LABELS)]
        images, labels = files
        if images is not None and labels is not None:
            return Paths(images, labels, None)
    return None


def _plain_or_packed(path: Path) -> Path | None:
    return next((each for each in (path, path.with_suffix(".gz")) if each.is_file()), None)


def _parameters(folder: Path, name: str) -> Parameters | None:
    """Return the parameters of the file that the notebook opens, None where there is no file."""
    for each in accepted_names(name):
        path = folder / each
        if not path.is_file():
            continue
        content = path.read_bytes()
        try:
            return decode_parameters(content, each, name)
        except DataError:
            if name in KNOWN and content == pickle_arrays(builtin_parameters(name)):
                return builtin_parameters(name)
            raise
    return None
