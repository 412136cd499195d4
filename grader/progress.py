"""How long work tells that it is going on. The pipeline calls, a command line draws."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what is being done. Both methods return at once."""

    def stage(self, name: str) -> None:
        """Begin a stage; `name` is a short phrase for a person ("running the notebook")."""
        ...

    def step(self, done: int, total: int, label: str = "") -> None:
        """Say that `done` of `total` steps of the stage are finished and `label` is under way."""
        ...


class Silent:
    """A Progress that shows nothing."""

    def stage(self, name: str) -> None:
        """Ignore the stage."""

    def step(self, done: int, total: int, label: str = "") -> None:
        """Ignore the step."""


class BatchProgress(Protocol):
    """Receives which submissions of a batch are being graded. May be called from any thread."""

    def started(self, name: str) -> None:
        """Say that the submission of this name is being graded from now on."""
        ...

    def stage(self, name: str, stage: str) -> None:
        """Say what is being done with it, as a Progress is told."""
        ...

    def finished(self, name: str, outcome: str) -> None:
        """Say that it has been graded, and in a line what came out."""
        ...
