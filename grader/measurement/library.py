"""How long PyTorch's own function takes, to set the time of a schedule in proportion.

It concerns no points, and nothing of a submission is near it.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from threading import Lock

import numpy as np

from grader.evidence.case import FloatArray, Problem
from grader.evidence.problems import told_by
from grader.evidence.runner_client import start_runner
from grader.language import say
from grader.messages.frames import pack_array, unpack_array
from grader.messages.timing import LibraryTiming, TimeLibrary
from grader.sandbox.interface import ResourceLimits, Sandbox

BLOCK_SECONDS = 0.0001
"""Long beside what it costs Python to read the clock."""

BUDGET_SECONDS = 0.2
TIMEOUT_SECONDS = 30.0

NOT_HERE = say("time-pytorchs-own-function-not-known")


@dataclass(frozen=True)
class LibraryTime:
    """Seconds of one call of PyTorch's function, its arguments in PyTorch's hands already: in the
    quickest of `blocks` blocks.

    `output` is what it returned: whoever has the right answer may compare.
    """

    seconds: float
    blocks: int
    output: FloatArray


def measure_library(
    sandbox: Sandbox,
    library: str,
    variant: str,
    arrays: tuple[FloatArray, ...],
    cpus: Collection[int],
) -> LibraryTime | Problem:
    """Time the function that `library.py`, whose text is `library`, has for a variant.

    `arrays` are as one call of it takes them. PyTorch has a thread for each of `cpus`. Raises
    SandboxError when no process can be started, ProtocolError when its answer is not a message.
    """
    task = TimeLibrary(
        library=library,
        variant=variant,
        arrays=tuple(pack_array(each) for each in arrays),
        cpus=tuple(sorted(cpus)),
        block_seconds=BLOCK_SECONDS,
        budget_seconds=BUDGET_SECONDS,
    )
    with start_runner(sandbox, "library", ResourceLimits(watch=0), {}) as runner:
        answer = runner.request(task, TIMEOUT_SECONDS)
    if not isinstance(answer, LibraryTiming):
        return Problem(
            say(NOT_HERE, reason=told_by(answer)),
            say("see-assignments-library-py"),
            code="no_answer",
        )
    output = np.asarray(unpack_array(answer.output), np.float64)
    return LibraryTime(answer.seconds, answer.blocks, output)


Arrays = tuple[FloatArray, ...]
"""The arrays of one call, that which changes first."""

LibraryTimer = Callable[[str, Arrays, tuple[int, ...]], LibraryTime | Problem]
"""Times PyTorch's own function for a variant of the workload, on the processors given."""

ENOUGH = 2
"""Times of one function, after which it is not measured again."""


class LibraryTimes:
    """What gradings of one process have measured: all of them compare with the same function.

    May be used by many threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[Hashable, list[LibraryTime]] = {}

    def find(
        self, key: Hashable, measure: Callable[[], LibraryTime | Problem]
    ) -> LibraryTime | Problem:
        """Return the least time known under a key: what disturbs only makes a function slower.

        It is measured first, by `measure`, as long as too little is known.
        """
        with self._lock:
            known = list(self._found.get(key, []))
        if len(known) >= ENOUGH:
            return min(known, key=lambda each: each.seconds)
        found = measure()
        if isinstance(found, LibraryTime):
            with self._lock:
                self._found.setdefault(key, []).append(found)
        if isinstance(found, Problem) and known:
            return known[0]
        return found
