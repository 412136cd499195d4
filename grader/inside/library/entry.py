"""The process that times PyTorch's own function, to set a schedule's time in proportion.

It runs the course's code only, and nothing of a submission is ever near it. PyTorch was imported by
the launcher that it was forked from. The time is that of a call as a student would make it, with
what Python and PyTorch add to it.
"""

import gc
import math
import os
import socket
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from grader.inside.common.failure import answering_for_errors, stage
from grader.inside.common.machine import pin, prepare_environment, silence
from grader.inside.launcher import linux
from grader.messages.frames import (
    READY,
    RUNNER_FRAME_LIMIT,
    decode_payload,
    encode_frame,
    pack_array,
    read_frame,
    unpack_array,
)
from grader.messages.runner import FromLibrary
from grader.messages.timing import LibraryTiming, TimeLibrary
from grader.timing.slices import Spending

MOST_CALLS = 10_000
"""Most calls of a block, however little one takes."""

Call = Callable[[], Any]


def main(arguments: list[str]) -> None:
    """Serve one connection. `arguments`: the number of its descriptor."""
    prepare_environment()
    with socket.socket(fileno=int(arguments[0])) as connection:
        silence(2)  # until here it says why it cannot start
        connection.sendall(READY)
        serve(connection)


def serve(connection: socket.socket) -> None:
    """Answer every task until the other side closes the connection.

    Raises FrameError for what is no task: the referee sends none such.
    """
    while (payload := read_frame(connection, RUNNER_FRAME_LIMIT)) is not None:
        connection.sendall(encode_frame(perform(decode_payload(payload, TimeLibrary))))


def perform(task: TimeLibrary) -> FromLibrary:
    """Do one task; whatever goes wrong becomes a TaskFailure."""
    return answering_for_errors(lambda: time_library(task))


def time_library(task: TimeLibrary) -> LibraryTiming:
    """Measure. Raises TaskError."""
    import torch

    with stage("time"):
        keep_memory()
        _settle(task)
    with stage("load"):
        function = load_library(task.library).library(task.variant)
    with stage("decode"):
        tensors = [torch.from_numpy(unpack_array(each)) for each in task.arrays]
    with stage("run"), torch.inference_mode():
        function(*tensors)  # now PyTorch's threads are there
        pin(task.cpus)
        output = function(*tensors)
        return _measure(lambda: function(*tensors), output.numpy(), task)


def keep_memory() -> None:
    """Have the C library keep what is freed, and not give it back to the system.

    PyTorch makes its output anew in every call. The memory of a large one would be fetched from the
    system each time, page by page: the convolution of 64 images takes 5.3 ms then, and 0.34 ms
    otherwise. What is to be compared is the convolution.
    """
    linux.set_allocator({linux.MMAP_MAX: 0, linux.TRIM_THRESHOLD: linux.NEVER})


def load_library(text: str) -> ModuleType:
    """Execute the course's own `library.py`."""
    module = ModuleType("library")
    exec(compile(text, "library.py", "exec"), module.__dict__)  # noqa: S102 - course code
    return module


def _settle(task: TimeLibrary) -> None:
    """Confine this process to its CPUs before PyTorch starts its threads.

    Threads inherit the confinement of whoever starts them. With more threads than CPUs they would
    wait for one another in turn, which takes a hundred times as long.
    """
    import torch

    os.sched_setaffinity(0, task.cpus)
    torch.set_num_threads(len(task.cpus))


def _measure(call: Call, output: Any, task: TimeLibrary) -> LibraryTiming:
    gc.collect()
    gc.disable()
    try:
        seconds = time_calls(call, task.block_seconds, task.budget_seconds)
    finally:
        gc.enable()
    return LibraryTiming(min(seconds), len(seconds), pack_array(output))


def time_calls(
    call: Call,
    block_seconds: float,
    budget_seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    processor: Callable[[], float] = time.thread_time,
) -> list[float]:
    """Return the seconds of a call in each block, one at least.

    A block lasts `block_seconds` or longer; before each comes a call that is not timed. The budget
    is of `processor` time.
    """

    def block(calls: int) -> float:
        call()
        start = clock()
        for _ in range(calls):
            call()
        return max(1e-9, clock() - start)

    spending = Spending(processor, clock)
    calls = 1
    while (taken := min(block(calls) for _ in range(3))) < block_seconds and calls < MOST_CALLS:
        calls = min(max(calls + 1, math.ceil(1.1 * calls * block_seconds / taken)), MOST_CALLS)
    seconds = [taken / calls]
    while spending.seconds() < budget_seconds:
        seconds.append(block(calls) / calls)
    return seconds
