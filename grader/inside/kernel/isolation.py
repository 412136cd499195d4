"""Calling a student's function so that the notebook notices nothing of it.

What the call prints and displays is dropped. What it rebinds, draws from random generators and
enters is put back afterwards.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.random  # NumPy imports it late: a notebook may have emptied sys.path by then
import tvm
from IPython.core.displaypub import DisplayPublisher

from grader.inside.kernel.objects import Namespace, is_alive

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
