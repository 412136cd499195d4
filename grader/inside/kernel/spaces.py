"""Spaces of schedules: what a notebook would hand to MetaSchedule, applied to one of its modules.

A space is a function of a Schedule, as `tune_tir(..., space=...)` takes it, or a space generator
(`ScheduleFn`). It is the student's Python, so it runs here, once. What leaves is the schedule that
it made: a trace says what was done and what was drawn, and whoever has the trace can draw anew.
"""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tvm

from grader.inside.kernel.entry_points import EntryPoints
from grader.inside.kernel.modules import Snapshot, is_schedule
from grader.inside.kernel.objects import (
    Namespace,
    is_alive,
    is_exactly,
    is_notebook_callable,
)
from grader.messages.kernel import EntrySpec

SEEDS = tuple(1 + attempt * 0x0DE5_5B57 % (2**31 - 2) for attempt in range(8))
"""What is drawn in the notebook's own process: any choice will do, and the same one every time; of
a space in which some draws are impossible, the first that is not. Neighbouring seeds would draw
alike."""


class _AppliedSpace(NamedTuple):
    """A space, the module that it is applied to, and what applies it."""

    value: object
    base: Snapshot
    apply: Callable[[], Any]


class SpacePart:
    """A part whose answer is a space, applied to the module that was made for part `of`.

    `modules` has the last module of each part that came under a name that was asked for.
    """

    def __init__(
        self,
        spec: EntrySpec,
        entries: EntryPoints,
        modules: Mapping[str, Snapshot],
    ) -> None:
        self._of = next((each.part for each in spec.arguments if each.meaning == "module"), "")
        self._entries = entries
        self._modules = modules
        self._applied: dict[str, _AppliedSpace] = {}

    def sweep(self, values: Namespace) -> None:
        """Apply the spaces that are due, as soon as there is a module to apply them to."""
        base = self._modules.get(self._of)
        if base is None:
            return
        found = self._entries.present(values)
        self._applied = {name: self._find(name, value, base) for name, value in found.items()}
        self._entries.call({name: each.apply for name, each in self._applied.items()})

    def _find(self, name: str, value: object, base: Snapshot) -> _AppliedSpace:
        """Return what applies a space, the same for the same space and module."""
        known = self._applied.get(name)
        if known is not None and known.value is value and known.base is base:
            return known
        return _AppliedSpace(value, base, _applying(value, base.module))


def is_space(value: object, namespace: Namespace, folders: tuple[str, ...]) -> bool:
    """Say whether a value is a function of the notebook or a space generator of TVM's."""
    return _is_generator(value) or is_notebook_callable(value, namespace, folders)


def _is_generator(value: object) -> bool:
    return is_alive(value, tvm.s_tir.meta_schedule.SpaceGenerator)


def _applying(value: Any, module: Any) -> Callable[[], Any]:
    """Return a function of nothing that gives the schedule which a space makes of a module.

    Both are in its closure, and so in the fingerprint by which it is known whether it is due.
    """

    def apply() -> Any:
        make = _generated if _is_generator(value) else _called
        for seed in SEEDS:
            with contextlib.suppress(tvm.s_tir.ScheduleError):
                return _one_schedule(make(value, module, seed))
        return _one_schedule(make(value, module, SEEDS[0]))

    return apply


def _called(function: Any, module: Any, seed: int) -> Any:
    schedule = tvm.s_tir.Schedule(tvm.IRModule.clone(module), seed=seed)
    returned = function(schedule)
    return schedule if returned is None else returned


def _generated(generator: Any, module: Any, seed: int) -> Any:
    """Return the schedules that a space generator makes, each done anew on the module.

    TVM makes them within, where nobody sees what they started from.
    """
    # Python's own class of contexts imports the intrinsics of all processors, for a minute.
    tuning = tvm.s_tir.meta_schedule._ffi_api
    target = tvm.target.Target({"kind": "llvm", "num-cores": 1})
    context = tuning.TuneContext(module, target, generator, None, "main", 1, seed, None)
    tuning.TuneContextInitialize(context)
    found = []
    for each in generator.generate_design_space(module):
        schedule = tvm.s_tir.Schedule(tvm.IRModule.clone(module))
        each.trace.apply_to_schedule(schedule, remove_postproc=False)
        found.append(schedule)
    return found


def _one_schedule(made: Any) -> Any:
    """Return the schedule of a space. Raises ValueError where it gives several: one is searched."""
    if is_exactly(made, list, tuple) and all(is_schedule(each, "function") for each in made):
        if len(made) != 1:
            raise ValueError(
                f"the space gives {len(made)} schedules: return the one to be searched"
            )
        return made[0]
    return made
