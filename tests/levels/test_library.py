"""PyTorch's own function, timed in a sandbox of every level."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from grader.evidence.case import Problem
from grader.evidence.runner_client import start_runner
from grader.machine.cpus import quiet_cpus
from grader.measurement.library import LibraryTime, measure_library
from grader.messages.frames import pack_array
from grader.messages.timing import LibraryTiming, TimeLibrary
from grader.sandbox.interface import ResourceLimits
from grader.sandbox.start import SteppingSandbox

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = (ROOT / "assignments/e2e-conv/library.py").read_text()

GENERATOR = np.random.default_rng(5)
ARRAYS = (
    GENERATOR.standard_normal((2, 1, 28, 28)),
    GENERATOR.standard_normal((32, 1, 3, 3)),
    GENERATOR.standard_normal(32),
)

TELLING = """
import os
import torch
def library(variant):
    return lambda data: torch.tensor({expression}, dtype=torch.float32)
"""


def measure(sandbox: SteppingSandbox, library: str = LIBRARY) -> LibraryTime | Problem:
    cpus = quiet_cpus(1, os.sched_getaffinity(0))
    return measure_library(sandbox, library, "conv2d", ARRAYS, cpus)


def output_of(sandbox: SteppingSandbox, expression: str, threads: int = 1) -> list[float]:
    """Return what is told in the process, as a list of numbers, however busy the machine is."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))[:threads]
    task = TimeLibrary(
        library=TELLING.format(expression=expression),
        variant="any",
        arrays=(pack_array(np.zeros(1, np.float32)),),
        cpus=cpus,
        block_seconds=0.001,
        budget_seconds=0.01,
    )
    with start_runner(sandbox, "library", ResourceLimits(), {}) as runner:
        answer = runner.request(task, 60)
    assert isinstance(answer, LibraryTiming), answer
    return list(np.frombuffer(answer.output.data, np.float32).astype(float))


def test_the_function_is_timed_and_its_output_comes_along(sandbox: SteppingSandbox) -> None:
    timed = measure(sandbox)
    assert isinstance(timed, LibraryTime)
    assert (2, 32, 26, 26) == timed.output.shape
    assert 1e-6 < timed.seconds < 1
    assert timed.blocks >= 1


def test_a_function_that_lasts_longer_than_a_block_is_timed_all_the_same(
    sandbox: SteppingSandbox,
) -> None:
    text = "import time, torch\ndef library(variant):\n"
    text += "    return lambda *_: time.sleep(0.12) or torch.zeros(1)"
    timed = measure(sandbox, text)
    assert isinstance(timed, LibraryTime)
    assert 0.12 <= timed.seconds < 10


def test_it_has_the_threads_that_it_was_given(sandbox: SteppingSandbox) -> None:
    threads = min(2, len(os.sched_getaffinity(0)))
    assert [threads] == output_of(sandbox, "[torch.get_num_threads()]", threads)


def test_every_thread_is_confined_to_those_cpus(sandbox: SteppingSandbox) -> None:
    """Threads that PyTorch starts inherit what the process had when they were started."""
    threads = min(2, len(os.sched_getaffinity(0)))
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    masks = "[os.sched_getaffinity(int(task)) for task in os.listdir('/proc/self/task')]"
    told = (
        "(lambda value, masks: [len(masks), *sorted(set.union(*masks))])"
        f"(torch.ones(4096, 4096).exp_().sum(), {masks})"
    )
    assert [threads, *cpus] == output_of(sandbox, told, threads)


def test_memory_of_outputs_is_fetched_once_and_not_in_each_call(sandbox: SteppingSandbox) -> None:
    faults = "__import__('resource').getrusage(0).ru_minflt"
    use = "sum(float(torch.ones(2**24).sum()) for _ in range({count}))"  # 64 MB each
    told = f"[{use.format(count=2)}, {faults}, {use.format(count=12)}, {faults}]"
    _, before, _, after = output_of(sandbox, told)
    pages = 2**26 / os.sysconf("SC_PAGE_SIZE")
    assert after - before < 4 * pages


def test_with_one_thread_no_other_one_is_started(sandbox: SteppingSandbox) -> None:
    assert [1] == output_of(sandbox, "[len(os.listdir('/proc/self/task'))]")


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("def library(variant:", "SyntaxError"),
        ("x = 1", "AttributeError"),
        ("def library(variant):\n    raise KeyError(variant)", "KeyError"),
        ("def library(variant):\n    return lambda *arrays: 1 / 0", "ZeroDivisionError"),
        ("import os\nos._exit(3)", "Died"),
    ],
)
def test_a_library_that_fails_is_a_problem_that_says_why(
    sandbox: SteppingSandbox, library: str, words: str
) -> None:
    problem = measure(sandbox, library)
    assert isinstance(problem, Problem)
    assert words in problem.reason.english
    assert "library.py" in problem.hint.english


def test_a_cpu_that_is_not_there_is_a_problem(sandbox: SteppingSandbox) -> None:
    problem = measure_library(sandbox, LIBRARY, "conv2d", ARRAYS, (1023,))
    assert isinstance(problem, Problem)


def test_the_process_is_gone_afterwards(sandbox: SteppingSandbox) -> None:
    measure(sandbox)
    launcher = sandbox._launchers["student"].pid
    children = Path(f"/proc/{launcher}/task/{launcher}/children")
    deadline = time.monotonic() + 10  # its warden says that it is gone, and then ends too
    while children.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
