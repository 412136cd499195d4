"""Beside others, what the machine did to a program is not told as its own doing."""

from __future__ import annotations

from typing import Any

import pytest

from grader.errors import DisplacedError
from grader.language import foreign
from grader.sandbox.interface import Command
from grader.sandbox.room import CrowdedSandbox, refuse_displaced


class Ended:
    """A process that was ended for a reason."""

    standard_error = "words"
    peak = 5

    def __init__(self, cause: str) -> None:
        self.cause = cause

    def poll(self) -> int:
        return 137


class Ending:
    """A sandbox in which everything has ended for a reason."""

    level = "strong"
    detail = foreign("Everything ends.")

    def __init__(self, cause: str) -> None:
        self._cause = cause

    def start(self, command: Command) -> Any:
        return Ended(self._cause)


def in_a_crowd(cause: str) -> Any:
    return CrowdedSandbox(Ending(cause)).start(Command("python"))  # type: ignore[arg-type]


@pytest.mark.parametrize("cause", ["machine", "starved", "outside"])
def test_what_others_may_have_taken_is_refused_in_a_crowd(cause: str) -> None:
    with pytest.raises(DisplacedError, match="no memory or no processor left"):
        refuse_displaced(in_a_crowd(cause))


@pytest.mark.parametrize("cause", ["", "memory", "processes", "files", "disk", "descriptors"])
def test_its_own_bounds_are_its_own_matter(cause: str) -> None:
    process = in_a_crowd(cause)
    refuse_displaced(process)
    assert (cause, 5, "words", 137) == (
        process.cause,
        process.peak,
        process.standard_error,
        process.poll(),
    )


@pytest.mark.parametrize("cause", ["machine", "starved"])
def test_alone_it_has_itself_to_blame(cause: str) -> None:
    refuse_displaced(Ended(cause))  # type: ignore[arg-type]
