"""Whether everybody in a sandbox waits, so that it need not be looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from grader.inside.launcher import usage

RESTED_AT_MOST = 1.0
"""Seconds after which a sandbox is looked at again in which nobody seems to run."""


class Stillness:
    """Knows what each thread of a sandbox had run when it was looked at.

    `processes` lists those that there are. `newest` changes when any is made; without it that need
    not be asked, as none can be made so that `processes` misses it.
    """

    def __init__(
        self, processes: Callable[[], Sequence[int]], newest: Callable[[], bytes] | None
    ) -> None:
        self._processes = processes
        self._newest = newest or bytes
        self._known: Mapping[str, bytes] = {}
        self._since = 0.0
        self._whole: bytes | None = None

    def begin(self, since: float, known: Mapping[str, bytes] | None) -> None:
        """Note what `usage.rest` told, in a look that began then."""
        self._since, self._known, self._whole = since, known or {}, None

    def lasts(self) -> bool:
        """Say whether nobody has run since the last look: then all hold what they held.

        Most sandboxes wait most of the time, and to look at them took an eighth of the processors.
        """
        rested = time.monotonic() - self._since
        if rested > RESTED_AT_MOST or not self._known or usage.have_run(self._known):
            return False
        return self._is_whole()

    def _is_whole(self) -> bool:
        """Say whether what was noted is of all threads that there are.

        One that was made between a look's lists and what was noted of those in them is in neither;
        inotify(7) tells a program when it is looked at, and so when to make one. So all are listed
        once more. Without namespaces that list can be evaded, too: a process that is gone when it
        is asked for its parent has left another. There it holds until any process is made.
        """
        newest = self._newest()
        if self._whole != newest:
            is_all = usage.are_all(self._known, self._processes())
            self._whole = newest if is_all else None
        return self._whole == newest
