"""Boxes: the places, empty and ready, that programs are started in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from grader.inside.launcher.protocol import Confinement
from grader.language import Text
from grader.sandbox.interface import Command, Level, ResourceLimits


class Box(Protocol):
    """The place of one program."""

    @property
    def folder(self) -> str:
        """The working folder and home as the program sees it."""
        ...

    @property
    def watched(self) -> tuple[str, ...]:
        """All folders that it can write to."""
        ...

    @property
    def confinement(self) -> Confinement:
        """What takes its powers away."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that every program in a box like this one gets."""
        ...

    @property
    def pidfd(self) -> int | None:
        """A descriptor of the process whose namespaces it enters; None where there are none."""
        ...

    def capacity(self, limits: ResourceLimits) -> int:
        """Return how many bytes files in it may take, which are memory unless on a disk."""
        ...

    def end(self) -> None:
        """End everything inside, wait until it is gone, and leave nothing behind.

        May be called again.
        """
        ...


class Boxes(Protocol):
    """A maker of boxes: one for each level of isolation."""

    @property
    def level(self) -> Level:
        """How strong its boxes are."""
        ...

    @property
    def detail(self) -> Text:
        """One sentence on the mechanism, for the report."""
        ...

    def make(self, command: Command) -> Box:
        """Make the box that a command wants. Raises SandboxError when the machine refuses."""
        ...
