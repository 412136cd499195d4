"""What no rendering may tell, and how it is looked for whatever a format does to text.

A secret is a number of a hidden input or of its right output, a line of a solution or of the
course's own code, or a folder of this machine.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from grader.course import CourseAssignment
from grader.errors import SandboxError
from grader.grading.preparation import Preparation, Settings
from grader.language import NOTHING, foreign
from grader.progress import Silent
from grader.selfcheck.checker import NoSandbox

DIGITS = 7
"""Significant digits from which on a number is no coincidence."""

WINDOW = 16
"""Bytes of an array that are looked for in whatever is in base64."""

MOST_NUMBERS = 40_000
"""Numbers of one array that are looked for: of its first samples, all of them."""

LETTERS = 24
"""Letters and digits from which on a line of code is no coincidence."""

_NUMBER = re.compile(r"\d+\.\d+(?:[eE][-+]?\d+)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_TAG = re.compile(r"<[^<>]*>")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_NO_LETTER = re.compile(r"[^0-9A-Za-z]+")
_SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
_COURSES_OWN = ("oracle.py", "workload.py", "library.py", "models.py")

Array = npt.NDArray[np.generic]


class Secrets(NamedTuple):
    """Numbers as they are written, arrays' bytes, lines' letters by line, and folders."""

    numbers: frozenset[str] = frozenset()
    windows: frozenset[bytes] = frozenset()
    lines: dict[str, str] = {}  # noqa: RUF012 - a tuple's default is not shared state
    folders: tuple[str, ...] = ()

    def told_by(self, document: bytes) -> list[str]:
        """Return what a rendering tells of them, sorted."""
        told: set[str] = set()
        for text in _readings(document.decode()):
            told |= {f"number {each}" for each in self.numbers.intersection(_NUMBER.findall(text))}
            told |= {f"folder {each}" for each in self.folders if each in text}
            letters = _letters(text)
            told |= {f"line {line}" for key, line in self.lines.items() if key in letters}
            told |= {"bytes of an array" for blob in _blobs(text) if self._holds(blob)}
        return sorted(told)

    def _holds(self, blob: bytes) -> bool:
        windows = (blob[at : at + WINDOW] for at in range(len(blob) - WINDOW + 1))
        return not self.windows.isdisjoint(windows)


def written(arrays: Iterable[Array], lines: Iterable[str], folders: Iterable[Path]) -> Secrets:
    """Return the secrets that arrays, lines of code and folders are."""
    kept = list(arrays)
    return Secrets(
        numbers=frozenset(number for each in kept for number in _numbers(each)),
        windows=frozenset(window for each in kept for window in _windows(each)),
        lines={key: line for line in lines if len(key := _letters(line)) >= LETTERS},
        folders=tuple(map(str, folders)),
    )


def secrets_of(
    chosen: CourseAssignment, seed: int, masters: Path, known: str, folders: Iterable[Path]
) -> Secrets:
    """Return the secrets of one grading: those of its seed, of the assignment, and of the machine.

    `masters` is the folder of the solved notebooks. `known` is what the student wrote or was given.
    """
    arrays = (each.ravel()[:MOST_NUMBERS] for each in _hidden_arrays(chosen, seed))
    letters = _letters(known)
    lines = (line for line in _lines(chosen, masters) if _letters(line) not in letters)
    return written(arrays, lines, folders)


def _hidden_arrays(chosen: CourseAssignment, seed: int) -> Iterator[Array]:
    """Yield what the referee alone has of a grading: hidden inputs, and what is right for them."""
    nothing_runs = NoSandbox(SandboxError(foreign("No module is run."), NOTHING))
    prepared = Preparation(chosen, Settings(sandbox=nothing_runs, seed=seed, data="builtin"))
    answers = prepared.answers(prepared.data(Silent())).result()
    if answers.model is not None:
        hidden = ~answers.model.from_test_set
        yield from (answers.model.inputs[hidden], answers.model.desired[hidden])
    for part in chosen.assignment.part:
        if part.computation is not None:
            oracle = answers.of(part)
            arrangement = oracle.arrange(part, None)
            yield from (each.array for each in arrangement.arguments if each.varies)
            yield oracle.desired


def _numbers(array: Array) -> Iterator[str]:
    """Yield an array's numbers as Python writes them: as they are, and as doubles."""
    if array.dtype.kind != "f":
        return
    for value in array:
        for text in {str(abs(value)), repr(abs(float(value)))}:
            if len(text.partition("e")[0].replace(".", "").strip("0")) >= DIGITS:
                yield text


def _windows(array: Array) -> Iterator[bytes]:
    if array.dtype.kind != "f":
        return
    for dtype in (np.float32, np.float64):
        content = np.ascontiguousarray(array, dtype).tobytes()
        for at in range(0, len(content) - WINDOW + 1, np.dtype(dtype).itemsize):
            window = content[at : at + WINDOW]
            if len(set(window)) > WINDOW // 2:  # not zeros
                yield window


def _lines(chosen: CourseAssignment, masters: Path) -> Iterator[str]:
    """Yield the lines of the solutions, and of the files that the referee and the runners have."""
    own = [chosen.folder / name for name in _COURSES_OWN]
    texts = [path.read_text(encoding="utf-8") for path in own if path.exists()]
    master = masters / f"{chosen.assignment.slug}.py"
    if master.exists():
        texts += _SOLUTION.findall(master.read_text(encoding="utf-8"))
    for text in texts:
        yield from map(str.strip, text.splitlines())


def letters_of(document: bytes) -> str:
    """Return the letters and digits of a rendering, in all the ways in which it may be read."""
    return " ".join(map(_letters, _readings(document.decode())))


def _letters(text: str) -> str:
    """Return the letters and digits of a text: no format changes these."""
    return _NO_LETTER.sub("", text)


def _readings(document: str) -> set[str]:
    """Return a document as its readers may see it: without markup, and without its escapes."""
    texts = {document, *_texts_in_base64(document)}
    texts |= {_TAG.sub("", text) for text in texts}
    texts |= {html.unescape(text) for text in texts}
    texts |= {unquote(text) for text in texts}
    texts |= {_ESCAPE.sub(r"\1", text) for text in texts}  # JSON's, Markdown's
    return texts | {re.sub(r"\s+", "", text) for text in texts}  # lines that were broken


def _texts_in_base64(document: str) -> Iterator[str]:
    for blob in _blobs(document):
        with suppress(UnicodeDecodeError):
            yield blob.decode()


def _blobs(text: str) -> Iterator[bytes]:
    """Yield what is in base64 somewhere."""
    for run in _BASE64.findall(text):
        body = run.rstrip("=")
        yield base64.b64decode(body[: len(body) // 4 * 4])
