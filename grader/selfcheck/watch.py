"""Taking out what a live notebook holds, when it is asked for.

The objects are found, called and saved by the code that does so when a notebook is graded. There it
looks at the end of every cell; here a student works, and no cell should take longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

import msgspec
import tvm_ffi

from grader.inside.kernel.capture import Watcher
from grader.inside.kernel.entry_points import EntryCaller
from grader.inside.kernel.externs import called_names
from grader.inside.kernel.faults import Cells
from grader.inside.kernel.objects import Namespace
from grader.inside.kernel.sender import Sender, SentModule
from grader.messages.kernel import Capture, CaptureFailure, EntrySpec

Captures = tuple[Capture | CaptureFailure, ...]


class Taken(msgspec.Struct, frozen=True):
    """What a live notebook held.

    `unseen` are names that its modules call and that were registered before anybody watched: such a
    function cannot be taken out any more. `faults` are errors of the capture itself, a line each.
    """

    captures: Captures
    unseen: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class NumberedCells(Cells):
    """Cells by the numbers that Jupyter shows: as a report counts them, if all were run once."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        for number, text in enumerate(shell.history_manager.input_hist_raw):
            self.learn(number, number, text)
            self.number = number  # at the end, that of the cell that runs

    def begin(self, info: Any) -> None:
        """Note that a cell begins, and its text: it may check what it defines itself."""
        super().begin(info)
        inputs = self._shell.history_manager.input_hist_raw
        # Releases of IPython differ in when they count a cell; they store its text after this.
        self.number = len(inputs) if info.store_history else len(inputs) - 1
        if info.store_history:
            self.learn(self.number, self.number, info.raw_cell)


class Births:
    """In which cell each public name was bound to what it is bound to."""

    def __init__(self, cells: NumberedCells, values: Namespace) -> None:
        self._cells = cells
        self._known: dict[str, tuple[int, int]] = {}
        for name, value in values.items():
            self._known[name] = id(value), _cell_of(value, cells) or cells.number

    def note(self, values: Namespace) -> None:
        """Note what the cell that runs, or has just ended, has bound."""
        for name, value in values.items():
            if self._known.get(name, (0, 0))[0] != id(value):
                self._known[name] = id(value), self._cells.number

    def cell(self, name: str) -> int | None:
        """Return the number of the cell that bound a name, if it is bound."""
        return self._known.get(name, (0, None))[1]


class LiveWatcher(Watcher):
    """Watches a shell as the grading does, but captures only when it is told to."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell, (), _drop)
        self._early = frozenset(map(str, tvm_ffi.registry.list_global_func_names()))
        self._cells = NumberedCells(shell)
        self._births = Births(self._cells, self._values())

    def end_cell(self, result: Any) -> None:
        """Called by IPython after a cell: only remember what it bound."""
        if self._busy:
            return
        with self.faults.sealed():
            self._births.note(self._values())
            self._cells.end(result)

    def take(self, entries: tuple[EntrySpec, ...]) -> Taken:
        """Return every candidate for `entries` that there is now, and every failure."""
        emitted: list[Capture | CaptureFailure] = []
        sender = self._prepare(entries, emitted)
        self.faults.texts.clear()
        self._busy = True
        try:
            self._births.note(self._values())
            self._sweep()
        finally:
            self._busy = False
        unseen = (sender.called & self._early) - self._registry.functions.keys()
        faults = tuple(text.strip().splitlines()[-1] for text in self.faults.texts)
        return Taken(tuple(self._numbered(emitted)), tuple(sorted(unseen)), faults)

    def _prepare(
        self, entries: tuple[EntrySpec, ...], emitted: list[Capture | CaptureFailure]
    ) -> _NotingSender:
        """Look for these entries as if nothing had been called or sent before."""
        sender = _NotingSender(
            emitted.append, self._registry, self._shell, self._cells, self._quiet
        )
        self._sender = sender
        self._caller = EntryCaller(
            self._shell, self._cells, self._registry, self._ledger, self._quiet
        )
        self._parts = [self._make_part(spec) for spec in entries]
        return sender

    def _numbered(self, taken: Iterable[Capture | CaptureFailure]) -> Iterable[Any]:
        """Name the cell that made a candidate: the grading sees it there, and not afterwards."""
        for each in taken:
            cell = self._births.cell(each.name)
            known = isinstance(each, CaptureFailure) and each.line is not None
            if cell is None or known:
                yield each
            else:
                yield msgspec.structs.replace(each, cell=cell)


class _NotingSender(Sender):
    """Notes, in `called`, every name by which a candidate calls a function outside of itself."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.called: frozenset[str] = frozenset()

    def offer(self, candidate: SentModule) -> None:
        """Send a candidate."""
        self.called |= called_names(candidate.module.module)
        super().offer(candidate)


def _cell_of(value: object, cells: NumberedCells) -> int | None:
    """Return the cell in which a function's text is, for what was defined before we looked."""
    return cells.number_of(value.__code__.co_filename) if type(value) is FunctionType else None


def _drop(_: Capture | CaptureFailure) -> None:
    """Take what is emitted before anything was asked for: nothing is."""
