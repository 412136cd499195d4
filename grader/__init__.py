"""An autograder for machine-learning compilation.

It is loaded in every sandbox: it must stay free of imports.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "GraderError",
    "Report",
    "Verification",
    "checks",
    "grade",
    "grade_many",
    "load_report",
    "verify",
]

_WHERE = {
    "GraderError": "grader.errors",
    "Report": "grader.report",
    "Verification": "grader.authoring.verify_result",
    "grade": "grader.api",
    "grade_many": "grader.api",
    "load_report": "grader.api",
    "verify": "grader.authoring.verify_assignment",
}
"""What is public, and where it is made: what that needs takes a second to import."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # without an import of typing
    from grader import checks
    from grader.api import grade, grade_many, load_report
    from grader.authoring.verify_assignment import verify
    from grader.authoring.verify_result import Verification
    from grader.errors import GraderError
    from grader.report import Report


def __getattr__(name: str) -> object:
    """Import what is public when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "checks":
        return import_module("grader.checks")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell):  # type: ignore[no-untyped-def]
    """Answer `%load_ext grader`: make `%grader` known to an IPython shell.

    In a notebook that is being graded, `%grader` does nothing: no course is in reach there.
    """
    import sys

    if "grader.inside.kernel.entry" in sys.modules:
        shell.register_magic_function(_left_out, "line", "grader")
        return
    from grader.selfcheck.magic import load

    load(shell)


def unload_ipython_extension(shell):  # type: ignore[no-untyped-def]
    """Answer `%unload_ext grader`."""
    import sys

    if "grader.selfcheck.magic" in sys.modules:
        sys.modules["grader.selfcheck.magic"].unload(shell)


def _left_out(line: str) -> None:
    """Stand in for `%grader` where a notebook is being graded."""
    if line.split()[:1] == ["check"]:
        print("Left out while grading.")
