"""Open a sandbox of one kind, with a shell inside beside what usually runs there.

    python tools/open_box.py evaluator
    python tools/open_box.py kernel --level basic
    python tools/open_box.py runner --command 'ls -l /proc; cat /proc/1/status'

For whoever wants to try what a submission could: the shell has the powers of the program beside it,
and its process is there to be attacked. docs/security.md says what to look for.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import Limits
from grader.evidence.runner_client import start_runner
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.inside.launcher.protocol import Program
from grader.inside.launcher.usage import descendants
from grader.progress import Silent
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, WITH_NAMESPACES, Command, Level, ResourceLimits
from grader.sandbox.process import SandboxedProcess
from grader.sandbox.start import SteppingSandbox

_SHELL = """
import os, sys, time
least = int(sys.argv[1])  # processes in /proc: the program beside this one may not be there yet
while least and sum(map(str.isdecimal, os.listdir("/proc"))) < least:
    time.sleep(0.05)
for number in range(3):
    os.dup2(number + 3, number)
os.execv("/bin/sh", ["sh", *sys.argv[2:]])
"""
_FOREVER = 10**6


class Recording:
    """A sandbox that remembers what was started in it, by the program."""

    def __init__(self, sandbox: SteppingSandbox) -> None:
        self._sandbox = sandbox
        self.level: Level = sandbox.level
        self.detail = sandbox.detail
        self.started: dict[Program, SandboxedProcess] = {}

    def expect(self, *programs: Program) -> None:
        """Do as the sandbox does."""
        self._sandbox.expect(*programs)

    def start(self, command: Command) -> SandboxedProcess:
        """Start a command and remember it."""
        process = self._sandbox.start(command)
        self.started[command.program] = process
        return process

    def close(self) -> None:
        """Do nothing: whoever opened the sandbox closes it."""


@contextmanager
def _kernel(sandbox: Recording) -> Iterator[SandboxedProcess]:
    notebook = new_notebook(cells=[new_code_cell(f"import time; time.sleep({_FOREVER})")])
    limits = Limits(cell_seconds=_FOREVER, notebook_seconds=_FOREVER)
    order = KernelOrder(sandbox, (), {}, limits)
    run = Thread(target=lambda: execute_notebook(notebook, order, Silent()))
    run.start()
    while "kernel" not in sandbox.started and run.is_alive():
        run.join(0.05)
    try:
        yield sandbox.started["kernel"]
    finally:
        sandbox.started["kernel"].kill()
        run.join()


@contextmanager
def _runner(sandbox: Recording) -> Iterator[SandboxedProcess]:
    with start_runner(sandbox, "pure", ResourceLimits(), {}):
        yield sandbox.started["runner"]


@contextmanager
def _mutants(sandbox: Recording) -> Iterator[SandboxedProcess]:
    with start_runner(sandbox, "pure", ResourceLimits(), {}, "mutants"):
        yield sandbox.started["mutants"]


@contextmanager
def _evaluator(sandbox: Recording) -> Iterator[SandboxedProcess]:
    with start_runner(sandbox, "extern", ResourceLimits(), {}):
        yield sandbox.started["evaluator"]


@contextmanager
def _library(sandbox: Recording) -> Iterator[SandboxedProcess]:
    with start_runner(sandbox, "library", ResourceLimits(), {}):
        yield sandbox.started["library"]


KINDS = {
    "kernel": _kernel,
    "runner": _runner,
    "evaluator": _evaluator,
    "library": _library,
    "mutants": _mutants,
}


def main() -> int:
    """Open one and return the exit code of its shell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--level", choices=LEVELS)
    parser.add_argument("--command", help="what the shell runs; it asks if this is not given")
    options = parser.parse_args()
    words = ("-i",) if options.command is None else ("-c", options.command)
    with choose_sandbox(options.level, minimum="none") as sandbox, ExitStack() as stack:
        before = set(descendants(os.getpid()))  # some of them may be ending: they do not count
        recording = Recording(sandbox)
        process = stack.enter_context(KINDS[options.kind](recording))
        # a launcher, a warden and the program itself for each: the box ends with the shell
        while len(set(descendants(os.getpid())) - before) < 3 * len(recording.started):
            time.sleep(0.05)
        # the holder, the program, this one; without namespaces there are others' or none to count
        least = "3" if sandbox.level in WITH_NAMESPACES else "0"
        command = Command("python", ("-c", _SHELL, least, *words), descriptors=(0, 1, 2))
        status = sandbox.start_beside(process, command).wait()
    assert status is not None
    return status


if __name__ == "__main__":
    raise SystemExit(main())
