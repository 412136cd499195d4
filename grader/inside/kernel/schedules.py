"""Every Schedule that the notebook makes, with the module that it started from."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import tvm

from grader.inside.kernel.modules import Holds, module_of, schedule_base
from grader.inside.kernel.snapshots import Snapshot

LIVE_LIMIT = 32
"""Schedules of models that are kept, and as many of others; the oldest that no name is bound to
are let go first."""


class Known:
    """A Schedule that was seen. `base` is None when it was made where it could not be watched.

    `is_model` says whether its module has a Relax `main`.
    """

    def __init__(self, schedule: Any, base: Snapshot | None) -> None:
        self.schedule = schedule
        self.base = base
        self.is_model = module_of(schedule.mod, "model") is not None

    def trace(self) -> bytes | None:
        """Return the trace as JSON, None where there is none or where JSON cannot hold it.

        Without its trace the module is still worth something.
        """
        trace = self.schedule.trace
        try:
            return None if trace is None else json.dumps(trace.as_json(), default=_number).encode()
        except TypeError:
            return None


class ScheduleLedger:
    """Keeps the schedules of modules and PrimFuncs, wherever in the notebook they were made.

    Before the first primitive `schedule.mod` is the very module that was given to it, so the base
    is taken while the Schedule is being made.
    """

    def __init__(self, is_named: Callable[[object], bool]) -> None:
        self._known: dict[int, Known] = {}
        self._is_named = is_named
        self._detach: Callable[[], None] = lambda: None

    def attach(self) -> None:
        """Begin to watch."""
        kind = tvm.s_tir.Schedule
        construct, copy = kind.__init__, kind.copy

        @functools.wraps(construct)
        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            __tracebackhide__ = True  # the student's own line is what they are to see
            given = args[0] if args else kwargs.get("mod")
            module = schedule_base(given)
            base = None if module is None else Snapshot(module)
            construct(self_, *args, **kwargs)
            if base is not None:
                self._add(self_, base)

        @functools.wraps(copy)
        def copied(self_: Any) -> Any:
            __tracebackhide__ = True
            made = copy(self_)
            known = self._known.get(self_.__chandle__())
            if known is not None:
                self._add(made, known.base)
            return made

        kind.__init__, kind.copy = __init__, copied
        self._detach = lambda: _set_methods(kind, construct, copy)

    def detach(self) -> None:
        """Stop watching, and leave TVM as it was."""
        self._detach()

    def all(self, holds: Holds) -> list[Known]:
        """Return those kept whose module counts as one, oldest first."""
        return [known for known in self._known.values() if known.is_model or holds == "function"]

    def find(self, schedule: Any) -> Known:
        """Return what is known of a schedule; it is kept from now on."""
        key = schedule.__chandle__()
        if key not in self._known:
            self._add(schedule, None)
        return self._known[key]

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Forget, at the end, every schedule that is made in the body."""
        before = dict(self._known)
        try:
            yield
        finally:
            self._known = before

    def _add(self, schedule: Any, base: Snapshot | None) -> None:
        added = self._known[schedule.__chandle__()] = Known(schedule, base)
        alike = [key for key, known in self._known.items() if known.is_model == added.is_model]
        if len(alike) > LIVE_LIMIT:  # examples on lone functions must not drive out the model's
            idle = (key for key in alike if not self._is_named(self._known[key].schedule))
            del self._known[next(idle, alike[0])]


def _number(value: Any) -> int | float:
    """Return the number that TVM wrapped: factors may stand in a trace as constants of its own."""
    if not isinstance(value, tvm.tirx.IntImm | tvm.tirx.FloatImm):
        raise TypeError(f"a trace with an object of type {type(value).__name__}")
    number: int | float = value.value
    return number


def _set_methods(kind: Any, construct: Any, copy: Any) -> None:
    kind.__init__, kind.copy = construct, copy
