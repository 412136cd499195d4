"""Magics and commands, where IPython's own way loses an error or waits for ever.

`%%capture` and `%run` print the error of what they ran and end well: the cell counted as run, and
the student was told that there is no `create_model`. So an error that is shown within a magic is
raised at its end: `%run` has bound by then what the file had defined before it.

A command gets a terminal of IPython's, in which `!read x` waits for a key until the cell's time is
over. Nobody is there to press one.
"""

import builtins
import functools
import sys
from collections.abc import Callable
from typing import Any

from ipykernel import zmqshell
from IPython.core import interactiveshell

SCRIPT = "submission.py"
"""What a script is called here: its own name is not told to the kernel."""

_NO_INPUT = "exec < /dev/null\n"


def install(shell: Any, is_script: bool) -> None:
    """Mend a shell's magics and commands; a script gets a name, and no arguments."""
    _raise_what_is_shown(shell)
    _close_input()
    sys.argv = [SCRIPT]  # the kernel's own, of which an ArgumentParser knows none
    if is_script:
        # Not in `__main__`: there inspect.getfile() would look into it for every class.
        builtins.__file__ = SCRIPT


def _close_input() -> None:
    zmqshell.system = _without_input(zmqshell.system)
    interactiveshell.getoutput = _without_input(interactiveshell.getoutput)


def _without_input(run: Callable[[str], Any]) -> Callable[[str], Any]:
    return functools.wraps(run)(lambda command: run(_NO_INPUT + command))


def _raise_what_is_shown(shell: Any) -> None:
    shown = _Shown(shell)
    run_line, run_cell = shell.run_line_magic, shell.run_cell_magic

    @functools.wraps(run_line)
    def run_line_magic(name: str, line: str, _stack_depth: int = 1) -> Any:
        __tracebackhide__ = True
        # The names of the calling function are looked up so many frames above, and here are two.
        return shown.raised(run_line, name, line, _stack_depth=_stack_depth + 2)

    @functools.wraps(run_cell)
    def run_cell_magic(name: str, line: str, cell: str) -> Any:
        __tracebackhide__ = True
        return shown.raised(run_cell, name, line, _on_its_lines(name, cell))

    shell.run_line_magic, shell.run_cell_magic = run_line_magic, run_cell_magic


_TIMES = frozenset({"capture", "time", "timeit", "prun"})
"""Magics that run the cell's Python here, and count its lines from their own on."""


def _on_its_lines(name: str, cell: str) -> str:
    """Return a cell's text with a line in place of its magic's, so that lines are the student's.

    A magic below would not be one behind a comment.
    """
    is_plain = name in _TIMES and not cell.lstrip().startswith("%%")
    return f"#\n{cell}" if is_plain else cell


class _Shown:
    """Takes errors that would be shown within a magic."""

    def __init__(self, shell: Any) -> None:
        self._found: list[list[BaseException]] = []
        for name in ("showtraceback", "showsyntaxerror"):
            setattr(shell, name, self._taking(getattr(shell, name)))

    def _taking(self, show: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(show)
        def take(*arguments: Any, **options: Any) -> None:
            error = sys.exc_info()[1]
            if self._found and error is not None:
                self._found[-1].append(error)
            else:
                show(*arguments, **options)

        return take

    def raised(self, run: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        self._found.append([])
        try:
            result = run(*arguments, **options)
        finally:
            found = self._found.pop()
        if found:
            raise found[0]
        return result
