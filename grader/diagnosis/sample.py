"""One image of the public test set that a classifier gets wrong, beside PyTorch's answer.

Only test images are looked at: hidden inputs and their scores stay in the referee.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from grader.evidence.case import FloatArray, Outputs
from grader.evidence.oracle import ModelOracle, Oracle
from grader.report import Sample

_PNG = b"\x89PNG\r\n\x1a\n"


def choose_sample(outputs: Outputs, wrong: npt.NDArray[np.bool_], oracle: Oracle) -> Sample | None:
    """Return the test image that shows the mistake best, None where outputs are no scores.

    `wrong` marks the samples that differ. An image counts more whose class PyTorch knows and the
    submission does not, then one whose classes differ, and among these the largest difference. The
    same image is chosen whatever the order of the samples is.
    """
    if not isinstance(oracle, ModelOracle) or not _are_scores(outputs, oracle):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        actual = outputs.actual.astype(np.float64)
    rows = np.flatnonzero(wrong & outputs.from_test_set & np.isfinite(actual).any(axis=1))
    if not len(rows):
        return None
    places = oracle.places[rows]
    labels = oracle.data.labels[places]
    predicted, pytorch = _classes(actual[rows]), _classes(outputs.desired[rows])
    unlike = predicted != pytorch
    rank = unlike.astype(int) + (unlike & (pytorch == labels))
    differences = np.abs(_finite(actual[rows]) - outputs.desired[rows]).max(axis=1)
    best = int(np.lexsort((-places, differences, rank))[-1])
    return Sample(
        place=int(places[best]),
        image=base64.b64encode(encode_png(oracle.data.images[places[best]])).decode("ascii"),
        classes=oracle.data.classes,
        label=int(labels[best]),
        predicted=int(predicted[best]),
        pytorch=int(pytorch[best]),
        scores=tuple(float(x) if np.isfinite(x) else None for x in actual[rows[best]]),
        pytorch_scores=tuple(float(x) for x in outputs.desired[rows[best]]),
    )


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return grey values, uint8 (rows, columns), as a PNG; the same bytes at every call.

    Eight bits, one channel, no filter (W3C, Portable Network Graphics, sections 5, 9 and 11).
    """
    rows, columns = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _PNG + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def _are_scores(outputs: Outputs, oracle: ModelOracle) -> bool:
    """Say whether each sample's output is a number for each class."""
    classes = len(oracle.data.classes)
    shape = (len(outputs.desired), classes)
    return classes > 0 and outputs.actual.shape == shape == outputs.desired.shape


def _classes(scores: FloatArray) -> npt.NDArray[np.intp]:
    """Return the class of the highest score of each row; what is not finite wins nothing."""
    highest: npt.NDArray[np.intp] = np.where(np.isfinite(scores), scores, -np.inf).argmax(axis=1)
    return highest


def _finite(scores: FloatArray) -> FloatArray:
    return np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=0.0)
