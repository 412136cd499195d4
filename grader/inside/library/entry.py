"""The process that times PyTorch's own function, to set a schedule's time in proportion.

It runs the course's code only, and nothing of a submission is ever near it. PyTorch was imported by
the launcher that it was forked from. The time is that of a call as a student would make it, with
what Python and PyTorch add to it.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable
from statistics import median
from types import ModuleType
from typing import Any

from grader.inside.common.failure import TaskError, stage
from grader.inside.common.machine import pin, prepare_environment, silence
from grader.inside.launcher import linux
from grader.messages import (
    READY,
    RUNNER_FRAME_LIMIT,
    FromLibrary,
    LibraryTiming,
    TimeLibrary,
    decode_payload,
    encode_frame,
    pack_array,
    read_frame,
    unpack_array,
)
from grader.timing.rounds import Measurable, Meter, SystemMeter, choose_calls, take_block

_WARM_SECONDS = 0.02
"""How long the function is called before anything is measured: PyTorch compiles a kernel at the
first call, and its threads are started."""

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
    try:
        return time_library(task)
    except TaskError as error:
        return error.as_failure()


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

    if not 1 <= task.threads <= len(task.cpus):
        message = f"There are {len(task.cpus)} CPUs for {task.threads} threads."
        raise TaskError("time", "TooFewCpus", message)
    os.sched_setaffinity(0, task.cpus)
    torch.set_num_threads(task.threads)


class LibrarySubject:
    """PyTorch's function on its tensors, as `grader.timing` wants it: there is one input."""

    ring = 1

    def __init__(self, call: Call) -> None:
        self._call = call
        self._made = 0

    def prepare(self, first: int) -> None:
        """Leave all as it is: a call makes its output anew."""

    def run_calls(self, first: int, calls: int) -> None:  # noqa: ARG002 - there is but one input
        """Call it."""
        call = self._call
        for _ in range(calls):
            call()
        self._made = calls

    def made(self) -> int:
        """Return how many calls the last block had."""
        return self._made

    def finish(self, last: int) -> None:
        """Leave the output unread: nothing of a submission was here."""


def _measure(call: Call, output: Any, task: TimeLibrary) -> LibraryTiming:
    subject, meter = LibrarySubject(call), SystemMeter(task.cpus)
    gc.collect()
    gc.disable()
    try:
        warm_up(subject, meter)
        calls = choose_calls(subject, task.block_seconds, meter)
        kept, disturbed = measure_blocks(subject, calls, task, meter)
    finally:
        gc.enable()
    return LibraryTiming(
        median(kept or disturbed), len(kept), len(disturbed), calls, pack_array(output)
    )


def warm_up(subject: Measurable, meter: Meter) -> None:
    """Call a function for a while."""
    end = meter.wall() + _WARM_SECONDS
    subject.run_calls(0, 1)
    while meter.wall() < end:
        subject.run_calls(0, 1)


def measure_blocks(
    subject: Measurable, calls: int, task: TimeLibrary, meter: Meter
) -> tuple[list[float], list[float]]:
    """Return seconds of a call in each undisturbed block, and in each disturbed one.

    A block is disturbed when a thread had to leave its processor to somebody else meanwhile.
    """
    end = meter.wall() + task.budget_seconds
    kept: list[float] = []
    disturbed: list[float] = []
    while len(kept) < task.blocks and (meter.wall() < end or not kept + disturbed):
        block = take_block(subject, 0, calls, meter)
        (disturbed if block.switches else kept).append(block.seconds)
    return kept, disturbed
