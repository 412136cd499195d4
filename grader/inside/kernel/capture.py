"""Taking out what the notebook builds, at the end of every cell, and leaving no trace.

Names are rebound from section to section, and an extern is registered twice: what is right at the
end of a cell may be gone at the end of the notebook. So everything that may be an answer is sent at
once, and the referee grades the best.

What the call of an entry point prints and displays is dropped. What it rebinds, draws from random
generators and enters is put back afterwards.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # NumPy imports it late: a notebook may have emptied sys.path by then
import tvm
from IPython.core.displaypub import DisplayPublisher

from grader.inside.kernel.candidates import (
    FunctionPart,
    ImporterPart,
    ImporterSupply,
    ModulePart,
    PythonPart,
    SchedulePart,
    TracedModel,
    WatchedPart,
    exact_names,
)
from grader.inside.kernel.entry_points import (
    EntryCaller,
    EntryPoints,
    IsCallable,
    NotebookSupply,
    Supply,
    takes_module,
)
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.faults import Cells, Faults
from grader.inside.kernel.modules import ScheduleLedger
from grader.inside.kernel.objects import (
    Namespace,
    has_wildcard,
    is_alive,
    is_notebook_callable,
    public_values,
)
from grader.inside.kernel.passes import ImportedModel, PassPart, PassSupply, is_pass
from grader.inside.kernel.sender import Sender
from grader.inside.kernel.spaces import SpacePart, is_space
from grader.messages.kernel import Capture, CaptureFailure, EntrySpec, ModelSpec

_OUTPUT_DESCRIPTORS = (1, 2)
_ABSENT = object()


@contextlib.contextmanager
def isolated(shell: Any) -> Iterator[None]:
    """Run the body silently, and put the notebook's state back at its end, however it ends."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_silent_descriptors())  # first in, last out: putting back frees objects
        stack.enter_context(_silent_streams())
        stack.enter_context(_silent_displays(shell))
        stack.enter_context(_kept_namespace(shell.user_ns))
        stack.enter_context(_kept_random_state(shell.user_ns))
        stack.enter_context(_kept_folder())
        stack.enter_context(_kept_scopes())
        stack.enter_context(_kept_figures())
        yield


@contextlib.contextmanager
def _kept_namespace(namespace: Namespace) -> Iterator[None]:
    """Put names back; modules and schedules in them are replaced by copies for the while."""
    before = dict(namespace)
    copies = {id(value): copy for value in before.values() if (copy := _copy(value)) is not None}
    for name, value in before.items():
        if id(value) in copies:
            namespace[name] = copies[id(value)]
    try:
        yield
    finally:
        for name in [name for name in namespace if name not in before]:
            del namespace[name]
        for name, value in before.items():
            if namespace.get(name, _ABSENT) is not value:
                namespace[name] = value


def _copy(value: Any) -> Any:
    if is_alive(value, tvm.IRModule):
        return tvm.IRModule.clone(value)
    if is_alive(value, tvm.s_tir.Schedule):
        # TVM cannot copy one in which something was tensorized, and raises what it likes.
        with contextlib.suppress(Exception):
            return tvm.s_tir.Schedule.copy(value)
    return None


@contextlib.contextmanager
def _kept_random_state(namespace: Namespace) -> Iterator[None]:
    """Put back the default generators of Python, NumPy and PyTorch, and those bound to names."""
    restore: list[Callable[[], object]] = []
    for value in (random, np.random, sys.modules.get("torch"), *namespace.values()):
        again = _random_state(value)
        if again is not None:
            restore.append(again)
    try:
        yield
    finally:
        for again in restore:
            again()


def _random_state(source: Any) -> Callable[[], object] | None:
    """Return what puts a source of random numbers back to how it is now."""
    if source is random or type(source) is random.Random:
        python_state = source.getstate()
        return lambda: source.setstate(python_state)
    if source is np.random or type(source) is np.random.RandomState:
        legacy_state = source.get_state()
        return lambda: source.set_state(legacy_state)
    if type(source) is np.random.Generator:
        bits = source.bit_generator
        numpy_state = bits.state
        return lambda: setattr(bits, "state", numpy_state)
    torch = sys.modules.get("torch")
    if torch is not None and source is torch:
        torch_state = torch.get_rng_state()
        return lambda: torch.set_rng_state(torch_state)
    if torch is not None and type(source) is torch.Generator:
        generator_state = source.get_state()
        return lambda: source.set_state(generator_state)
    return None


@contextlib.contextmanager
def _kept_folder() -> Iterator[None]:
    try:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # the notebook removed its own folder: there is nothing to go back to
        yield
        return
    try:
        yield
    finally:
        os.fchdir(folder)
        os.close(folder)


@contextlib.contextmanager
def _kept_scopes() -> Iterator[None]:
    """Leave the targets and block builders that were entered and never left."""
    target = tvm.target.Target.current(allow_none=True)
    builders = tvm.relax.BlockBuilder._stack
    depth = len(builders)
    try:
        yield
    finally:
        del builders[depth:]
        for _ in range(100):
            current = tvm.target.Target.current(allow_none=True)
            if current is None or (target is not None and current.same_as(target)):
                break
            current.__exit__(None, None, None)


@contextlib.contextmanager
def _kept_figures() -> Iterator[None]:
    """Close the figures that were opened, or the next cell would show them."""
    before = set(_figures())
    try:
        yield
    finally:
        for number in set(_figures()) - before:
            sys.modules["matplotlib.pyplot"].close(number)


def _figures() -> list[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return [] if pyplot is None else list(pyplot.get_fignums())


@contextlib.contextmanager
def _silent_descriptors() -> Iterator[None]:
    """Drop what native code writes: TVM's warnings do not go through sys.stderr."""
    saved: list[tuple[int, int]] = []
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
        sink = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, sink)
        for descriptor in _OUTPUT_DESCRIPTORS:
            saved.append((descriptor, os.dup(descriptor)))
            os.dup2(sink, descriptor)
    try:
        yield
    finally:
        for descriptor, original in saved:
            os.dup2(original, descriptor)
            os.close(original)


@contextlib.contextmanager
def _silent_streams() -> Iterator[None]:
    disabled = logging.root.manager.disable
    with (
        open(os.devnull, "w", encoding="utf-8") as sink,  # noqa: PTH123 - not a path of ours
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(disabled)


@contextlib.contextmanager
def _silent_displays(shell: Any) -> Iterator[None]:
    publisher, hook = shell.display_pub, sys.displayhook
    shell.display_pub = _NoDisplay()
    sys.displayhook = lambda _: None
    try:
        yield
    finally:
        shell.display_pub, sys.displayhook = publisher, hook


class _NoDisplay(DisplayPublisher):  # type: ignore[misc]
    """Drops everything that is displayed."""

    def publish(self, *args: Any, **kwargs: Any) -> None:
        """Drop it."""

    def clear_output(self, wait: bool = False) -> None:
        """Keep what the cell has shown."""


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
        self._ledger = ScheduleLedger(self._is_named, self._cells.here)
        self._home = _working_folder()
        self._sender = Sender(emit, self._registry, shell, self._cells, self._quiet)
        self._caller = EntryCaller(shell, self._cells, self._registry, self._ledger, self._quiet)
        self._models: dict[ModelSpec, TracedModel] = {}
        self._imported: dict[ModelSpec, ImportedModel] = {}
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

    def _make_part(self, spec: EntrySpec) -> WatchedPart:
        sender, faults = self._sender, self.faults
        if spec.kind == "python":
            return PythonPart(spec, self._shell, sender, self._registry, faults)
        if spec.kind == "importer" and spec.model is not None:
            model = self._models.setdefault(spec.model, TracedModel(spec.model, self._quiet))
            return ImporterPart(model, self._make_entries(spec, ImporterSupply(model)))
        if spec.kind == "pass" and spec.model is not None:
            return self._make_pass(spec, spec.model)
        if spec.kind == "space":
            entries = self._make_entries(spec, NotebookSupply(), is_space)
            return SpacePart(spec, entries, sender.asked)
        entries = self._make_entries(spec, NotebookSupply(spec.arguments, sender.asked))
        if spec.kind == "module":
            return ModulePart(spec, entries, sender, faults)
        if spec.kind == "schedule":
            makers = self._make_makers(spec)
            return SchedulePart(spec, entries, makers, sender, self._ledger, faults)
        return FunctionPart(spec, entries, sender, faults)

    def _make_pass(self, spec: EntrySpec, named: ModelSpec) -> WatchedPart:
        traced = self._models.setdefault(named, TracedModel(named, self._quiet))
        model = self._imported.setdefault(named, ImportedModel(traced, self._quiet))
        return PassPart(model, self._make_entries(spec, PassSupply(model), is_pass))

    def _make_makers(self, spec: EntrySpec) -> EntryPoints:
        """Return the functions of a module that bear a pattern's name, as `schedule_conv(mod)`."""
        meant = [each for each in spec.arguments if each.meaning == "module"]
        modules = tuple(name for each in meant for name in each.names)

        def is_maker(value: object, namespace: Namespace, folders: tuple[str, ...]) -> bool:
            is_ours = is_notebook_callable(value, namespace, folders)
            return is_ours and takes_module(value, modules, namespace)

        names = tuple(name for name in spec.names if has_wildcard(name))
        supply = NotebookSupply(spec.arguments, self._sender.asked)
        return self._make_entries(spec, supply, is_maker, names)

    def _make_entries(
        self,
        spec: EntrySpec,
        supply: Supply,
        is_callable: IsCallable = is_notebook_callable,
        names: tuple[str, ...] | None = None,
    ) -> EntryPoints:
        # What else bears a pattern's name is not called.
        is_called = spec.kind in ("function", "importer", "pass", "space")
        if names is None:
            names = spec.names if is_called else exact_names(spec)
        return EntryPoints(
            spec.part,
            names,
            self._caller,
            self._sender,
            self.faults,
            spec.holds,
            supply,
            is_callable,
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
    """Return the working folder, or nothing if its files look like the system's."""
    try:
        folder = str(Path.cwd())
    except OSError:  # it was removed
        return ()
    return () if folder == "/" else (folder,)
