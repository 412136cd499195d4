"""Refusing a grading that lost points by the machine's fault."""

import shutil

from grader.errors import MachineError
from grader.execute.known_errors import recognise
from grader.execute.result import Execution
from grader.language import join, say
from grader.machine.packages import Finder, how_to_install
from grader.messages.kernel import CaptureFailure
from grader.report import Report
from grader.sandbox.layout import ENVIRONMENT

COMPILERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")
"""What TVM looks for in PATH when it links a library."""


def find_in_sandbox(program: str) -> str | None:
    """Look up a program where a sandboxed process would."""
    return shutil.which(program, path=ENVIRONMENT["PATH"])


def refuse_missing_compiler(
    report: Report, execution: Execution | None, find: Finder = find_in_sandbox
) -> None:
    """Raise MachineError where a notebook lost points and failed for want of a C compiler.

    A student can word an error like this one. That gives no points, and where there is a compiler
    it is not looked at.
    """
    if execution is None or report.score >= report.max_score or any(map(find, COMPILERS)):
        return
    failures = [each for each in execution.captures if isinstance(each, CaptureFailure)]
    of_cells = any(each.code == "no_compiler" for each in report.problems)
    of_entries = any(
        recognise(each.error_name, each.message).kind == "no_compiler" for each in failures
    )
    if of_cells or of_entries:
        raise MachineError(
            say("notebook-links-library-with-c-compiler"),
            join(say("install-one-and-grade-again"), how_to_install("gcc")),
        )
