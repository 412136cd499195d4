"""What a grade rests on beside the submission and the seed, as one digest.

A report that was written earlier is a submission's grade as long as this is the same: the grader
and what it runs on, the files of the assignment, the data, the isolation.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grader import __version__
from grader.data import DataSet
from grader.report import Environment

_OWN = Path(__file__).resolve().parents[1]
_TELLING = frozenset({"authoring", "ci", "cli", "gradebook", "locale", "render"})
"""Packages of the grader that say how a grade is told, and not what it is."""


def grading_basis(assignment: Path, data: DataSet, level: str, environment: Environment) -> str:
    """Return the digest, in hexadecimal, for an assignment's folder and a level of isolation.

    It takes the contents of files and not their dates, so it is the same on a copy of a course. A
    course that is worked on without a new version still has another digest.
    """
    digest = hashlib.sha256()
    versions = [f"{name} {version}" for name, version in sorted(environment.packages.items())]
    for text in (__version__, environment.python, *versions, level, _grader(), _data(data)):
        digest.update(f"{text}\n".encode())
    digest.update(_files(assignment, assignment.rglob("*")).encode())
    return digest.hexdigest()


@functools.cache
def _grader() -> str:
    """Digest this package itself: it changes without its version, as in a checkout."""
    inside = (path for path in _OWN.rglob("*") if path.relative_to(_OWN).parts[0] not in _TELLING)
    return _files(_OWN, inside)


def _files(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(root).as_posix()!r} {content}\n".encode())
    return digest.hexdigest()


def _data(data: DataSet) -> str:
    digest = hashlib.sha256(f"{data.name} {data.parameter_file!r}\n".encode())
    arrays: dict[str, npt.NDArray[Any]] = {
        "images": data.images,
        "labels": data.labels,
        **data.parameters,
    }
    for name, array in sorted(arrays.items()):
        digest.update(f"{name!r} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
