"""Memory of a GPU, element by element: global, shared by a block, and each thread's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.evidence.gpu.inside.poison import poisoned
from grader.evidence.gpu.inside.shadows import Shadow, bits
from grader.evidence.gpu.inside.state import Site, State, Values
from grader.evidence.gpu.inside.traffic import WARP, passes, sectors

Array = npt.NDArray[Any]


class Memory:
    """One buffer, flat. `written` says which elements hold what somebody stored; None for all."""

    scope = "global"

    def __init__(self, name: str, shape: tuple[int, ...], data: Array) -> None:
        self.name = name
        self.shape = shape
        self.size = math.prod(shape)
        self.data = data
        self.written: npt.NDArray[np.bool_] | None = None
        self.shadow: Shadow | None = None
        self._rows: Array | None = None

    def element(self, key: int) -> tuple[int, ...]:
        """Return the indices of an element, by its key."""
        index = key % self.size
        return tuple(int(each) for each in np.unravel_index(index, self.shape))

    def load(self, state: State, site: Site, index: Values) -> Array:
        """Return what the threads that take part load; of the others anything."""
        places, mask = self._places(state, site, index)
        keys = self._keys(places)
        chosen, who, epoch = self._chosen(state, keys, mask)
        if self.written is not None:
            missing = ~self.written[chosen]
            if missing.any():
                first = int(np.argmax(missing))
                state.tell("unwritten", self, site, (int(chosen[first]), int(who[first])))
        if self.shadow is not None:
            meeting = self.shadow.load(chosen, who, epoch, state.launch.mark(site))
            if meeting is not None:
                state.tell_race(meeting, self, site)
            other = self.shadow.stored_by(site.foreign, chosen, who) if site.foreign else None
            if other is not None:
                state.tell_other_name(other, self, site)
        if not site.is_kept(state.values):
            self._count(state, site, places)
        loaded: Array = self.data[keys]
        return loaded

    def store(self, state: State, site: Site, index: Values, value: Values) -> None:
        """Store what the threads that take part have."""
        places, mask = self._places(state, site, index)
        keys = self._keys(places)
        chosen, who, epoch = self._chosen(state, keys, mask)
        values = np.broadcast_to(np.asarray(value, self.data.dtype), keys.shape)
        stored = values.reshape(-1) if mask is None else values[mask]
        before = self.data[chosen]
        self.data[chosen] = stored
        if self.written is not None:
            self.written[chosen] = True
        if self.shadow is not None:
            self._shade(state, site, (chosen, who, epoch), before, stored)
        self._count(state, site, places)

    def _shade(self, state: State, site: Site, lanes: Any, before: Array, stored: Array) -> None:
        """Look for races of a store."""
        keys, who, epoch = lanes
        shadow = self.shadow
        assert shadow is not None
        changed = bits(before) != bits(stored)
        meeting = shadow.store(keys, who, epoch, state.launch.mark(site), changed)
        if meeting is not None:
            state.tell_race(meeting, self, site)
        winner = shadow.writer[keys]
        lost = winner != who
        if not lost.any():
            return
        wrong = lost & (bits(self.data[keys]) != bits(stored))
        if wrong.any():
            found = shadow._first(wrong, keys, winner, shadow.write_mark, who)
            assert found is not None
            state.tell_race(found, self, site)
        else:
            site.repeated += shadow.share(keys, who, epoch) * self.data.dtype.itemsize

    def _places(self, state: State, site: Site, index: Values) -> tuple[Array, Any]:
        """Return which element each thread touches, 0 for those that touch none, and who does."""
        places = state.whole(index)
        mask = state.active(places.shape[2:])
        outside = (places < 0) | (places >= self.size)
        if mask is not None:
            outside = outside & mask
        if outside.any():
            first = int(np.argmax(outside))
            lanes = math.prod(places.shape[2:])
            who = int(state.who.reshape(-1)[first // lanes])
            state.tell("bounds", _Beyond(self), site, (int(places.reshape(-1)[first]), who))
            mask = ~outside if mask is None else mask & ~outside
        if mask is not None:
            places = np.where(mask, places, 0)
        return places, mask

    def _keys(self, places: Array) -> Array:
        """Return the keys of elements: each owner of a buffer has a row of its own."""
        if self._rows is None:
            return places
        keys: Array = (self._rows if places.ndim == 2 else self._rows[..., None]) + places
        return keys

    @staticmethod
    def _chosen(state: State, keys: Array, mask: Any) -> tuple[Array, Array, Array]:
        """Return keys, threads and epochs of those that take part, in a row."""
        who, epoch = state.who, state.epoch
        if keys.ndim == 3:
            who, epoch = who[..., None], epoch[..., None]
        who = np.broadcast_to(who, keys.shape)
        epoch = np.broadcast_to(epoch, keys.shape)
        if mask is None:
            return keys.reshape(-1), who.reshape(-1), epoch.reshape(-1)
        return keys[mask], who[mask], epoch[mask]

    def _count(self, state: State, site: Site, places: Array) -> None:
        site.add(sectors(places, state.mask, self.data.dtype.itemsize))


class SharedMemory(Memory):
    """A buffer of which each block of a batch has one."""

    scope = "shared"

    def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], state: State):
        blocks, threads = state.shape
        size = math.prod(shape)
        super().__init__(name, shape, poisoned(blocks * size, dtype))
        self.written = np.zeros(blocks * size, np.bool_)
        self.shadow = Shadow(blocks * size, threads)
        self._rows = np.arange(blocks)[:, None] * size

    def _count(self, state: State, site: Site, places: Array) -> None:
        site.add(passes(places, state.mask, self.data.dtype.itemsize))


class LocalMemory(Memory):
    """A buffer of which each thread has one."""

    scope = "local"

    def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], state: State):
        size = math.prod(shape)
        super().__init__(name, shape, poisoned(math.prod(state.shape) * size, dtype))
        self._own = self.data.reshape(*state.shape, size)
        self._complete = np.zeros(size, np.bool_)
        self.written = np.zeros(self.data.size, np.bool_)
        self._own_written = self.written.reshape(*state.shape, size)
        self._rows = np.arange(math.prod(state.shape)).reshape(state.shape) * size

    def load(self, state: State, site: Site, index: Values) -> Array:
        """Return what the threads that take part load."""
        number = int(index) if np.ndim(index) == 0 else -1
        if 0 <= number < self.size and self._complete[number]:
            return self._own[..., number]
        return super().load(state, site, index)

    def store(self, state: State, site: Site, index: Values, value: Values) -> None:
        """Store what the threads that take part have."""
        number = int(index) if np.ndim(index) == 0 else -1
        if state.mask is None and 0 <= number < self.size:
            self._own[..., number] = value
            if not self._complete[number]:
                self._complete[number] = self._own_written[..., number] = True
            return
        if 0 <= number < self.size and self._complete[number]:
            np.copyto(self._own[..., number], value, where=state.mask, casting="same_kind")
            return
        super().store(state, site, index, value)

    def _count(self, state: State, site: Site, places: Array) -> None:
        """Registers cost nothing."""


class WarpMemory(Memory):
    """A buffer of which each warp has one: TVM makes shuffles of its loads, so nobody races."""

    scope = "warp"

    def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], state: State):
        blocks, threads = state.shape
        warps, size = -(-threads // WARP), math.prod(shape)
        super().__init__(name, shape, poisoned(blocks * warps * size, dtype))
        self.written = np.zeros(self.data.size, np.bool_)
        warp = np.arange(blocks)[:, None] * warps + np.arange(threads)[None, :] // WARP
        self._rows = warp * size

    def _count(self, state: State, site: Site, places: Array) -> None:
        """Registers cost nothing."""


class OwnMemory(LocalMemory):
    """A buffer without a scope inside of a kernel: TVM gives each thread one, on its stack."""

    scope = "own"


class _Beyond:
    """A buffer, for an index that is none of its elements."""

    def __init__(self, memory: Memory) -> None:
        self.name = memory.name
        self.scope = memory.scope
        self._shape = memory.shape

    def element(self, key: int) -> tuple[int, ...]:
        """Return the indices of an element before or behind the buffer, in rows as long as its."""
        row = self._shape[1:]
        first, rest = divmod(key, math.prod(row))
        return (first, *(int(each) for each in np.unravel_index(rest, row)))
