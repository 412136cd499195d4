"""Pages of the documentation that are followed word for word: files written, commands run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


class Step(NamedTuple):
    """A block of a page, and the line of text above it."""

    above: str
    language: str
    text: str


def steps_of(page: str) -> list[Step]:
    """Return what a page, or a section of one, has its reader do."""
    found, end = [], 0
    for match in BLOCK.finditer(page):
        above = page[end : match.start()].strip().split("\n")[-1]
        found.append(Step(above, match[1], match[2]))
        end = match.end()
    return found


class Follower:
    """Does what a page says, in a folder. `run` runs a line of a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._replaced: tuple[Path, str] | None = None

    def take(self, step: Step) -> None:
        if step.language == "sh":
            for line in step.text.splitlines():
                self.run(line)
        elif whole := re.fullmatch(r"Let `(.+)` be:", step.above):
            self.write(self.folder / whole[1], step.text)
        elif change := re.fullmatch(r"In `(.+)`, replace", step.above):
            self._replaced = (self.folder / change[1], step.text)
        else:
            assert "by" == step.above
            assert self._replaced is not None
            self.replace(*self._replaced, step.text)

    def run(self, line: str) -> None:
        raise NotImplementedError

    def write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")

    def replace(self, path: Path, old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert 1 == text.count(old), (path, old)
        path.write_text(text.replace(old, new), encoding="utf-8")
