"""An autograder for machine-learning compilation.

It is loaded in every sandbox: it must stay free of imports.
"""

__version__ = "0.1.0"


def load_ipython_extension(shell):  # type: ignore[no-untyped-def]
    """Answer `%load_ext grader`: make `%grader` known to an IPython shell.

    In a notebook that is being graded, `%grader` does nothing: no course is in reach there.
    """
    import sys

    if "grader.kernel.entry" in sys.modules:
        shell.register_magic_function(_left_out, "line", "grader")
        return
    from grader.notebook.magic import load

    load(shell)


def unload_ipython_extension(shell):  # type: ignore[no-untyped-def]
    """Answer `%unload_ext grader`."""
    import sys

    if "grader.notebook.magic" in sys.modules:
        sys.modules["grader.notebook.magic"].unload(shell)


def _left_out(line: str) -> None:
    """Stand in for `%grader` where a notebook is being graded."""
    if line.split()[:1] == ["check"]:
        print("Left out while grading.")
