"""Who touched an element last: how two threads are caught that meet without a barrier between.

Threads are numbered through the whole grid. Each block counts its barriers; that count is the
thread's epoch. Two accesses of one element are ordered if they are one thread's, or of one block
with a barrier between; else they race where one of them stores another value than is there. A store
of the same value is no race but waste: TVM lets every thread of a block copy a whole tile if nobody
told it which thread copies what, and that is slow, but right. A thread that has stored a value
itself may load it without a barrier, although another one was the last to store the same.

Of each element the last store and the last two loads of different threads are kept. That is enough:
whatever comes next meets one of them if it meets any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


SITE_MARKS = 2**20
"""More accesses than a kernel has: a mark is the time of an access, times this, and its number."""

MOST_TOGETHER = 2**22
"""Most stores of values that several threads have stored that are remembered: 100 MB."""


class Meeting(NamedTuple):
    """Two threads at one element: who was there before, the mark of that access, and who comes."""

    key: int
    before: int
    mark: int
    now: int


class Shadow:
    """The shadow of `size` elements, for blocks of `threads` threads."""

    def __init__(self, size: int, threads: int) -> None:
        self.threads = threads
        self.writer = np.full(size, -1, np.int64)
        self.write_epoch = np.zeros(size, np.int64)
        self.write_mark = np.zeros(size, np.int64)
        self.by_all = np.zeros(size, np.bool_)
        self.by_several = np.zeros(size, np.bool_)
        self._several: list[tuple[Numbers, Numbers, Numbers]] = []
        self.reader = np.full(size, -1, np.int64)
        self.read_epoch = np.zeros(size, np.int64)
        self.read_mark = np.zeros(size, np.int64)
        self.other = np.full(size, -1, np.int64)
        self.other_mark = np.zeros(size, np.int64)

    def _is_open(self, before: Numbers, epoch: Numbers, now: Numbers, then: Numbers) -> Mask:
        """Say where no barrier lies between an access of `before`, in its `epoch`, and now."""
        elsewhere = before // self.threads != now // self.threads
        is_open: Mask = (before >= 0) & (elsewhere | (epoch == then))
        return is_open

    def load(self, keys: Numbers, who: Numbers, epoch: Numbers, mark: int) -> Meeting | None:
        """Take down loads of some threads, all at once; return one that meets a store."""
        writer = self.writer[keys]
        clash = (
            self._is_open(writer, self.write_epoch[keys], who, epoch)
            & (writer != who)
            & ~self.by_all[keys]
        )
        if clash.any():
            clash &= ~self._has_stored_too(keys, who, epoch)
        found = self._first(clash, keys, writer, self.write_mark, who)
        reader, other = self.reader[keys], self.other[keys]
        fresh = self.read_epoch[keys] != epoch
        # A barrier has been passed since: what this block's threads loaded before is settled.
        other = np.where(fresh & self._are_neighbours(other, who), -1, other)
        keep = (reader >= 0) & (reader != who) & ~(fresh & self._are_neighbours(reader, who))
        self.other_mark[keys] = np.where(keep, self.read_mark[keys], self.other_mark[keys])
        self.other[keys] = np.where(keep, reader, other)
        self.reader[keys], self.read_epoch[keys], self.read_mark[keys] = who, epoch, mark
        lost = self.reader[keys] != who
        if lost.any():
            self.other[keys[lost]], self.other_mark[keys[lost]] = who[lost], mark
        return found

    def store(
        self, keys: Numbers, who: Numbers, epoch: Numbers, mark: int, changed: Mask
    ) -> Meeting | None:
        """Take down stores of some threads, all at once; return one that meets another access.

        `changed` says which of them store another value than was there.
        """
        writer, reader, other = self.writer[keys], self.reader[keys], self.other[keys]
        found = None
        if changed.any():
            read = self.read_epoch[keys]
            clashes = (
                (self.write_epoch[keys], writer, self.write_mark),
                (read, reader, self.read_mark),
                (read, other, self.other_mark),
            )
            for number, (when, before, marks) in enumerate(clashes):
                foreign = before != who
                if number == 0:
                    foreign |= self.by_all[keys] | self.by_several[keys]
                clash = changed & foreign & self._is_open(before, when, who, epoch)
                found = found or self._first(clash, keys, before, marks, who)
        self.writer[keys], self.write_epoch[keys] = who, epoch
        self.write_mark[keys] = mark
        self.by_all[keys] = self.by_several[keys] = False
        return found

    def stored_by(self, sites: tuple[int, ...], keys: Numbers, who: Numbers) -> Meeting | None:
        """Return a thread at an element that one of these sites was the last to store."""
        writer = self.writer[keys]
        found = (writer >= 0) & np.isin(self.write_mark[keys] % SITE_MARKS, sites)
        return self._first(found, keys, writer, self.write_mark, who)

    def share(self, keys: Numbers, who: Numbers, epoch: Numbers) -> int:
        """Take down that one statement stored the same value several times at some of the `keys`;
        return how often more than once."""
        unique, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        self.by_all[unique[counts == self.threads]] = True
        several = (counts[places] > 1) & (counts[places] < self.threads)
        if several.any():
            self._take_down_several(keys[several], who[several], epoch[several])
        return int(counts.sum() - len(unique))

    def _take_down_several(self, keys: Numbers, who: Numbers, epoch: Numbers) -> None:
        kept = [each for each in self._several if each[2].max() >= epoch.min()]
        self._several = [*kept[-MOST_TOGETHER // len(keys) :], (keys, who, epoch)]
        self.by_several[keys] = True

    def _has_stored_too(self, keys: Numbers, who: Numbers, epoch: Numbers) -> Mask:
        """Say which threads have stored themselves, since the last barrier, what several did."""
        found = self.by_several[keys]
        if found.any():
            known = np.concatenate([_codes(*each) for each in self._several])
            found[found] = np.isin(_codes(keys[found], who[found], epoch[found]), known)
        return found

    def _are_neighbours(self, first: Numbers, second: Numbers) -> Mask:
        same: Mask = first // self.threads == second // self.threads
        return same

    @staticmethod
    def _first(
        clash: Mask, keys: Numbers, before: Numbers, marks: Numbers, who: Numbers
    ) -> Meeting | None:
        if not clash.any():
            return None
        place = int(np.argmax(clash))
        key = int(keys[place])
        return Meeting(key, int(before[place]), int(marks[key]), int(who[place]))


def _codes(keys: Numbers, who: Numbers, epoch: Numbers) -> npt.NDArray[Any]:
    """Return one comparable number for each key with its thread and epoch."""
    columns = np.ascontiguousarray(np.stack([keys, who, epoch], axis=1))
    return columns.view("V24").reshape(-1)


def bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values as integers of the same bits: NaN equals itself, and -0 differs from 0."""
    plain = np.ascontiguousarray(values)
    return plain if plain.dtype.kind in "biu" else plain.view(f"u{plain.dtype.itemsize}")
