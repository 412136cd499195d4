"""What a process with PyTorch is asked, and what it measured."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.messages.frames import Array, Count, Message, Seconds
from grader.messages.runner import TaskFailure
from grader.messages.tasks import ARRAY_LIMIT


class TimeLibrary(Message, frozen=True):
    """Time the function that PyTorch has for what an assignment times.

    `library` is the text of the assignment's `library.py`; its `library(variant)` returns what is
    called with tensors of the `arrays`. It runs on `cpus` with `threads` threads.
    Blocks last about `block_seconds`; they are measured until `blocks` of them were undisturbed or
    `budget_seconds` are spent.
    """

    library: str
    variant: str
    arrays: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=ARRAY_LIMIT)]
    cpus: tuple[int, ...]
    threads: int
    block_seconds: float
    blocks: int
    budget_seconds: float


class LibraryTiming(Message, frozen=True):
    """Median seconds of a call over the undisturbed blocks, of which there were `blocks`.

    `rejected` counts those that were disturbed. With no block undisturbed the median is that of all
    of them. `calls` is how many calls a block had, `output` what the last one returned.
    """

    seconds: Seconds
    blocks: Count
    rejected: Count
    calls: Count
    output: Array


FromLibrary = LibraryTiming | TaskFailure
