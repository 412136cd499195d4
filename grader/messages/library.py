"""What a process with PyTorch is asked, and what it measured."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.messages.frames import Array, Message, Seconds
from grader.messages.runner import TaskFailure
from grader.messages.tasks import ARRAY_LIMIT


class TimeLibrary(Message, frozen=True):
    """Time the function that PyTorch has for what an assignment times.

    `library` is the text of the assignment's `library.py`; its `library(variant)` returns what is
    called with tensors of the `arrays`. It runs on `cpus` with `threads` threads.
    Blocks last about `block_seconds`, all of them together `budget_seconds` of the processor.
    """

    library: str
    variant: str
    arrays: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=ARRAY_LIMIT)]
    cpus: tuple[int, ...]
    threads: int
    block_seconds: float
    budget_seconds: float


class LibraryTiming(Message, frozen=True):
    """Seconds of a call in the quickest of `blocks` blocks of `calls` calls each.

    `output` is what the last call returned.
    """

    seconds: Seconds
    blocks: Annotated[int, msgspec.Meta(ge=1)]
    calls: Annotated[int, msgspec.Meta(ge=1)]
    output: Array


FromLibrary = LibraryTiming | TaskFailure
