"""What each kind of part takes from the notebook at the end of a cell."""

from __future__ import annotations

import functools
from typing import Protocol

from grader.inside.kernel.entries import EntryPoints
from grader.inside.kernel.faults import Faults
from grader.inside.kernel.modules import BoundModules, Unwrap, is_schedule, module_of, module_within
from grader.inside.kernel.objects import Namespace, has_wildcard, rank_of, ranked
from grader.inside.kernel.schedules import Known, ScheduleLedger
from grader.inside.kernel.sender import Candidate, Sender
from grader.inside.kernel.snapshots import Snapshot
from grader.messages import EntrySpec

LOCAL_NAME = "a local schedule"
"""What a schedule is called that no public name is bound to."""

LOCAL_LIMIT = 8
"""Schedules without a name that are taken at the end of one cell, the newest."""


class Part(Protocol):
    """What looks for the candidates of one part."""

    def sweep(self, values: Namespace) -> None:
        """Look through the notebook's public names at the end of a cell."""
        ...


class FunctionPart:
    """A part whose entry point is a function; any module in the notebook may be it, too.

    The referee takes one under another name only where none of those that were asked for will do.
    """

    def __init__(
        self, spec: EntrySpec, entries: EntryPoints, sender: Sender, faults: Faults
    ) -> None:
        self._spec = spec
        self._entries = entries
        self._sender = sender
        self._faults = faults
        self._modules = BoundModules(_plain(spec))

    def sweep(self, values: Namespace) -> None:
        """Call what is due; then take all modules."""
        self._entries.sweep(values)
        for name, module in self._modules.news(values).items():
            by_name = rank_of(name, self._spec.names) is not None
            with self._faults.shielded():
                self._sender.offer(Candidate(self._spec.part, name, by_name, module))


class ModulePart:
    """A part whose answer is bound to a name; any module may be it, too.

    The lecture's introduction may use the name for an example: the referee looks at the others
    where what bears the name will not do.
    """

    def __init__(
        self, spec: EntrySpec, entries: EntryPoints, sender: Sender, faults: Faults
    ) -> None:
        self._spec = spec
        self._entries = entries
        self._sender = sender
        self._faults = faults
        self._asked = BoundModules(functools.partial(module_within, holds=spec.holds))
        self._others = BoundModules(_plain(spec))

    def sweep(self, values: Namespace) -> None:
        """Take the modules with a name that was asked for, call such functions, then the rest."""
        asked = {name: values[name] for name in ranked(values, self._spec.names)}
        self._offer(self._asked.news(asked), by_name=True)
        self._entries.sweep(values)
        self._offer(self._others.news(values), by_name=False)

    def _offer(self, modules: dict[str, Snapshot], *, by_name: bool) -> None:
        for name, module in modules.items():
            with self._faults.shielded():
                self._sender.offer(Candidate(self._spec.part, name, by_name, module))


class SchedulePart:
    """A part whose answer is a Schedule, or a module that was scheduled or put together by hand."""

    def __init__(
        self,
        spec: EntrySpec,
        entries: EntryPoints,
        sender: Sender,
        ledger: ScheduleLedger,
        faults: Faults,
    ) -> None:
        self._spec = spec
        self._entries = entries
        self._sender = sender
        self._faults = faults
        self._ledger = ledger
        self._modules = BoundModules(_plain(spec))
        self._states: dict[int, tuple[Known, Snapshot]] = {}

    def sweep(self, values: Namespace) -> None:
        """Take the schedules, those with a name last, then what functions return, then modules."""
        names = self._name_schedules(values)
        news = [(known, names.get(known.schedule.__chandle__())) for known in self._news()]
        for known, _ in [pair for pair in news if pair[1] is None][-LOCAL_LIMIT:]:
            with self._faults.shielded():
                self._offer_schedule(known, None)
        for known, name in news:
            if name is not None:
                with self._faults.shielded():
                    self._offer_schedule(known, name)
        self._entries.sweep(values)
        for name, module in self._modules.news(values).items():
            with self._faults.shielded():
                self._sender.offer(Candidate(self._spec.part, name, self._is_asked(name), module))

    def _name_schedules(self, values: Namespace) -> dict[int, str]:
        """Return the best public name of each Schedule that has one, by TVM's identity of it."""
        holds = self._spec.holds
        schedules = [name for name, value in values.items() if is_schedule(value, holds)]
        asked = ranked(schedules, self._spec.names)
        names: dict[int, str] = {}
        for name in [*asked, *(name for name in schedules if name not in asked)]:
            names.setdefault(self._ledger.find(values[name]).schedule.__chandle__(), name)
        return names

    def _news(self) -> list[Known]:
        """Return the schedules whose module has changed, oldest first."""
        states: dict[int, tuple[Known, Snapshot]] = {}
        fresh: list[Known] = []
        for known in self._ledger.all(self._spec.holds):
            seen = self._states.get(id(known))
            if seen is None or not seen[1].is_current(known.schedule.mod):
                seen = (known, Snapshot(known.schedule.mod))
                fresh.append(known)
            states[id(known)] = seen
        self._states = states
        return fresh

    def _offer_schedule(self, known: Known, name: str | None) -> None:
        self._sender.offer(
            Candidate(
                part=self._spec.part,
                name=name or LOCAL_NAME,
                by_name=name is not None and self._is_asked(name),
                module=self._states[id(known)][1],
                base=known.base,
                trace=known.trace(),
            )
        )

    def _is_asked(self, name: str) -> bool:
        return rank_of(name, self._spec.names) is not None


def exact_names(spec: EntrySpec) -> tuple[str, ...]:
    """Return the patterns of a part that match one name only."""
    return tuple(name for name in spec.names if not has_wildcard(name))


def _plain(spec: EntrySpec) -> Unwrap:
    return functools.partial(module_of, holds=spec.holds)
