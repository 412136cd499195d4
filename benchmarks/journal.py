"""What a long benchmark has measured so far, so that it goes on after an interruption."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

Value = TypeVar("Value")


class Journal:
    """What was measured so far, in the order in which it is asked for.

    `path` is the file that it is kept in; `settings` are the arguments that it is for.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self._path = path
        # behind the last end of a line is what was being written when it was interrupted
        self._known = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        self._place = 0
        path.write_bytes(b"".join(line + b"\n" for line in self._known))
        if settings != self.once(str, lambda: settings):
            raise SystemExit(f"{path} was begun with other arguments.")

    def once(self, kind: type[Value], make: Callable[[], Value]) -> Value:
        """Return what was measured at this place before, or else measure it and write it down."""
        place, self._place = self._place, self._place + 1
        if place < len(self._known):
            return msgspec.json.decode(self._known[place], type=kind)
        value = make()
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(value) + b"\n")
        return value


@contextmanager
def kept_in(folder: Path | None) -> Iterator[Path]:
    """Yield a folder, or else one for the time being."""
    with tempfile.TemporaryDirectory() as temporary:
        chosen = folder or Path(temporary)
        chosen.mkdir(exist_ok=True)
        yield chosen
