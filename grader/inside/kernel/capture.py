"""Taking out what the notebook builds, at the end of every cell.

Names are rebound from section to section, and an extern is registered twice: what is right at the
end of a cell may be gone at the end of the notebook. So everything that may be an answer is sent at
once, and the referee grades the best.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.inside.kernel.arguments import NotebookSupply, Supply
from grader.inside.kernel.candidates import (
    FunctionPart,
    ModulePart,
    Part,
    SchedulePart,
    exact_names,
)
from grader.inside.kernel.cells import Cells
from grader.inside.kernel.entries import EntryCaller, EntryPoints
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.faults import Faults
from grader.inside.kernel.functions import PythonPart
from grader.inside.kernel.importers import ImporterPart, ImporterSupply, TracedModel
from grader.inside.kernel.isolation import isolated
from grader.inside.kernel.objects import Namespace, public_values
from grader.inside.kernel.schedules import ScheduleLedger
from grader.inside.kernel.sender import Sender
from grader.messages import Capture, CaptureFailure, EntrySpec, ModelSpec


def install(
    shell: Any,
    entries: tuple[EntrySpec, ...],
    emit: Callable[[Capture | CaptureFailure], None],
) -> Watcher:
    """Watch a shell from its next cell on, and emit every candidate for one of `entries`.

    `shell` is an IPython InteractiveShell. Whatever goes wrong in here or in `emit`, the notebook's
    cells run as they would without it.
    """
    watcher = Watcher(shell, entries, emit)
    watcher.attach()
    return watcher


class Watcher:
    """The capture of one shell; `faults` holds the errors of its own."""

    def __init__(
        self,
        shell: Any,
        entries: tuple[EntrySpec, ...],
        emit: Callable[[Capture | CaptureFailure], None],
    ) -> None:
        self.faults = Faults()
        self._shell = shell
        self._busy = False
        self._cells = Cells(shell)
        self._registry = ExternRegistry()
        self._ledger = ScheduleLedger(self._is_named)
        self._home = _working_folder()
        self._sender = Sender(emit, self._registry, shell, self._cells, self._quiet)
        self._caller = EntryCaller(shell, self._cells, self._registry, self._ledger, self._quiet)
        self._models: dict[ModelSpec, TracedModel] = {}
        self._parts = [self._make_part(spec) for spec in entries]

    @property
    def cell(self) -> int:
        """The number of the cell that is run or was run last, from 1."""
        return self._cells.number

    def attach(self) -> None:
        """Begin to watch."""
        self._registry.attach()
        self._ledger.attach()
        self._shell.events.register("pre_run_cell", self.begin_cell)
        self._shell.events.register("post_run_cell", self.end_cell)

    def detach(self) -> None:
        """Stop watching, and leave the shell and TVM as they were."""
        self._shell.events.unregister("pre_run_cell", self.begin_cell)
        self._shell.events.unregister("post_run_cell", self.end_cell)
        self._ledger.detach()
        self._registry.detach()

    def begin_cell(self, info: Any) -> None:
        """Called by IPython before a cell."""
        if not self._busy:
            with self.faults.sealed():
                self._cells.begin(info)

    def end_cell(self, result: Any) -> None:
        """Called by IPython after a cell, however it ended."""
        if self._busy:
            return
        with self.faults.sealed():
            if self._cells.end(result):
                self._busy = True
                self._sweep()
        self._busy = False

    def _sweep(self) -> None:
        self._sender.folders = tuple(dict.fromkeys((*self._home, *_working_folder())))
        values = self._values()
        for part in self._parts:
            with self.faults.shielded():
                part.sweep(values)
        with self.faults.shielded():
            self._sender.refresh()

    def _make_part(self, spec: EntrySpec) -> Part:
        sender, faults = self._sender, self.faults
        if spec.kind == "python":
            return PythonPart(spec, self._shell, sender, self._registry, faults)
        if spec.kind == "importer" and spec.model is not None:
            model = self._models.setdefault(spec.model, TracedModel(spec.model, self._quiet))
            return ImporterPart(model, self._make_entries(spec, ImporterSupply(model)))
        entries = self._make_entries(spec, NotebookSupply(spec.arguments, sender.asked))
        if spec.kind == "module":
            return ModulePart(spec, entries, sender, faults)
        if spec.kind == "schedule":
            return SchedulePart(spec, entries, sender, self._ledger, faults)
        return FunctionPart(spec, entries, sender, faults)

    def _make_entries(self, spec: EntrySpec, supply: Supply) -> EntryPoints:
        is_called = spec.kind in ("function", "importer")  # what else bears a pattern's name is not
        names = spec.names if is_called else exact_names(spec)
        return EntryPoints(
            spec.part, names, self._caller, self._sender, self.faults, spec.holds, supply
        )

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Run the body undisturbed; the copies of schedules made for that are no answers."""
        with self._ledger.aside(), isolated(self._shell):
            yield

    def _values(self) -> Namespace:
        return public_values(self._shell.user_ns)

    def _is_named(self, value: object) -> bool:
        return any(each is value for each in self._values().values())


def _working_folder() -> tuple[str, ...]:
    """Return the working folder, or nothing where its files cannot be told from the system's."""
    try:
        folder = str(Path.cwd())
    except OSError:  # it was removed
        return ()
    return () if folder == "/" else (folder,)
