"""The course's texts, where they are at hand: their code blocks, and what a run of them needs.

The texts are not part of this repository. GRADER_COURSE_TEXTS names the folder that has them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import DataNeeds, Limits
from grader.data.dataset import DataSet
from grader.data.resolve import resolve_data
from grader.dialects.migration import Migration, migrate_cells
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.execute.result import Execution
from grader.progress import Silent
from grader.sandbox.interface import Sandbox

FOLDER = os.environ.get("GRADER_COURSE_TEXTS", "")
DATA = os.environ.get("GRADER_DATA", "")
PARAMETERS = ("fasionmnist_mlp_params.pkl", "fasionmnist_mlp_assignment_params.pkl")
BATCH = 4
_FENCE = re.compile(r"^```[^\n]*python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Text(msgspec.Struct, frozen=True):
    """One text: the beginning of its file's name, and what a run of its blocks needs besides.

    `prelude` are the names that the text takes for granted. Blocks are counted from 1.
    `completed` says what stands in place of what a block leaves to the reader. `schematic` says of
    blocks why they run in no version of TVM. What the text states: `predictions` are blocks that
    name the class of one image, all the same one; `accuracy` is in percent, by block.
    """

    name: str
    count: int
    dialect: str
    prelude: str = ""
    completed: Mapping[int, tuple[tuple[str, str], ...]] = {}
    schematic: Mapping[int, str] = {}
    predictions: tuple[int, ...] = ()
    accuracy: Mapping[int, int] = {}

    def blocks(self) -> list[str]:
        """Return the code blocks, as they are written."""
        (path,) = Path(FOLDER).glob(f"{self.name}*")
        return _FENCE.findall(path.read_text("utf-8"))

    def cells(self) -> list[str]:
        """Return the prelude and the blocks, with what the reader had to add."""
        blocks = self.blocks()
        for number, pieces in self.completed.items():
            for unfinished, finished in pieces:
                assert 1 == blocks[number - 1].count(unfinished)
                blocks[number - 1] = blocks[number - 1].replace(unfinished, finished)
        return [self.prelude, *blocks]


class Run(msgspec.Struct, frozen=True):
    """A text that was migrated and executed."""

    migration: Migration
    execution: Execution

    def problems(self) -> dict[int, str]:
        """Return the errors of blocks by their numbers."""
        return {each.cell - 1: f"{each.error}: {each.message}" for each in self.execution.problems}

    def output(self, block: int) -> str:
        """Return what a block printed."""
        outputs = self.execution.notebook.cells[block].outputs
        return "".join(each.text for each in outputs if each.output_type == "stream")


def run(text: Text, sandbox: Sandbox) -> Run:
    """Migrate a text's blocks and run them, one after the other, in a student's kernel."""
    migration = migrate_cells(text.cells())
    cells = [new_code_cell(source or "pass") for source in migration.sources]
    order = KernelOrder(sandbox, (), _files(), Limits())
    execution = execute_notebook(new_notebook(cells=cells), order, Silent())
    return Run(migration, execution)


def _files() -> dict[str, bytes]:
    """Stage both files of parameters, and as many images as fill whole batches."""
    files: dict[str, bytes] = {}
    for name in PARAMETERS:
        needs = DataNeeds(dataset="fashion-mnist", parameters=name)
        data = resolve_data(needs, directory=DATA, environment={}, progress=Silent())
        count = len(data.images) // BATCH * BATCH
        whole = msgspec.structs.replace(
            data, images=data.images[:count], labels=data.labels[:count]
        )
        assert isinstance(whole, DataSet)
        files.update(whole.staged_files())
    return files
