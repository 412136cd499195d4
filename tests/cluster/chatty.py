"""Loaded by a scheduler: it says two things at once to a client that comes back.

Dask's does so by chance, where somebody joins or leaves in the moment of the client's return.
"""

from __future__ import annotations

from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin


class Chatty(SchedulerPlugin):
    def __init__(self) -> None:
        self._known: set[str] = set()

    def add_client(self, scheduler: Scheduler, client: str) -> None:
        if client in self._known:
            scheduler.loop.add_callback(self._chat, scheduler, client)
        self._known.add(client)

    def _chat(self, scheduler: Scheduler, client: str) -> None:
        message: dict[str, Any] = {"op": "event", "topic": "all", "event": (0.0, "hello")}
        scheduler.client_comms[client].send(message)


def dask_setup(scheduler: Scheduler) -> None:
    scheduler.add_plugin(Chatty())
